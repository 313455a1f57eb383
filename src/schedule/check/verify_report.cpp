// Reports of checks: thresholds, an order, a sum by op.
#include <algorithm>
#include <array>
#include <limits>

#include "base/enum_table.h"
#include "shunt/verify.h"

namespace shunt {

namespace {

constexpr double kReportInfinity = std::numeric_limits<double>::infinity();

/// The ratio of an error to its threshold.
double severity(const NodeCheck& check) {
  if (check.outcome == CheckOutcome::kFailed) return kReportInfinity;
  if (check.threshold > 0) return check.error / check.threshold;
  return check.error > 0 ? kReportInfinity : 0;
}

/// Larger errors first; of equal ones, the one that comes first in the graph.
struct Rank {
  bool failed = false;
  double severity = 0;
  double error = 0;
  std::size_t number = 0;
  bool operator<(const Rank& other) const {
    if (failed != other.failed) return failed;
    if (severity != other.severity) return severity > other.severity;
    if (error != other.error) return error > other.error;
    return number < other.number;
  }
};

Rank rank(const NodeCheck& check, std::size_t number) {
  return {check.outcome == CheckOutcome::kFailed, severity(check), check.error, number};
}

void add(const NodeCheck& check, OpCheck& op) {
  if (op.message.empty()) op.message = check.message;
  switch (check.outcome) {
    case CheckOutcome::kCompared:
      ++op.compared;
      if (check.wrong()) ++op.over;
      op.worst = std::max(op.worst, check.error);
      op.mean += check.error;  // the sum, until all are there
      break;
    case CheckOutcome::kUnsupported:
      ++op.unsupported;
      break;
    case CheckOutcome::kFailed:
      ++op.failed;
      break;
  }
}

}  // namespace

std::string_view to_string(CheckOutcome outcome) {
  static constexpr std::array<std::string_view, 3> kNames = {"compared", "unsupported", "failed"};
  return name_in(kNames, outcome);
}

double default_threshold(DType dtype) {
  // Rounding errors spread evenly over a relative half unit u have a mean square of at most u^2
  // / 3. The factor of ten covers the rounding of both results, and cancellation in sums.
  if (trait(dtype).quantized) {
    // 8 bits a block, half a unit being its largest / 254, which is about three times the root mean
    // square: 9 / (3 * 254^2). Fewer bits are those of the weights, which don't change.
    return 5e-4;
  }
  if (dtype == DType::kBF16) return 5e-5;  // u = 2^-8
  return 1e-6;                             // u = 2^-11: F16, and TF32 in place of F32
}

std::vector<std::size_t> worst_first(std::span<const NodeCheck> checks) {
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    if (checks[i].outcome != CheckOutcome::kUnsupported) ranks.push_back(rank(checks[i], i));
  }
  std::sort(ranks.begin(), ranks.end());
  std::vector<std::size_t> numbers;
  numbers.reserve(ranks.size());
  for (const Rank& each : ranks) numbers.push_back(each.number);
  return numbers;
}

std::vector<OpCheck> check_by_op(std::span<const NodeCheck> checks) {
  std::vector<std::pair<Rank, OpCheck>> ops;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const NodeCheck& check = checks[i];
    auto known = std::find_if(ops.begin(), ops.end(),
                              [&](const auto& each) { return each.second.op == check.op; });
    if (known == ops.end()) {
      OpCheck op;
      op.op = check.op;
      known = ops.insert(ops.end(), {Rank{false, -1, 0, i}, std::move(op)});
    }
    if (check.outcome != CheckOutcome::kUnsupported) {
      known->first = std::min(known->first, rank(check, i));
    }
    add(check, known->second);
  }
  std::sort(ops.begin(), ops.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<OpCheck> sorted;
  for (auto& [worst, op] : ops) {
    if (op.compared > 0) op.mean /= static_cast<double>(op.compared);
    sorted.push_back(std::move(op));
  }
  return sorted;
}

}  // namespace shunt
