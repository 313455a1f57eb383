// `shunt bench model|ops|machine|train|costs`: the flags of each, and the checks of its request.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "cli/commands/bench_machine.h"
#include "cli/commands/commands.h"
#include "cli/flags/model_flags.h"
#include "cli/flags/number_list.h"
#include "cli/report/bench_reports.h"
#include "cli/report/cost_table.h"
#include "shunt/costs.h"
#include "shunt/message.h"
#include "shunt/registry.h"
#include "shunt/select_devices.h"

namespace shunt::cli {
namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr std::int64_t kMaxBenchTokens = std::int64_t{1} << 24;
constexpr std::int64_t kMostSequences = 4096;
constexpr int kMostRuns = 1000;
constexpr double kMostSeconds = 60;

/// `--json` and `--markdown`.
class FormatFlags {
 public:
  void declare(Arguments& arguments) {
    arguments.flag("--json", json_, "Print JSON");
    arguments.flag("--markdown", markdown_, "Print a table in Markdown");
  }
  Status check() const {
    if (json_ && markdown_) return invalid("--json and --markdown exclude each other");
    return ok();
  }
  BenchFormat format() const {
    return json_ ? BenchFormat::kJson : markdown_ ? BenchFormat::kMarkdown : BenchFormat::kPlain;
  }

 private:
  bool json_ = false;
  bool markdown_ = false;
};

/// The flags of measurements without a model: the runtime's, and `--devices`.
class DeviceFlags {
 public:
  void declare(Arguments& arguments, const std::string& help) {
    runtime_.declare(arguments);
    arguments.value("--devices", "LIST", help, [this](const std::string& text) -> Status {
      SHUNT_ASSIGN(names_, split_list(text));
      return ok();
    });
  }
  Status check() {
    SHUNT_ASSIGN(options_, runtime_.options());
    return ok();
  }
  Result<std::unique_ptr<Registry>> open() const { return open_registry(options_); }
  const std::vector<std::string>& names() const { return names_; }
  /// Those that are named; all if none is.
  Result<std::vector<Device*>> find(const Registry& registry) const {
    if (names_.empty()) {
      return std::vector<Device*>(registry.devices().begin(), registry.devices().end());
    }
    std::vector<Device*> devices;
    for (const std::string& name : names_) {
      SHUNT_ASSIGN(Device* const device, registry.find(name));
      devices.push_back(device);
    }
    return devices;
  }

 private:
  RuntimeFlags runtime_;
  Options options_;
  std::vector<std::string> names_;
};

class BenchModel final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "bench model", "measure prefill and decode throughput of a model",
        "  shunt bench model -m model.gguf -p 512,32 -n 64 -d 0,4096 -t 2\n"
        "  shunt bench model -m model.gguf -p 0 -n 32 -s 1,8,64 --json"};
    return kInfo;
  }
  void declare(Arguments& arguments) override {
    model_.declare(arguments);
    arguments.group("Measurement");
    list(arguments, "-p,--prompt", "Measure prompts of N tokens (prefill); 0: none", 0,
         kMaxBenchTokens, tests_.prompts);
    list(arguments, "-n,--tokens", "Measure the generation of N tokens (decode); 0: none", 0,
         kMaxBenchTokens, tests_.generated);
    list(arguments, "-d,--depth", "Start each test with N tokens in the KV cache", 0,
         kMaxBenchTokens, tests_.depths);
    list(arguments, "-s,--sequences",
         "Compute N sequences at once; each has the tokens and the depth of the test", 1,
         kMostSequences, tests_.sequences);
    arguments.number("-r,--runs", "Time N runs after one warm-up", tests_.runs, 1, kMostRuns);
    arguments.number<std::int64_t>("-c,--ctx",
                                   "Set the context length; 0: as much as the tests need",
                                   model_.session().context, 0, kMaxBenchTokens);
    format_.declare(arguments);
  }
  Status check() override {
    SHUNT_TRY(format_.check());
    tests_.log = [](std::string_view line) { print_message(line); };
    auto session = bench_session(tests_, model_.session());
    if (!session) return invalid("{}; see --ctx", session.error().message());
    model_.session() = std::move(*session);
    return model_.check();
  }
  Status run(Output& output) override {
    const double begin = steady_seconds();
    SHUNT_ASSIGN(const OpenModel open, model_.open(PredictTimes::kAlways));
    SHUNT_TRY(model_.expect_logits(open));
    const double start = begin + open.calibration_seconds;  // calibration does not count
    SHUNT_ASSIGN(const ModelBenchReport report,
                 bench_model(open.model, model_.session(), tests_, start));
    output.write(to_text(report, model_.path(), model_.session(), format_.format()));
    return ok();
  }

 private:
  static void list(Arguments& arguments, const std::string& names, const std::string& help,
                   std::int64_t low, std::int64_t high, std::vector<std::int64_t>& numbers) {
    arguments.value(names, "N,..", fmt::format("{} (default {})", help, fmt::join(numbers, ",")),
                    [&numbers, low, high](const std::string& text) -> Status {
                      SHUNT_ASSIGN(numbers, parse_number_list(text, low, high));
                      return ok();
                    });
  }

  ModelFlags model_{"--devices"};
  ModelBenchRequest tests_;
  FormatFlags format_;
};

