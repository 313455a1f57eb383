// `shunt check-ops`: runs the test cases of the ops on a device.
#include <unistd.h>

#include <algorithm>

#include "cli/commands/commands.h"
#include "cli/flags/near_names.h"
#include "cli/flags/runtime_flags.h"
#include "cli/report/ops_check.h"
#include "cli/terminal/interrupt.h"
#include "shunt/message.h"
#include "shunt/registry.h"

namespace shunt::cli {
namespace {

class CheckOpsCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {"check-ops", "run the test cases of all ops on a device",
                                          "  shunt check-ops --device cuda0\n"
                                          "  shunt check-ops --device cuda0 --op matmul --op rope\n"
                                          "  shunt check-ops --device cuda0 --json"};
    return kInfo;
  }

  void declare(Arguments& arguments) override {
    arguments.text("-d,--device", "NAME", "Check this device, such as cuda0", device_);
    arguments.each("--op", "NAME", "Check only this op. Repeatable",
                   [this](const std::string& name) { return add_op(name); });
    arguments.number<std::size_t>("--top", "Show at most N failed cases", top_);
    arguments.number("--case-seconds",
                     "Cancel a case after N seconds and count it as failed; 0: no limit",
                     check_.case_seconds, 0.0, 1e6);
    runtime_.declare(arguments);
    arguments.flag("--json", json_, "Print JSON with every failed case");
  }

  Status check() override {
    if (!device_) return invalid("no device is given; use --device NAME (see shunt devices)");
    if (ops_.empty()) ops_ = op_names();
    if (check_.case_seconds > 0) {
      check_.patience_seconds = std::min(check_.patience_seconds, check_.case_seconds);
    }
    SHUNT_ASSIGN(options_, runtime_.options());
    return ok();
  }

  Status run(Output& output) override {
    Interrupt interrupt;
    SHUNT_ASSIGN(const auto registry, open_registry(options_));
    SHUNT_ASSIGN(Device * device, registry->find(*device_));
    found_.device = *device_;
    check_.cancel = &interrupt.stop();
    check_.stuck = [&](const CaseCheck& at) { give_up(output, interrupt, at); };
    interrupt.defer();
    for (const std::string_view op : ops_) width_ = std::max(width_, op.size());
    if (!json_) output.write(table_head(width_));
    for (const std::string_view op : ops_) {
      SHUNT_ASSIGN(OpCasesCheck found, check_op(*device, op, check_));
      add(std::move(found), output);
    }
    output.write(json_ ? to_json(found_) : summary(found_, top_));
    if (found_.failed() > 0) return fail(ErrorCode::kDevice, "{}", complaint(found_));
    if (found_.passed() == 0) {
      return fail(ErrorCode::kUnsupported,
                  "{}: nothing was checked: the device supports none of {}", *device_,
                  counted(found_.cases(), "case"));
    }
    return ok();
  }

 private:
  Status add_op(const std::string& name) {
    const auto names = op_names();
    const auto op = std::ranges::find(names, name);
    if (op == names.end()) {
      return invalid("there is no op \"{}\"{}", name, did_you_mean(name, names));
    }
    if (std::ranges::find(ops_, name) == ops_.end()) ops_.push_back(*op);
    return ok();
  }

  void add(OpCasesCheck op, Output& output) {
    if (!json_) output.write(table_line(op, width_));
    found_.ops.push_back(std::move(op));
  }

  /// For a device that does not return: reports the results so far and ends the process, as the
  /// device's thread can't be ended. A watchdog thread calls this. If the device returns after all,
  /// its thread waits for the watchdog.
  [[noreturn]] void give_up(Output& output, const Interrupt& interrupt, const CaseCheck& at) {
    if (!interrupt.happened()) {
      add({.op = at.op, .failed = 1, .failures = {at}}, output);
      output.write(json_ ? to_json(found_) : summary(found_, top_));
    }
    print_message(fmt::format("{}: {}: {}: {}", *device_, at.op, at.name, at.message));
    ::_exit(Interrupt::exit_code().value_or(1));
  }

  std::optional<std::string> device_;
  std::vector<std::string_view> ops_;
  std::size_t top_ = 10;
  CheckOpOptions check_;
  RuntimeFlags runtime_;
  Options options_;
  bool json_ = false;
  std::size_t width_ = 2;  // of the longest name of an op
  OpsCheck found_;
};

}  // namespace

std::unique_ptr<Command> make_check_ops_command() {
  return std::make_unique<CheckOpsCommand>();
}

}  // namespace shunt::cli
