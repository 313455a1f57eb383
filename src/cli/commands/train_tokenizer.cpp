// `shunt train-tokenizer`: trains a byte-pair tokenizer on a text.
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
        "train-tokenizer", "train a byte-pair tokenizer on a text",
        "  shunt train-tokenizer --file train.txt --vocab-size 1500 -o tokenizer.gguf\n"
        "  shunt train-tokenizer --file train.txt --vocab-size 1500 --special \"<|end|>\" \\\n"
        "      -o tokenizer.gguf\n"
        "  shunt tokenize --model tokenizer.gguf \"Once upon a time\""};
    return kInfo;
  }

  void declare(Arguments& arguments) override {
    text_.declare(arguments);
    arguments.output("-o,--output", "Write the tokenizer to this GGUF file", OutputFormat::kGguf,
                     output_);
    arguments.number("--vocab-size",
                     "Learn at most N tokens, including special tokens and 256 bytes",
                     options_.vocabulary);
    arguments.value("--pre", "NAME",
                    fmt::format("Split text into words with this pre-tokenizer: {} (default {})",
                                fmt::join(text::pretokenizer_names(), ", "), options_.pre),
                    [this](const std::string& text) -> Status {
                      options_.pre = text;
                      return ok();
                    });
    arguments.each("--special", "TEXT",
                   "Add a control token; the first one begins and ends a sequence. Repeatable",
                   [this](const std::string& text) -> Status {
                     options_.special.push_back(text);
                     return ok();
                   });
    arguments.input("--chat-template", "Store the chat template of this file with the tokenizer",
                    template_);
  }

  Status check() override {
    if (!output_) return invalid("no output file is given; use -o FILE");
    SHUNT_TRY(text::check_bpe_train_options(options_));
    return text_.check();
  }

  Status run(Output& output) override {
    SHUNT_ASSIGN(const std::optional<std::string> text, text_.read());
    if (!text) return invalid("no text is given; use TEXT, --file FILE or standard input");
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
      print_message(fmt::format(
          "fewer than {} tokens: no other pair of adjacent tokens occurs twice in the text",
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
