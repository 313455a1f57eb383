// `shunt bench`: how fast ops, models and the machine are.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/fail.h"
#include "cli/bench_modes.h"
#include "cli/commands.h"
#include "cli/number_list.h"
#include "device/device_set.h"
#include "device/selection.h"
#include "model/random_blocks.h"
#include "shunt/registry.h"

namespace shunt::cli {
namespace {

constexpr std::int64_t kMaxBenchTokens = std::int64_t{1} << 24;
constexpr std::int64_t kMostSequences = 4096;

/// The subject of the measurement, in the order of kModes.
enum class Mode : std::uint8_t { kCosts, kMachine, kModel, kOps, kTrain };
constexpr std::array<std::string_view, 5> kModes = {"shunt bench without a mode", "--machine",
                                                    "--model", "--ops", "--train"};

class BenchCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "bench", "measure how fast ops, a model or the machine are",
        "  shunt bench --save-costs costs.json --devices cpu0\n"
        "  shunt bench --machine\n"
        "  shunt bench --model model.gguf -p 512,32 -n 64 -d 0,4096 -t 2\n"
        "  shunt bench --ops --type Q4_0,Q4_K --op matmul\n"
        "  shunt bench --train --model small.gguf --ctx 256 --rows 16"};
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
    std::vector<Mode> modes;  ///< those it has a meaning in
  };
  void declare_list(Arguments& arguments, const std::string& names, const std::string& help,
                    std::int64_t low, std::int64_t high, std::vector<std::int64_t>& list,
                    bool& is_given);
  Status each_of(const std::string& text, Status (BenchCommand::*add)(const std::string&));
  Status add_type(const std::string& name);
  Status add_op(const std::string& name);
  Result<Mode> chosen_mode() const;
  Status check_flags() const;
  Status check_ops();

  ModelFlags model_{"--devices", "with --train, "};
  Mode mode_ = Mode::kCosts;
  BenchFormat format_ = BenchFormat::kPlain;
  bool machine_ = false;
  bool ops_ = false;
  bool train_ = false;
  bool json_ = false;
  bool markdown_ = false;
  CostsBenchRequest costs_;
  double machine_seconds_ = 1;
  std::optional<std::int64_t> width_;
  std::optional<double> seconds_;
  ModelBenchRequest tests_;
  bool has_prompts_ = false;
  bool has_generated_ = false;
  bool has_depths_ = false;
  bool has_sequences_ = false;
  std::optional<int> runs_;
  OpsBenchRequest op_cases_;
  TrainBenchRequest training_;
  std::optional<std::int64_t> rows_;
};

void BenchCommand::declare_list(Arguments& arguments, const std::string& names,
                                const std::string& help, std::int64_t low, std::int64_t high,
                                std::vector<std::int64_t>& list, bool& is_given) {
  arguments.value(names, "N,..", fmt::format("{} (default {})", help, fmt::join(list, ",")),
                  [&, low, high](const std::string& text) -> Status {
                    is_given = true;
                    SHUNT_ASSIGN(list, parse_number_list(text, low, high));
                    return ok();
                  });
}

