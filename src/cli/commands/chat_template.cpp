// `shunt chat-template`: a conversation as the model's chat template renders it.
#include <utility>

#include "cli/commands/commands.h"
#include "cli/flags/chat_flags.h"
#include "cli/flags/model_file.h"
#include "cli/flags/text_source.h"
#include "cli/report/json.h"
#include "cli/report/token_lines.h"
#include "shunt/chat_encoder.h"
#include "shunt/gguf.h"
#include "shunt/message.h"
#include "shunt/vocabulary.h"

namespace shunt::cli {
namespace {

class ChatTemplateCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "chat-template", "print a conversation as the model's chat template renders it",
        "  shunt chat-template --model model.gguf \"Why is the sky blue?\" --system \"Be brief.\"\n"
        "  shunt chat-template --model model.gguf --messages chat.json --tools tools.json\n"
        "  shunt chat-template --model model.gguf --tokens \"Hello\" --template-value "
        "enable_thinking=false\n"
        "  shunt chat-template --model model.gguf --source > template.jinja"};
    return kInfo;
  }

  void declare(Arguments& arguments) override {
    model_.declare(arguments, "Use the chat template and the tokenizer of this GGUF file");
    prompt_.declare(arguments);
    prompt_.add_rival("--messages", chat_.messages());
    chat_.declare(arguments);
    arguments.flag("--complete", is_complete_,
                   "End with the last message, without the beginning of an answer");
    arguments.flag("--tokens", tokens_, "Print a line for each token instead of the text");
    arguments.flag("--source", source_, "Print the chat template itself");
    arguments.flag("--json", json_,
                   "Print JSON: the text in pieces, with the origin of each, and the tokens");
  }

  Status check() override {
    SHUNT_TRY(model_.check());
    SHUNT_TRY(chat_.check(true));
    SHUNT_TRY(prompt_.check());
    if (tokens_ && json_) return invalid("--tokens and --json exclude each other");
    const bool has_more = tokens_ || json_ || is_complete_ || prompt_.given() || chat_.messages();
    if (source_ && has_more) return invalid("--source is for the template, not a conversation");
    return ok();
  }

  Status run(Output& output) override {
    model_.tell_default();
    SHUNT_ASSIGN(const gguf::File file, gguf::File::open(model_.path(), {.metadata_only = true}));
    if (source_) {
      SHUNT_ASSIGN(const ChatFlags::Source source, chat_.find_template(file));
      output.write(source.text);
      return ok();
    }
    SHUNT_ASSIGN(const std::string prompt, read_prompt());
    SHUNT_ASSIGN(const text::RenderedChat chat, chat_.render(file, prompt, !is_complete_));
    SHUNT_ASSIGN(const std::string shown,
                 tokens_ || json_ ? with_tokens(file, chat) : chat.text() + "\n");
    output.write(shown);
    return ok();
  }

 private:
  Result<std::string> read_prompt() const {
    if (chat_.messages()) return std::string();
    SHUNT_ASSIGN(const std::optional<std::string> prompt, prompt_.read());
    if (!prompt) return invalid("no message is given; use PROMPT, --messages or standard input");
    const bool has_line_end = prompt_.is_file() && prompt->ends_with('\n');
    return prompt->substr(0, prompt->size() - (has_line_end ? 1 : 0));
  }

  Result<std::string> with_tokens(const gguf::File& file, const text::RenderedChat& chat) const {
    SHUNT_ASSIGN(text::Vocabulary vocabulary, vocabulary_from_gguf(file));
    auto tokenizer = text::Tokenizer::create(std::move(vocabulary));
    if (!tokenizer) return std::move(tokenizer.error()).with_context(file.path());
    SHUNT_ASSIGN(const auto ids, text::ChatEncoder(*tokenizer).encode(chat));
    if (tokens_) return token_lines(*tokenizer, ids);
    Json pieces = Json::array();
    for (const text::ChatPiece& piece : chat.pieces) {
      pieces.push_back({{"text", piece.text}, {"from_template", piece.from_template}});
    }
    SHUNT_ASSIGN(const Json tokens, token_json(*tokenizer, ids));
    return to_text(
        {{"model", file.path()}, {"text", chat.text()}, {"pieces", pieces}, {"tokens", tokens}});
  }

  ModelFile model_;
  TextSource prompt_{"PROMPT", "-p,--prompt"};
  ChatFlags chat_;
  bool is_complete_ = false;
  bool tokens_ = false;
  bool source_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_chat_template_command() {
  return std::make_unique<ChatTemplateCommand>();
}

}  // namespace shunt::cli