class BenchOps final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "bench ops", "measure ops with the shapes of language models, on one device",
        "  shunt bench ops --type Q4_0,Q4_K --op matmul\n"
        "  shunt bench ops --devices cpu0 -t 1 --markdown"};
    return kInfo;
  }
  void declare(Arguments& arguments) override {
    devices_.declare(arguments,
                     "Measure the first of these devices (default: the first of shunt devices)");
    arguments.number<std::int64_t>(
        "--width", "Measure weights of N x N and N x 4N, with N a multiple of 64", request_.width);
    arguments.number("--seconds", "Measure each case for about N seconds", request_.seconds, 0.0,
                     kMostSeconds);
    arguments.value("--type", "LIST",
                    "Measure only these weight types, such as Q4_0,Q4_K (default all)",
                    [this](const std::string& text) { return each_of(text, &BenchOps::add_type); });
    arguments.value(
        "--op", "LIST",
        fmt::format("Measure only these ops (default all): {}", fmt::join(bench_op_names(), ", ")),
        [this](const std::string& text) { return each_of(text, &BenchOps::add_op); });
    format_.declare(arguments);
  }
  Status check() override {
    SHUNT_TRY(format_.check());
    SHUNT_TRY(devices_.check());
    request_.log = [](std::string_view line) { print_message(line); };
    return check_ops_bench(request_);
  }
  Status run(Output& output) override {
    SHUNT_ASSIGN(const auto registry, devices_.open());
    SHUNT_ASSIGN(const auto chosen, select_with_cpu(*registry, devices_.names()));
    const std::array<Device*, 2> pair = {chosen.front(), &cpu_of_selected(chosen)};
    SHUNT_ASSIGN(const OpsBenchReport report,
                 bench_ops(std::span(pair).first(chosen.size() > 1 ? 2 : 1), request_));
    output.write(to_text(report, format_.format()));
    return ok();
  }

 private:
  Status each_of(const std::string& text, Status (BenchOps::*add)(const std::string&)) {
    SHUNT_ASSIGN(const std::vector<std::string> names, split_list(text));
    for (const std::string& name : names) SHUNT_TRY((this->*add)(name));
    return ok();
  }
  Status add_type(const std::string& name) {
    SHUNT_ASSIGN(const DType dtype, dtype_from_name(name));
    if (!is_weight_type(dtype)) return invalid("weights can't be of type {}", to_string(dtype));
    request_.types.push_back(dtype);
    return ok();
  }
  Status add_op(const std::string& name) {
    const auto names = bench_op_names();
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      return invalid("there is no benchmark of op \"{}\"; the ops are: {}", name,
                     fmt::join(names, ", "));
    }
    request_.ops.push_back(*found);
    return ok();
  }

  DeviceFlags devices_;
  OpsBenchRequest request_;
  FormatFlags format_;
};

