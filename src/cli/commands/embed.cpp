// `shunt embed`: texts to vectors.
#include "shunt/embed.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "cli/commands/commands.h"
#include "cli/flags/model_flags.h"
#include "cli/flags/text_lines.h"
#include "cli/flags/text_source.h"
#include "cli/report/json.h"
#include "cli/terminal/interrupt.h"
#include "shunt/embed_prompts.h"
#include "shunt/message.h"

namespace shunt::cli {
namespace {

class EmbedCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "embed", "compute embeddings of texts",
        "  shunt embed --model bge-small.gguf \"a text\"\n"
        "  shunt embed --model bge-small.gguf --file lines.txt --json\n"
        "  shunt embed --model qwen3-embedding.gguf --dimensions 256 --prefix \"Query: \" \"a "
        "text\""};
    return kInfo;
  }

  void declare(Arguments& arguments) override {
    model_.declare(arguments);
    text_.declare(arguments);
    arguments.value("--pooling", "NAME",
                    "Set how vectors of tokens become one: mean, cls, last or none "
                    "(default: what the file says, else mean for encoders and last for others)",
                    [this](const std::string& name) -> Status {
                      SHUNT_ASSIGN(options_.pooling, pooling_from_name(name));
                      return ok();
                    });
    arguments.flag("--no-normalize", no_normalize_, "Do not scale vectors to a length of 1");
    arguments.number<std::int64_t>(
        "--dimensions",
        "Keep the first N numbers of vectors, for models trained for it; "
        "0: all",
        options_.dimensions, 0, 1 << 30);
    arguments.value("--prefix", "TEXT", "Put this in front of each text, such as \"query: \"",
                    [this](const std::string& prefix) -> Status {
                      prefix_ = prefix;
                      return ok();
                    });
    arguments.text("--prompt", "NAME",
                   "Put the prompt of this name of the model's file in front of each text, such as "
                   "query or document (default: the one that the file says, if any)",
                   prompt_);
    arguments.flag("--json", json_, "Print JSON, a line for each text");
  }

  Status check() override {
    model_.give_embeddings();
    options_.normalize = !no_normalize_;
    if (prompt_ && prefix_) return invalid("--prompt and --prefix exclude each other");
    SHUNT_TRY(model_.check());
    return text_.check();
  }

  Status run(Output& output) override {
    Interrupt interrupt;
    SHUNT_ASSIGN(const std::optional<std::string> text, text_.read());
    if (!text) return invalid("no text is given; use TEXT, --file FILE or standard input");
    std::vector<std::string> texts = text_.is_file() ? lines_of(*text) : std::vector{*text};
    if (texts.empty()) return invalid("{}: there is no line with a text", text_.name());
    SHUNT_ASSIGN(const OpenModel open, model_.open());
    auto prompt = find_prompt();
    if (!prompt) return std::move(prompt.error()).with_context(model_.path());
    options_.prompt = std::move(*prompt);
    for (std::string& one : texts) one.insert(0, prefix_.value_or(""));
    options_.batch = model_.session().batch;
    options_.adapters = model_.session().adapters;
    auto made = Embedder::create(open.model, options_);
    if (!made) return std::move(made.error()).with_context(model_.path());
    interrupt.defer();
    auto vectors = (*made)->embed(texts, &interrupt.stop());
    if (!vectors) return std::move(vectors.error()).with_context(model_.path());
    for (std::size_t i = 0; i < texts.size(); ++i)
      output.write(report(options_.prompt + texts[i], (*vectors)[i]));
    return ok();
  }

 private:
  /// The prompt of the file for these texts; empty: none.
  Result<std::string> find_prompt() const {
    if (prefix_) return std::string();
    SHUNT_ASSIGN(const gguf::File file, gguf::File::open(model_.path(), {.metadata_only = true}));
    SHUNT_ASSIGN(const EmbedPrompts prompts, read_embed_prompts(file));
    if (prompt_) return prompts.text(*prompt_);
    return prompts.usual.empty() ? Result<std::string>("") : prompts.text(prompts.usual);
  }

  std::string report(const std::string& text, const Embedding& vectors) const {
    std::string lines;
    if (json_) {
      const bool one = vectors.size() == 1 && options_.pooling != EmbeddingPooling::kNone;
      return to_text_line({{"text", text}, {"embedding", one ? Json(vectors[0]) : Json(vectors)}});
    }
    for (const std::vector<float>& vector : vectors)
      lines += fmt::format("{}\n", fmt::join(vector, " "));
    return lines;
  }

  ModelFlags model_;
  TextSource text_{"TEXT", ""};
  EmbedOptions options_;
  std::optional<std::string> prefix_;
  std::optional<std::string> prompt_;
  bool no_normalize_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_embed_command() {
  return std::make_unique<EmbedCommand>();
}

}  // namespace shunt::cli
