// `shunt tokenize`: text to tokens, or token ids to text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "cli/commands/commands.h"
#include "cli/flags/model_file.h"
#include "cli/flags/text_source.h"
#include "cli/report/json.h"
#include "cli/report/token_lines.h"
#include "shunt/gguf.h"
#include "shunt/message.h"
#include "shunt/vocabulary.h"

namespace shunt::cli {
namespace {

using Ids = std::vector<std::int32_t>;

/// "1 2,3": numbers, separated by blanks or commas.
Result<Ids> read_ids(const std::string& text) {
  constexpr const char* kSeparators = " ,\t\n";
  Ids ids;
  for (std::size_t start = text.find_first_not_of(kSeparators); start != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_of(kSeparators, start), text.size());
    SHUNT_ASSIGN(const auto id, parse_number<std::int32_t>(text.substr(start, end - start), 0));
    ids.push_back(id);
    start = text.find_first_not_of(kSeparators, end);
  }
  return ids;
}

/// Reads the tokenizer only, not the weights.
Result<text::Tokenizer> open_tokenizer(const std::string& path) {
  SHUNT_ASSIGN(const gguf::File file, gguf::File::open(path, {.metadata_only = true}));
  SHUNT_ASSIGN(text::Vocabulary vocabulary, vocabulary_from_gguf(file));
  auto tokenizer = text::Tokenizer::create(std::move(vocabulary));
  if (!tokenizer) return std::move(tokenizer.error()).with_context(path);
  return tokenizer;
}

Result<std::string> to_json(const text::Tokenizer& tokenizer, const std::string& path,
                            const Ids& ids, const std::string& text) {
  SHUNT_ASSIGN(const Json tokens, token_json(tokenizer, ids));
  return to_text({{"model", path}, {"text", text}, {"tokens", tokens}});
}

class TokenizeCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "tokenize", "convert text to tokens, or token ids to text",
        "  shunt tokenize --model model.gguf \"Once upon a time\"\n"
        "  shunt tokenize --model model.gguf --ids --file story.txt\n"
        "  shunt tokenize --model model.gguf --decode \"1 403 407 261\""};
    return kInfo;
  }

  void declare(Arguments& arguments) override {
    model_.declare(arguments, "Use the tokenizer of this GGUF file");
    text_.declare(arguments);
    arguments.value("--decode", "IDS", "Convert token ids to text, such as \"1 403 407\"",
                    [this](const std::string& text) -> Status {
                      SHUNT_ASSIGN(ids_, read_ids(text));
                      return ok();
                    });
    arguments.flag("--no-special", no_special_,
                   "Add no beginning-of-sequence and no end-of-sequence token");
    arguments.flag("--parse-special", parse_special_,
                   "Parse control tokens in the text, such as </s>");
    arguments.flag("--ids", only_ids_, "Print only the ids, on one line");
    arguments.flag("--json", json_, "Print JSON");
  }

  Status check() override {
    SHUNT_TRY(model_.check());
    if (ids_ && text_.given()) return invalid("--decode and a text exclude each other");
    if (ids_ && (no_special_ || parse_special_ || only_ids_)) {
      return invalid("--decode excludes --no-special, --parse-special and --ids");
    }
    if (json_ && only_ids_) return invalid("--json and --ids exclude each other");
    return text_.check();
  }

  Status run(Output& output) override {
    model_.tell_default();
    SHUNT_ASSIGN(const text::Tokenizer tokenizer, open_tokenizer(model_.path()));
    SHUNT_ASSIGN(const std::string result, ids_ ? decode(tokenizer) : encode(tokenizer));
    output.write(result);
    return ok();
  }

 private:
  Result<std::string> decode(const text::Tokenizer& tokenizer) const {
    auto text = tokenizer.decode(*ids_);
    if (!text) return std::move(text.error()).with_context(model_.path());
    return json_ ? to_json(tokenizer, model_.path(), *ids_, *text) : *text + "\n";
  }

  Result<std::string> encode(const text::Tokenizer& tokenizer) const {
    SHUNT_ASSIGN(const std::optional<std::string> text, text_.read());
    if (!text) return invalid("no text is given; use TEXT, --file FILE or standard input");
    const text::EncodeOptions options = {.add_special = !no_special_,
                                         .parse_special = parse_special_};
    auto ids = tokenizer.encode(*text, options);
    if (!ids) return std::move(ids.error()).with_context(model_.path());
    if (json_) return to_json(tokenizer, model_.path(), *ids, *text);
    if (only_ids_) return fmt::format("{}\n", fmt::join(*ids, " "));
    return token_lines(tokenizer, *ids);
  }

  ModelFile model_;
  TextSource text_{"TEXT", ""};
  std::optional<Ids> ids_;
  bool no_special_ = false;
  bool parse_special_ = false;
  bool only_ids_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_tokenize_command() {
  return std::make_unique<TokenizeCommand>();
}

}  // namespace shunt::cli