void BenchCommand::declare(Arguments& arguments) {
  constexpr int kMostRuns = 1000;
  arguments.flag("--machine", machine_, "Measure the peak rates of devices");
  arguments.flag("--ops", ops_, "Measure ops in shapes of language models, on one device");
  arguments.flag("--train", train_, "Measure training of the model, and its products alone");
  model_.declare(arguments);
  declare_list(arguments, "-p,--prompt",
               "With --model: measure prompts of N tokens (prefill); 0: none", 0, kMaxBenchTokens,
               tests_.prompts, has_prompts_);
  declare_list(arguments, "-n,--tokens",
               "With --model: measure the generation of N tokens (decode); 0: none", 0,
               kMaxBenchTokens, tests_.generated, has_generated_);
  declare_list(arguments, "-d,--depth", "With --model: measure with N tokens in the KV cache", 0,
               kMaxBenchTokens, tests_.depths, has_depths_);
  declare_list(arguments, "-s,--sequences",
               "With --model: compute N sequences at once, each with as many tokens", 1,
               kMostSequences, tests_.sequences, has_sequences_);
  arguments.number(
      "-r,--runs",
      fmt::format("With --model: time N runs, after one warm-up (default {})", tests_.runs), runs_,
      1, kMostRuns);
  arguments.number<std::int64_t>("-c,--ctx",
                                 "With --model: set the context length; 0: as long as the tests "
                                 "need. With --train: set the tokens of a row (0: 256)",
                                 model_.session().context, 0, kMaxBenchTokens);
  arguments.number<std::int64_t>(
      "--rows", fmt::format("With --train: compute N rows in a step (default {})", training_.rows),
      rows_, 1, kMostSequences);
  arguments.output("--save-costs",
                   "Write the measured costs of ops and copies as JSON, for --costs",
                   OutputFormat::kText, costs_.path);
  arguments.number(
      "--width",
      fmt::format(
          "Measure matrices with N rows and columns, a multiple of 64 (default {}; with --ops {})",
          costs_.measure.width, op_cases_.width),
      width_);
  arguments.number(
      "--seconds",
      fmt::format("Measure for about N seconds each (default {}; with --ops {}, with --machine {})",
                  costs_.measure.seconds, op_cases_.seconds, machine_seconds_),
      seconds_, 0.0, 60.0);
  arguments.value(
      "--type", "LIST",
      "With --ops: measure only these types of weights, such as Q4_0,Q4_K (default all)",
      [this](const std::string& text) { return each_of(text, &BenchCommand::add_type); });
  arguments.value(
      "--op", "LIST",
      fmt::format("With --ops: measure only these ops: {}", fmt::join(bench_op_names(), ", ")),
      [this](const std::string& text) { return each_of(text, &BenchCommand::add_op); });
  arguments.flag("--json", json_, "Print JSON");
  arguments.flag("--markdown", markdown_, "Print a table in Markdown");
}

Status BenchCommand::each_of(const std::string& text,
                             Status (BenchCommand::*add)(const std::string&)) {
  SHUNT_ASSIGN(const std::vector<std::string> names, split_list(text));
  for (const std::string& name : names) SHUNT_TRY((this->*add)(name));
  return ok();
}

Status BenchCommand::add_type(const std::string& name) {
  SHUNT_ASSIGN(const DType dtype, dtype_from_name(name));
  if (!is_weight_type(dtype)) return invalid("weights can't be of type {}", to_string(dtype));
  op_cases_.types.push_back(dtype);
  return ok();
}

Status BenchCommand::add_op(const std::string& name) {
  const auto names = bench_op_names();
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    return invalid("\"{}\" is not among {}", name, fmt::join(names, ", "));
  }
  op_cases_.ops.push_back(*found);
  return ok();
}

Result<Mode> BenchCommand::chosen_mode() const {
  if (int{machine_} + int{ops_} + int{model_.is_given() || train_} > 1) {
    return invalid("--machine, --ops and --model exclude each other");
  }
  return machine_            ? Mode::kMachine
         : ops_              ? Mode::kOps
         : train_            ? Mode::kTrain
         : model_.is_given() ? Mode::kModel
                             : Mode::kCosts;
}