class BenchMachine final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {"bench machine",
                                          "measure peak bandwidth and peak arithmetic of devices",
                                          "  shunt bench machine\n"
                                          "  shunt bench machine --devices cpu0 --json"};
    return kInfo;
  }
  void declare(Arguments& arguments) override {
    devices_.declare(arguments, "Measure only these devices, such as cpu0 (default all)");
    arguments.number("--seconds", "Measure for about N seconds per number of threads", seconds_,
                     0.0, kMostSeconds);
    format_.declare(arguments);
  }
  Status check() override {
    SHUNT_TRY(format_.check());
    return devices_.check();
  }
  Status run(Output& output) override {
    SHUNT_ASSIGN(const auto registry, devices_.open());
    SHUNT_ASSIGN(const auto devices, devices_.find(*registry));
    return bench_machine(devices, seconds_, format_.format(), output);
  }

 private:
  DeviceFlags devices_;
  double seconds_ = 1;
  FormatFlags format_;
};

class BenchTrain final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "bench train", "measure training steps of a model, and their matrix products alone",
        "  shunt bench train -m small.gguf --ctx 256 --rows 16"};
    return kInfo;
  }
  void declare(Arguments& arguments) override {
    model_.declare(arguments, "Train this GGUF model in memory; the file does not change");
    runtime_.declare(arguments);
    arguments.number("-c,--ctx", "Set the sequence length: N tokens per row", request_.context,
                     std::int64_t{0}, kMaxBenchTokens);
    arguments.number("--rows", "Set the batch size: N rows per step", request_.rows,
                     std::int64_t{1}, kMostSequences);
    arguments.number("-r,--runs", "Time N runs after one warm-up", request_.runs, 1, kMostRuns);
    format_.declare(arguments);
  }
  Status check() override {
    SHUNT_TRY(format_.check());
    SHUNT_TRY(check_train_bench(request_));
    SHUNT_TRY(model_.check());
    SHUNT_ASSIGN(options_, runtime_.options());
    return ok();
  }
  Status run(Output& output) override {
    SHUNT_ASSIGN(const auto registry, open_registry(options_));
    SHUNT_ASSIGN(const auto devices, select_with_cpu(*registry, {}));
    SHUNT_ASSIGN(const TrainBenchReport report,
                 bench_train(model_.path(), request_, cpu_of_selected(devices)));
    output.write(to_text(report, model_.path(), request_, format_.format()));
    return ok();
  }

 private:
  ModelFile model_;
  RuntimeFlags runtime_;
  Options options_;
  TrainBenchRequest request_;
  FormatFlags format_;
};

class BenchCosts final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "bench costs", "measure the costs of ops and copies, for placement (--costs)",
        "  shunt bench costs -o costs.json\n"
        "  shunt bench costs --devices cpu0 --width 2048"};
    return kInfo;
  }
  void declare(Arguments& arguments) override {
    devices_.declare(arguments, "Measure only these devices, such as cpu0 (default all)");
    arguments.number<std::int64_t>("--width", "Measure matrices of N x N, with N a multiple of 64",
                                   options_.width);
    arguments.number("--seconds", "Measure each op for about N seconds", options_.seconds, 0.0,
                     kMostSeconds);
    arguments.output("-o,--output",
                     "Write the costs to this file (JSON), for --costs of other commands",
                     OutputFormat::kText, path_);
  }
  Status check() override {
    SHUNT_TRY(check_measure_options(options_));
    return devices_.check();
  }
  Status run(Output& output) override {
    SHUNT_ASSIGN(const auto registry, devices_.open());
    SHUNT_ASSIGN(const auto devices, devices_.find(*registry));
    SHUNT_ASSIGN(const Measured measured, measure_costs(devices, options_));
    for (const std::string& note : measured.notes) print_message(note);
    if (path_) SHUNT_TRY(output.write_file(*path_, measured.costs.to_text()));
    output.write(cost_table(measured.costs));
    return ok();
  }

 private:
  DeviceFlags devices_;
  MeasureOptions options_;
  std::optional<std::string> path_;
};

}  // namespace

std::unique_ptr<Command> make_bench_model_command() {
  return std::make_unique<BenchModel>();
}
std::unique_ptr<Command> make_bench_ops_command() {
  return std::make_unique<BenchOps>();
}
std::unique_ptr<Command> make_bench_machine_command() {
  return std::make_unique<BenchMachine>();
}
std::unique_ptr<Command> make_bench_train_command() {
  return std::make_unique<BenchTrain>();
}
std::unique_ptr<Command> make_bench_costs_command() {
  return std::make_unique<BenchCosts>();
}

}  // namespace shunt::cli
