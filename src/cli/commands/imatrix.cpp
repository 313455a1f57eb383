// `shunt imatrix`: computes the importance matrix of a model's weights.
#include <limits>

#include "cli/commands/commands.h"
#include "cli/flags/model_flags.h"
#include "cli/flags/text_source.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/wait_notice.h"
#include "shunt/importance.h"
#include "shunt/message.h"
#include "shunt/perplexity.h"

namespace shunt::cli {
namespace {

class ImatrixCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "imatrix", "compute an importance matrix of a model's weights, for quantize",
        "  shunt imatrix --model model-f16.gguf --file text.txt -o imatrix.gguf"};
    return kInfo;
  }

  void declare(Arguments& arguments) override {
    model_.declare(arguments);
    text_.declare(arguments);
    arguments.output("-o,--output", "Write the importance matrix to this GGUF file",
                     OutputFormat::kGguf, output_);
    arguments.number<std::int64_t>(
        "-c,--ctx",
        "Set the chunk length in tokens; 0: the context length of the model, at most 512",
        model_.session().context, 0, SessionOptions::kMaxContext);
    arguments.number("--chunks", "Compute at most N chunks of the text; 0: all",
                     options_.most_chunks);
  }

  Status check() override {
    SHUNT_TRY(model_.check());
    if (!output_) return invalid("no output file is given; use -o FILE");
    return text_.check();
  }

  Status run(Output& output) override {
    model_.tell_default();
    Interrupt interrupt;
    SHUNT_ASSIGN(const std::optional<std::string> text, text_.read());
    if (!text) return invalid("no text is given; use TEXT, --file FILE or standard input");
    SHUNT_ASSIGN(const OpenModel open, model_.open());
    auto tokens = open.model->tokenizer().encode(*text);
    if (!tokens) return std::move(tokens.error()).with_context(model_.path());
    SHUNT_TRY(text_.check_length(
        tokens->size(), chunk_length(open.model->info().context, model_.session().context)));
    interrupt.defer();
    Progress progress("computing chunks", std::numeric_limits<std::uint64_t>::max());
    options_.session = model_.session();
    options_.cancel = &interrupt.stop();
    options_.progress = [&](std::uint64_t done, std::uint64_t chunks) {
      progress.show(done, chunks);
    };
    auto matrix = gather(*open.model, *tokens);
    progress.clear();
    if (!matrix) return std::move(matrix.error()).with_context(model_.path());
    matrix->datasets = {text_.name()};
    SHUNT_TRY(write_importance(*output_, *matrix));
    output.write(
        fmt::format("{}: {}, {} of {}\n", *output_, counted(matrix->tensors.size(), "tensor"),
                    counted(matrix->chunk_count, "chunk"), counted(matrix->chunk_size, "token")));
    return ok();
  }

 private:
  Result<ImportanceMatrix> gather(const Model& model, std::span<const std::int32_t> tokens) const {
    const WaitNotice notice("the device's current operation");
    return gather_importance(model, tokens, options_);
  }

  ModelFlags model_;
  TextSource text_{"TEXT", ""};
  std::optional<std::string> output_;
  ImportanceOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_imatrix_command() {
  return std::make_unique<ImatrixCommand>();
}

}  // namespace shunt::cli
