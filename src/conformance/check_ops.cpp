#include "shunt/check_ops.h"

#include <algorithm>
#include <map>

#include "base/guarded.h"
#include "conformance/case_clock.h"
#include "conformance/cases.h"
#include "conformance/check_cases.h"
#include "conformance/op_case.h"
#include "conformance/same_build.h"
#include "ops/list.h"
#include "shunt/abi_token.h"
#include "shunt/message.h"
#include "shunt/registry.h"

namespace shunt {

namespace {

class Checker {
 public:
  Checker(Device& device, const Op& op, const CheckOpOptions& options, OpCaseStore* store)
      : device_(device),
        op_(op),
        options_(options),
        store_(store),
        clock_(CaseClock::Seconds(options.case_seconds),
               CaseClock::Seconds(options.patience_seconds), options.cancel, [this] { stuck(); }) {
    found_.op = op.info().name;
  }

  Result<OpCasesCheck> run() {
    std::size_t cases = 0;
    each_case(op_, [&](const Case& each) {
      ++cases;
      if (cancelled() || (options_.skip && options_.skip(op_.info().name, each.name))) return;
      check_ = {.op = found_.op, .name = each.name};
      const auto found = guarded([&] { return check(each); });
      if (cancelled()) return;
      if (found) {
        check_.message = *found;
      } else {
        fail_case(to_text(found.error()));
      }
      count();
    });
    if (cancelled()) return fail(ErrorCode::kCancelled, "cancelled");
    if (cases == 0) return fail(ErrorCode::kNotFound, "op \"{}\" has no test cases", found_.op);
    for (const auto& [reason, count] : reasons_) found_.reasons.push_back({reason, count});
    std::ranges::sort(found_.reasons, [](const RefusedCases& a, const RefusedCases& b) {
      return a.count != b.count ? a.count > b.count : a.reason < b.reason;
    });
    return std::move(found_);
  }

 private:
  bool cancelled() const { return options_.cancel != nullptr && options_.cancel->load(); }

  void fail_case(std::string message) {
    check_.outcome = CaseOutcome::kFailed;
    check_.message = std::move(message);
  }

  /// Sets the outcome of the case under way, and gives its message; or an error, and it has failed.
  Result<std::string> check(const Case& each) {
    OpCaseStore own;
    SHUNT_ASSIGN(const auto shared, (store_ == nullptr ? &own : store_)->get(op_, each));
    OpCase& made = *shared;
    const Support answer = device_.supports(made.graph(), made.node());
    if (!answer) return refused(answer);
    SHUNT_TRY(made.make_data());
    const std::atomic<bool>& stop = clock_.begin();
    auto computed = guarded([&] { return made.compute(device_, &stop); });
    if (clock_.end()) return fail(ErrorCode::kDevice, "{}", too_long());
    if (!computed) return Error(std::move(computed.error()));
    const double rounding = device_.rounding_error(made.graph(), made.node());
    const double largest = device_.largest_number(made.graph(), made.node());
    SHUNT_ASSIGN(std::string wrong, made.judge(*computed, rounding, largest));
    if (!wrong.empty()) check_.outcome = CaseOutcome::kFailed;
    return wrong;
  }

  Result<std::string> refused(const Support& answer) {
    if (answer.refused() && answer.facts().empty()) {
      return fail(ErrorCode::kDevice, "refused without a reason");
    }
    check_.outcome = CaseOutcome::kUnsupported;
    if (answer.refused()) return answer.facts();
    return fmt::format("{} takes it only with source {} as {}", device_.name(),
                       answer.converted_source(), to_string(answer.converted_dtype()));
  }

  std::string too_long() const { return fmt::format("not done after {} s", options_.case_seconds); }

  void count() {
    if (options_.visit) options_.visit(check_);
    switch (check_.outcome) {
      case CaseOutcome::kPassed:
        ++found_.passed;
        return;
      case CaseOutcome::kFailed:
        ++found_.failed;
        found_.failures.push_back(check_);
        return;
      case CaseOutcome::kUnsupported:
        ++found_.unsupported;
        ++reasons_[check_.message];
        return;
    }
  }

  /// Called by the thread of the clock, while the other one is in the device.
  void stuck() {
    if (!options_.stuck) return;
    CaseCheck check = check_;
    check.outcome = CaseOutcome::kFailed;
    check.message = fmt::format("{} does not end it although it was cancelled {} s ago",
                                device_.name(), options_.patience_seconds);
    options_.stuck(check);
  }

  Device& device_;
  const Op& op_;
  const CheckOpOptions& options_;
  OpCaseStore* const store_;
  OpCasesCheck found_;
  std::map<std::string, std::size_t> reasons_;  // why cases are not supported: how many
  CaseCheck check_;                             // the case under way
  CaseClock clock_;
};

}  // namespace

std::string_view to_string(CaseOutcome outcome) {
  switch (outcome) {
    case CaseOutcome::kPassed:
      return "passed";
    case CaseOutcome::kFailed:
      return "failed";
    case CaseOutcome::kUnsupported:
      return "unsupported";
  }
  return "unknown";
}

std::vector<std::string_view> op_names() {
  std::vector<std::string_view> names;
  for (const Op* op : all_ops()) names.push_back(op->info().name);
  return names;
}

std::size_t case_count(std::string_view op) {
  std::size_t count = 0;
  if (const Op* found = find_op(op)) each_case(*found, [&](const Case&) { ++count; });
  return count;
}

Result<OpCasesCheck> check_op(Device& device, std::string_view op, const CheckOpOptions& options) {
  SHUNT_TRY(check_same_build(SHUNT_ABI_TOKEN, abi_token()));
  const Op* found = find_op(op);
  if (found == nullptr) return fail(ErrorCode::kNotFound, "there is no op \"{}\"", op);
  return check_cases(device, *found, options);
}

Result<OpCasesCheck> check_cases(Device& device, const Op& op, const CheckOpOptions& options,
                                 OpCaseStore* store) {
  return guarded([&] { return Checker(device, op, options, store).run(); });
}

}  // namespace shunt
