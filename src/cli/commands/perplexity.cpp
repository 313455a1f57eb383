// `shunt perplexity`: the perplexity of a model on a text.
#include <fmt/format.h>

#include <limits>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/flags/model_flags.h"
#include "cli/flags/text_source.h"
#include "cli/report/json.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/wait_notice.h"
#include "shunt/message.h"
#include "shunt/perplexity.h"
#include "shunt/train.h"

namespace shunt::cli {
namespace {

class PerplexityCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "perplexity", "measure the perplexity of a model on a text",
        "  shunt perplexity --model model.gguf --file text.txt\n"
        "  shunt perplexity --model model.gguf --file text.txt --ctx 2048 --json\n"
        "  shunt perplexity --model model.gguf --file stories.txt --documents"};
    return kInfo;
  }

  void declare(Arguments& arguments) override {
    model_.declare(arguments);
    text_.declare(arguments);
    arguments.number<std::int64_t>("-c,--ctx",
                                   "Set the chunk length in tokens; 0: the context length of the "
                                   "model, at most 512. With --documents: set the longest "
                                   "document; 0: the context length of the model",
                                   model_.session().context, 0, SessionOptions::kMaxContext);
    arguments.flag(
        "--documents", documents_,
        "Score each document by itself, from its first token to its end. A document ends with the "
        "text of the end-of-sequence token");
    arguments.flag("--json", json_, "Print JSON");
  }

  Status check() override {
    SHUNT_TRY(model_.check());
    const std::int64_t chunk = model_.session().context;
    if (!documents_ && chunk != 0 && chunk < kLeastScoredChunk) {
      return invalid("--ctx is {}; a chunk has at least {} tokens", chunk, kLeastScoredChunk);
    }
    return text_.check();
  }

  Status run(Output& output) override {
    Interrupt interrupt;
    model_.tell_default();
    SHUNT_ASSIGN(const std::optional<std::string> text, text_.read());
    if (!text) return invalid("no text is given; use TEXT, --file FILE or standard input");
    SHUNT_ASSIGN(const OpenModel open, model_.open());
    auto read = documents_ ? documents(*open.model, *text) : whole_text(*open.model, *text);
    if (!read) return std::move(read.error());
    interrupt.defer();
    Progress progress(documents_ ? "computing documents" : "computing chunks",
                      std::numeric_limits<std::uint64_t>::max());
    PerplexityOptions options;
    options.session = model_.session();
    options.cancel = &interrupt.stop();
    options.progress = [&](const Perplexity& so_far, std::uint64_t chunks) {
      progress.show(so_far.chunks, chunks);
    };
    auto result = measure(open.model, *read, options);
    progress.clear();
    if (!result) return std::move(result.error()).with_context(model_.path());
    std::optional<double> bits_per_byte;
    if (documents_ && read->text_bytes() > 0) {
      bits_per_byte = result->bits / static_cast<double>(read->text_bytes());
    }
    output.write(json_ ? to_json(*result, bits_per_byte) : to_plain_text(*result, bits_per_byte));
    return ok();
  }

 private:
  /// The whole text as one document.
  Result<TrainingText> whole_text(const Model& model, const std::string& text) const {
    TrainingText whole;
    auto tokens = model.tokenizer().encode(text);
    if (!tokens) return std::move(tokens.error()).with_context(model_.path());
    whole.tokens = std::move(*tokens);
    SHUNT_TRY(text_.check_length(whole.tokens.size(),
                                 chunk_length(model.info().context, model_.session().context)));
    return whole;
  }
  Result<TrainingText> documents(const Model& model, const std::string& text) const {
    auto read = read_training_text(model.tokenizer(), text);
    if (!read) return std::move(read.error()).with_context(text_.name());
    const std::int64_t asked = model_.session().context;
    const std::int64_t context = asked != 0 ? asked : model.info().context;
    for (std::size_t i = 0; i < read->documents(); ++i) {
      const std::size_t length = read->document(i).size();
      if (length <= static_cast<std::size_t>(context)) continue;
      return invalid("{}: document {} has {}, but there is room for {}; use a larger --ctx",
                     text_.name(), i + 1, counted(length, "token"), context);
    }
    return read;
  }
  Result<Perplexity> measure(const std::shared_ptr<const Model>& model, const TrainingText& text,
                             const PerplexityOptions& options) const {
    const WaitNotice notice(documents_ ? "the current document" : "the current chunk");
    return documents_ ? perplexity_of_documents(model, text.tokens, text.starts, options)
                      : perplexity(model, text.tokens, options);
  }

  std::string to_plain_text(const Perplexity& result, std::optional<double> bits_per_byte) const {
    const std::string error = result.error ? fmt::format(" +/- {:.4f}", *result.error) : "";
    const std::string bits =
        bits_per_byte ? fmt::format("; {:.5f} bits per byte", *bits_per_byte) : "";
    return fmt::format("perplexity {:.4f}{} ({} scored in {}{})\n", result.value, error,
                       counted(result.tokens, "token"),
                       counted(result.chunks, documents_ ? "document" : "chunk"), bits);
  }
  std::string to_json(const Perplexity& result, std::optional<double> bits_per_byte) const {
    Json json = {{"model", model_.path()},
                 {"perplexity", result.value},
                 {"error", result.error ? Json(*result.error) : Json()},
                 {"tokens", result.tokens},
                 {documents_ ? "documents" : "chunks", result.chunks}};
    if (bits_per_byte) json["bits_per_byte"] = *bits_per_byte;
    return to_text(json);
  }

  ModelFlags model_;
  TextSource text_{"TEXT", ""};
  bool documents_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_perplexity_command() {
  return std::make_unique<PerplexityCommand>();
}

}  // namespace shunt::cli
