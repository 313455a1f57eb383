#include "cli/report/ops_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/report/json.h"
#include "shunt/message.h"

namespace shunt::cli {
namespace {

std::size_t sum(const OpsCheck& found, std::size_t OpCasesCheck::*what) {
  std::size_t total = 0;
  for (const OpCasesCheck& op : found.ops) total += op.*what;
  return total;
}

std::string failure_line(const CaseCheck& failure) {
  return fmt::format("  {}: {}: {}\n", failure.op, failure.name, failure.message);
}

Json op_json(const OpCasesCheck& op) {
  Json failures = Json::array();
  for (const CaseCheck& failure : op.failures) {
    failures.push_back({{"case", failure.name}, {"message", failure.message}});
  }
  Json reasons = Json::array();
  for (const RefusedCases& refused : op.reasons) {
    reasons.push_back({{"reason", refused.reason}, {"cases", refused.count}});
  }
  return {{"op", op.op},         {"cases", op.cases()},           {"passed", op.passed},
          {"failed", op.failed}, {"unsupported", op.unsupported}, {"reasons", reasons},
          {"failures", failures}};
}

}  // namespace

std::size_t OpsCheck::cases() const {
  return passed() + failed() + unsupported();
}
std::size_t OpsCheck::passed() const {
  return sum(*this, &OpCasesCheck::passed);
}
std::size_t OpsCheck::failed() const {
  return sum(*this, &OpCasesCheck::failed);
}
std::size_t OpsCheck::unsupported() const {
  return sum(*this, &OpCasesCheck::unsupported);
}

std::string table_head(std::size_t width) {
  return fmt::format("{:<{}} {:>6} {:>6} {:>6} {:>12}\n", "op", width, "cases", "passed", "failed",
                     "unsupported");
}

std::string table_line(const OpCasesCheck& op, std::size_t width) {
  std::string text = fmt::format("{:<{}} {:>6} {:>6} {:>6} {:>12}", op.op, width, op.cases(),
                                 op.passed, op.failed, op.unsupported);
  if (op.reasons.size() == 1) return text + fmt::format("  {}\n", op.reasons.front().reason);
  const std::size_t end = text.size();  // where counts stand below each other
  text += '\n';
  for (const RefusedCases& refused : op.reasons) {
    text += fmt::format("{:>{}}  {}\n", refused.count, end, refused.reason);
  }
  return text;
}

std::string summary(const OpsCheck& found, std::size_t top) {
  const std::size_t failed = found.failed();
  std::string text;
  std::size_t left = std::min(top, failed);
  if (left > 0) text = fmt::format("first {} of {} that failed\n", left, failed);
  for (const OpCasesCheck& op : found.ops) {
    const std::size_t count = std::min(left, op.failures.size());
    for (std::size_t i = 0; i < count; ++i) text += failure_line(op.failures[i]);
    left -= count;
  }
  return text + fmt::format("{}: {}, {}: {} passed, {} failed, {} unsupported\n", found.device,
                            counted(found.ops.size(), "op"), counted(found.cases(), "case"),
                            found.passed(), failed, found.unsupported());
}

std::string to_json(const OpsCheck& found) {
  Json json;
  json["device"] = found.device;
  json["cases"] = found.cases();
  json["passed"] = found.passed();
  json["failed"] = found.failed();
  json["unsupported"] = found.unsupported();
  json["ops"] = Json::array();
  for (const OpCasesCheck& op : found.ops) json["ops"].push_back(op_json(op));
  return to_text(json);
}

std::string complaint(const OpsCheck& found) {
  const auto op = std::ranges::find_if(
      found.ops, [](const OpCasesCheck& each) { return !each.failures.empty(); });
  const CaseCheck& first = op->failures.front();
  return fmt::format("{}: {} of {} failed; the first is {}: {}: {}", found.device, found.failed(),
                     counted(found.passed() + found.failed(), "case"), first.op, first.name,
                     first.message);
}

}  // namespace shunt::cli
