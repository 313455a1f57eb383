// `shunt perplexity`: how well a model predicts a text.
#include <fmt/format.h>

#include <limits>

#include "base/counted.h"
#include "base/fail.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/model_flags.h"
#include "cli/progress.h"
#include "cli/text_source.h"
#include "cli/wait_notice.h"
#include "engine/text_chunks.h"
#include "shunt/perplexity.h"

namespace shunt::cli {
namespace {

class PerplexityCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "perplexity", "measure how well a model predicts a text",
        "  shunt perplexity --model model.gguf --file text.txt\n"
        "  shunt perplexity --model model.gguf --file text.txt --ctx 2048 --json"};
    return kInfo;
  }

  void declare(Arguments& arguments) override {
    constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;
    model_.declare(arguments);
    text_.declare(arguments);
    arguments.number<std::int64_t>("-c,--ctx",
                                   "tokens of a chunk; 0: the model's own context, at most 512",
                                   model_.session().context, 0, kMostTokens);
    arguments.flag("--json", json_, "print JSON");
  }

  Status check() override {
    SHUNT_TRY(model_.check());
    const std::int64_t chunk = model_.session().context;
    if (chunk != 0 && chunk < kLeastScoredChunk) {
      return invalid("--ctx is {}; a chunk has at least {} tokens", chunk, kLeastScoredChunk);
    }
    return text_.check();
  }

  Status run(Output& output) override {
    Interrupt interrupt;
    SHUNT_ASSIGN(const std::optional<std::string> text, text_.read());
    if (!text) return invalid("there is no text: give one, or --file, or pipe one in");
    SHUNT_ASSIGN(const OpenModel open, model_.open());
    auto tokens = open.model->tokenizer().encode(*text);
    if (!tokens) return std::move(tokens.error()).with_context(model_.path());
    SHUNT_TRY(text_.check_length(
        tokens->size(), chunk_length(open.model->info().context, model_.session().context)));
    interrupt.defer();
    Progress progress("computing chunks", std::numeric_limits<std::uint64_t>::max());
    PerplexityOptions options;
    options.session = model_.session();
    options.cancel = &interrupt.stop();
    options.progress = [&](const Perplexity& so_far, std::uint64_t chunks) {
      progress.show(so_far.chunks, chunks);
    };
    auto result = measure(open.model, *tokens, options);
    progress.clear();
    if (!result) return std::move(result.error()).with_context(model_.path());
    output.write(json_ ? to_json(*result) : to_plain_text(*result));
    return ok();
  }

 private:
  static Result<Perplexity> measure(const std::shared_ptr<const Model>& model,
                                    std::span<const std::int32_t> tokens,
                                    const PerplexityOptions& options) {
    const WaitNotice notice("the current chunk");
    return perplexity(model, tokens, options);
  }

  static std::string to_plain_text(const Perplexity& result) {
    const std::string error = result.error ? fmt::format(" +/- {:.4f}", *result.error) : "";
    return fmt::format("perplexity {:.4f}{} ({} scored in {})\n", result.value, error,
                       counted(result.tokens, "token"), counted(result.chunks, "chunk"));
  }
  std::string to_json(const Perplexity& result) const {
    return to_text({{"model", model_.path()},
                    {"perplexity", result.value},
                    {"error", result.error ? Json(*result.error) : Json()},
                    {"tokens", result.tokens},
                    {"chunks", result.chunks}});
  }

  ModelFlags model_;
  TextSource text_{"TEXT", ""};
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_perplexity_command() {
  return std::make_unique<PerplexityCommand>();
}

}  // namespace shunt::cli
