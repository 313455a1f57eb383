// `shunt synth`: writes a model with random weights.
#include "shunt/synth.h"

#include <chrono>

#include "cli/commands/commands.h"
#include "cli/flags/shape_flags.h"
#include "cli/report/sizes.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "shunt/message.h"

namespace shunt::cli {
namespace {

/// "F32, F16, Q4_0, ...".
std::string weight_types() {
  std::string list;
  for (const DTypeTrait& type : dtypes()) {
    if (!is_weight_type(type.dtype)) continue;
    list += fmt::format("{}{}", list.empty() ? "" : ", ", type.name);
  }
  return list;
}

class SynthCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "synth", "write a model with random weights, for tests and benchmarks",
        "  shunt synth random.gguf\n"
        "  shunt synth 1b.gguf --layers 16 --width 2048 --ff 8192 --heads 32 --kv-heads 8 \\\n"
        "      --vocab 32000 --type Q4_0\n"
        "  shunt synth experts.gguf --arch qwen3moe --experts 16 --experts-used 4"};
    return kInfo;
  }

  void declare(Arguments& arguments) override {
    arguments.required_output("OUT", "Write the model to this file", OutputFormat::kGguf, path_);
    arguments.value("--arch", "NAME",
                    "Set the architecture: its name in GGUF files, such as qwen3 (default llama)",
                    [this](const std::string& text) -> Status {
                      options_.architecture = text;
                      return ok();
                    });
    for (const ShapeFlag& flag : kShapeFlags) {
      arguments.number(flag.name, fmt::format("Set the {}", flag.help), options_.*flag.number);
    }
    arguments.number("--experts",
                     "Set the number of experts; 0: none, or 8 in architectures that have experts "
                     "in any case. An error for architectures without experts",
                     options_.experts);
    arguments.number("--experts-used",
                     "Set how many experts a token uses; 0: 2. An error for models without experts",
                     options_.experts_used);
    arguments.number("--expert-ff",
                     "Set the feed-forward length of an expert; 0: a quarter of --ff",
                     options_.expert_feed_forward);
    arguments.number("--vocab", "Set the vocabulary size, at least 260 tokens",
                     options_.vocabulary);
    arguments.number("--context", "Set the context length in the model's metadata",
                     options_.context);
    arguments.value("--type", "TYPE",
                    "Set the type of the weights: " + weight_types() + " (default F32)",
                    [this](const std::string& text) -> Status {
                      SHUNT_ASSIGN(options_.dtype, dtype_from_name(text));
                      return ok();
                    });
    arguments.number("--seed", "Set the random seed; the same seed gives the same bytes",
                     options_.seed);
    arguments.flag("--tied", options_.tied,
                   "Use the embedding matrix as output matrix (tied embeddings)");
  }

  Status check() override { return check_synth_options(options_); }

  Status run(Output& output) override {
    Interrupt interrupt;
    interrupt.defer();
    Progress progress("writing " + path_, kLargeModel);
    const auto show = [&](std::uint64_t done, std::uint64_t total) -> Status {
      if (interrupt.stop()) return fail(ErrorCode::kCancelled, "interrupted");
      progress.show(done, total);
      return ok();
    };
    SHUNT_ASSIGN(const SynthResult result, write_synth_model(path_, options_, show));
    progress.clear();
    output.write(fmt::format("{}: {} weights of type {}, {}\n", path_, format_count(result.weights),
                             to_string(options_.dtype), format_bytes(result.weight_bytes)));
    return ok();
  }

 private:
  std::string path_;
  SynthOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_synth_command() {
  return std::make_unique<SynthCommand>();
}

}  // namespace shunt::cli
