// `shunt train-tokenizer`: learns a vocabulary from a text.
#include <fmt/ranges.h>

#include <utility>

#include "cli/commands/commands.h"
#include "cli/flags/text_files.h"
#include "cli/flags/text_source.h"
#include "cli/terminal/output.h"
#include "shunt/message.h"
#include "shunt/train_tokenizer.h"
#include "shunt/vocabulary.h"

namespace shunt::cli {
namespace {

constexpr std::size_t kLongestTemplate = std::size_t{1} << 20;  // bytes

class TrainTokenizerCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "train-tokenizer", "learn a tokenizer's vocabulary from a text",
        "  shunt train-tokenizer --file train.txt --vocab-size 1500 -o tokenizer.gguf\n"
        "  shunt train-tokenizer --file train.txt --vocab-size 1500 --special \"<|end|>\" \\\n"
        "      -o tokenizer.gguf\n"
        "  shunt tokenize --model tokenizer.gguf \"Once upon a time\""};
    return kInfo;
  }

  void declare(Arguments& arguments) override {
    text_.declare(arguments);
    arguments.output("-o,--output", "Write the vocabulary to this GGUF file", OutputFormat::kGguf,
                     output_);
    arguments.number("--vocab-size", "Learn at most N tokens, including special ones and 256 bytes",
                     options_.vocabulary);
    arguments.value("--pre", "NAME",
                    fmt::format("Cut text into words in this way, one of: {} (default {})",
                                fmt::join(text::pretokenizer_names(), ", "), options_.pre),
                    [this](const std::string& text) -> Status {
                      options_.pre = text;
                      return ok();
                    });
    arguments.each("--special", "TEXT",
                   "Add a control token; the first one ends a sequence. Repeatable",
                   [this](const std::string& text) -> Status {
                     options_.special.push_back(text);
                     return ok();
                   });
    arguments.input("--chat-template", "Store the chat template of this file with the vocabulary",
                    template_);
  }

  Status check() override {
    if (!output_) return invalid("no file to write is given; use -o FILE");
    SHUNT_TRY(text::check_bpe_train_options(options_));
    return text_.check();
  }

  Status run(Output& output) override {
    SHUNT_ASSIGN(const std::optional<std::string> text, text_.read());
    if (!text) return invalid("there is no text: give one, or --file, or pipe one in");
    gguf::Writer writer;
    if (template_) {
      SHUNT_ASSIGN(std::string chat_template, read_whole_file(*template_, kLongestTemplate));
      writer.add_string("tokenizer.chat_template", std::move(chat_template));
    }
    auto vocabulary = text::train_bpe(*text, options_);
    if (!vocabulary) return std::move(vocabulary.error()).with_context(text_.name());
    add_vocabulary(writer, *vocabulary);
    SHUNT_TRY(writer.write(*output_, {}));
    output.write(fmt::format("{}: {}, {} special, {}\n", *output_,
                             counted(vocabulary->tokens.size(), "token"), options_.special.size(),
                             counted(vocabulary->merges.size(), "merge")));
    if (vocabulary->tokens.size() < options_.vocabulary) {
      print_message(
          fmt::format("fewer than {} tokens: no further pair of neighbours is in the text twice",
                      options_.vocabulary));
    }
    return ok();
  }

 private:
  TextSource text_{"TEXT", ""};
  std::optional<std::string> output_;
  std::optional<std::string> template_;
  text::BpeTrainOptions options_{.vocabulary = 4096};
};

}  // namespace

std::unique_ptr<Command> make_train_tokenizer_command() {
  return std::make_unique<TrainTokenizerCommand>();
}

}  // namespace shunt::cli
