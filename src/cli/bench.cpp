// `shunt bench`: how fast ops, models and the machine are.
#include <fmt/ranges.h>

#include <array>

#include "base/fail.h"
#include "cli/bench_modes.h"
#include "cli/commands.h"
#include "cli/number_list.h"
#include "shunt/registry.h"

namespace shunt::cli {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 24;

/// What is measured, in the order of kModes.
enum class Mode : std::uint8_t { kCosts, kMachine, kModel };
constexpr std::array<std::string_view, 3> kModes = {"shunt bench without --machine or --model",
                                                    "--machine", "--model"};

class BenchCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "bench", "measure how fast ops, a model or the machine are",
        "  shunt bench --save-costs costs.json --devices cpu0\n"
        "  shunt bench --machine\n"
        "  shunt bench --model model.gguf -p 512,32 -n 64 -d 0,4096 -t 2"};
    return kInfo;
  }

  void declare(Arguments& arguments) override;
  Status check() override;
  Status run(Output& output) override;

 private:
  /// A flag that has no meaning in some modes.
  struct ModeFlag {
    std::string_view name;
    bool is_given;
    Mode mode;  ///< the one it has a meaning in
  };
  void declare_list(Arguments& arguments, const std::string& names, const std::string& help,
                    std::vector<std::int64_t>& list, bool& is_given);
  Status check_format() const;

  ModelFlags model_{"--devices"};
  Mode mode_ = Mode::kCosts;
  BenchFormat format_ = BenchFormat::kPlain;
  bool machine_ = false;
  bool json_ = false;
  bool markdown_ = false;
  CostsBenchRequest costs_;
  std::optional<std::int64_t> width_;
  std::optional<double> seconds_;
  ModelBenchRequest tests_;
  bool has_prompts_ = false;
  bool has_generated_ = false;
  bool has_depths_ = false;
  std::optional<int> runs_;
};

void BenchCommand::declare_list(Arguments& arguments, const std::string& names,
                                const std::string& help, std::vector<std::int64_t>& list,
                                bool& is_given) {
  arguments.value(names, "N,..", fmt::format("{} (default {})", help, fmt::join(list, ",")),
                  [&](const std::string& text) -> Status {
                    is_given = true;
                    SHUNT_ASSIGN(list, parse_number_list(text, 0, kMostTokens));
                    return ok();
                  });
}

void BenchCommand::declare(Arguments& arguments) {
  constexpr int kMostRuns = 1000;
  arguments.flag("--machine", machine_, "measure the most that devices can do");
  model_.declare(arguments);
  declare_list(arguments, "-p,--prompt", "with --model: tokens of a prompt; 0: none",
               tests_.prompts, has_prompts_);
  declare_list(arguments, "-n,--tokens", "with --model: tokens to generate; 0: none",
               tests_.generated, has_generated_);
  declare_list(arguments, "-d,--depth", "with --model: tokens in the cache before that",
               tests_.depths, has_depths_);
  arguments.number(
      "-r,--runs",
      fmt::format("with --model: runs that count, after one that does not (default {})",
                  tests_.runs),
      runs_, 1, kMostRuns);
  arguments.number<std::int64_t>("-c,--ctx",
                                 "with --model: tokens of context; 0: what the tests need",
                                 model_.session().context, 0, kMostTokens);
  arguments.file("--save-costs", "write what ops and copies take, as JSON", costs_.path);
  arguments.number("--width",
                   fmt::format("rows and columns of the largest matrices for costs, a multiple of "
                               "64 (default {})",
                               costs_.measure.width),
                   width_);
  arguments.number("--seconds",
                   fmt::format("that each measurement of costs takes, about (default {})",
                               costs_.measure.seconds),
                   seconds_, 0.0, 60.0);
  arguments.flag("--json", json_, "print JSON");
  arguments.flag("--markdown", markdown_, "print a table in Markdown");
}

Status BenchCommand::check_format() const {
  if (json_ && markdown_) return invalid("--json and --markdown exclude each other");
  if (mode_ == Mode::kCosts && (json_ || markdown_)) {
    return invalid("{} needs --machine or --model", json_ ? "--json" : "--markdown");
  }
  return ok();
}

Status BenchCommand::check() {
  if (machine_ && model_.is_given()) return invalid("--machine and --model exclude each other");
  mode_ = machine_ ? Mode::kMachine : model_.is_given() ? Mode::kModel : Mode::kCosts;
  const ModeFlag flags[] = {
      {"--prompt", has_prompts_, Mode::kModel},
      {"--tokens", has_generated_, Mode::kModel},
      {"--depth", has_depths_, Mode::kModel},
      {"--runs", runs_.has_value(), Mode::kModel},
      {"--ctx", model_.session().context != 0, Mode::kModel},
      {"--save-costs", costs_.path.has_value(), Mode::kCosts},
      {"--width", width_.has_value(), Mode::kCosts},
      {"--seconds", seconds_.has_value(), Mode::kCosts},
  };
  for (const ModeFlag& flag : flags) {
    if (!flag.is_given || flag.mode == mode_) continue;
    return invalid("{} has no meaning here; it belongs to {}", flag.name,
                   kModes[static_cast<std::size_t>(flag.mode)]);
  }
  SHUNT_TRY(check_format());
  format_ = json_ ? BenchFormat::kJson : markdown_ ? BenchFormat::kMarkdown : BenchFormat::kPlain;
  costs_.measure.width = width_.value_or(costs_.measure.width);
  costs_.measure.seconds = seconds_.value_or(costs_.measure.seconds);
  tests_.runs = runs_.value_or(tests_.runs);
  SHUNT_TRY(check_measure_options(costs_.measure));
  if (mode_ != Mode::kModel) return model_.check_others();
  SHUNT_TRY(model_.check());
  return check_model_bench(tests_, model_.session().context);
}

Status BenchCommand::run(Output& output) {
  if (mode_ == Mode::kModel) return bench_model(model_, tests_, format_, output);
  SHUNT_ASSIGN(const auto registry, Registry::create(model_.options()));
  std::vector<Device*> devices(registry->devices().begin(), registry->devices().end());
  if (!model_.devices().empty()) {
    devices.clear();
    for (const std::string& name : model_.devices()) {
      SHUNT_ASSIGN(Device * device, registry->find(name));
      devices.push_back(device);
    }
  }
  if (mode_ == Mode::kMachine) return bench_machine(devices, format_, output);
  return bench_costs(devices, costs_, output);
}

}  // namespace

std::unique_ptr<Command> make_bench_command() {
  return std::make_unique<BenchCommand>();
}

}  // namespace shunt::cli