Status BenchCommand::check_flags() const {
  using enum Mode;
  const ModeFlag flags[] = {
      {"--prompt", has_prompts_, {kModel}},
      {"--tokens", has_generated_, {kModel}},
      {"--depth", has_depths_, {kModel}},
      {"--sequences", has_sequences_, {kModel}},
      {"--runs", runs_.has_value(), {kModel, kTrain}},
      {"--ctx", model_.session().context != 0, {kModel, kTrain}},
      {"--rows", rows_.has_value(), {kTrain}},
      {"--devices", !model_.devices().empty(), {kCosts, kMachine, kModel, kOps}},
      {"--save-costs", costs_.path.has_value(), {kCosts}},
      {"--width", width_.has_value(), {kCosts, kOps}},
      {"--seconds", seconds_.has_value(), {kCosts, kMachine, kOps}},
      {"--type", !op_cases_.types.empty(), {kOps}},
      {"--op", !op_cases_.ops.empty(), {kOps}},
      {"--json", json_, {kMachine, kModel, kOps, kTrain}},
      {"--markdown", markdown_, {kMachine, kModel, kOps, kTrain}},
  };
  for (const ModeFlag& flag : flags) {
    if (!flag.is_given || std::ranges::count(flag.modes, mode_) != 0) continue;
    std::vector<std::string_view> modes;
    for (const Mode mode : flag.modes) modes.push_back(kModes[static_cast<std::size_t>(mode)]);
    return invalid("{} has no meaning here; it belongs to {}", flag.name, fmt::join(modes, " or "));
  }
  if (json_ && markdown_) return invalid("--json and --markdown exclude each other");
  return ok();
}

Status BenchCommand::check_ops() {
  op_cases_.width = width_.value_or(op_cases_.width);
  op_cases_.seconds = seconds_.value_or(op_cases_.seconds);
  if (op_cases_.types.empty()) {
    for (const DTypeTrait& type : dtypes()) {
      if (is_weight_type(type.dtype)) op_cases_.types.push_back(type.dtype);
    }
  }
  return check_ops_bench(op_cases_);
}

Status BenchCommand::check() {
  SHUNT_ASSIGN(mode_, chosen_mode());
  SHUNT_TRY(check_flags());
  format_ = json_ ? BenchFormat::kJson : markdown_ ? BenchFormat::kMarkdown : BenchFormat::kPlain;
  tests_.runs = runs_.value_or(tests_.runs);
  if (mode_ == Mode::kModel) {
    SHUNT_TRY(model_.check());
    return check_model_bench(tests_, model_.session().context);
  }
  if (mode_ == Mode::kTrain) {
    if (model_.session().context != 0) training_.context = model_.session().context;
    training_.rows = rows_.value_or(training_.rows);
    training_.runs = runs_.value_or(training_.runs);
    SHUNT_TRY(check_train_bench(training_));
    return model_.check();
  }
  if (mode_ == Mode::kMachine) machine_seconds_ = seconds_.value_or(machine_seconds_);
  if (mode_ == Mode::kOps) SHUNT_TRY(check_ops());
  if (mode_ == Mode::kCosts) {
    costs_.measure.width = width_.value_or(costs_.measure.width);
    costs_.measure.seconds = seconds_.value_or(costs_.measure.seconds);
    SHUNT_TRY(check_measure_options(costs_.measure));
  }
  return model_.check_others();
}

Status BenchCommand::run(Output& output) {
  if (mode_ == Mode::kModel) return bench_model(model_, tests_, format_, output);
  SHUNT_ASSIGN(const auto registry, open_registry(model_.options()));
  if (mode_ == Mode::kTrain) {
    SHUNT_ASSIGN(const auto devices, select_with_cpu(*registry, {}));
    return bench_train(model_.path(), training_, DeviceSet(devices).cpu_device(), format_, output);
  }
  if (mode_ == Mode::kOps) {
    SHUNT_ASSIGN(const auto chosen, select_with_cpu(*registry, model_.devices()));
    const std::array<Device*, 2> pair = {chosen.front(), &DeviceSet(chosen).cpu_device()};
    return bench_ops(std::span(pair).first(chosen.size() > 1 ? 2 : 1), op_cases_, format_, output);
  }
  std::vector<Device*> devices(registry->devices().begin(), registry->devices().end());
  if (!model_.devices().empty()) {
    devices.clear();
    for (const std::string& name : model_.devices()) {
      SHUNT_ASSIGN(Device * device, registry->find(name));
      devices.push_back(device);
    }
  }
  if (mode_ == Mode::kMachine) return bench_machine(devices, machine_seconds_, format_, output);
  return bench_costs(devices, costs_, output);
}

}  // namespace

std::unique_ptr<Command> make_bench_command() {
  return std::make_unique<BenchCommand>();
}

}  // namespace shunt::cli
