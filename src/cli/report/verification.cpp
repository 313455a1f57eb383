#include "cli/report/verification.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cli/report/json.h"
#include "shunt/message.h"

namespace shunt::cli {
namespace {

std::size_t count(const Verification& found, bool (NodeCheck::*what)() const) {
  return static_cast<std::size_t>(
      std::count_if(found.checks.begin(), found.checks.end(),
                    [&](const NodeCheck& check) { return (check.*what)(); }));
}

/// "1.2e-13", "0", "inf".
std::string short_number(double value) {
  return value == 0 ? "0" : fmt::format("{:.2g}", value);
}

/// "0.333333333"; "nan" without the sign that it may have.
std::string long_number(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.9g}", value);
}

std::string joined(const std::vector<std::int64_t>& numbers, std::string_view separator) {
  return fmt::format("{}", fmt::join(numbers, separator));
}

/// "[20, 3]": zeros at the end are left out, as ones are in a shape.
std::string element(const NodeCheck& check) {
  auto end = check.worst_at.end();
  while (end > check.worst_at.begin() + 1 && end[-1] == 0) --end;
  return fmt::format("[{}]", fmt::join(check.worst_at.begin(), end, ", "));
}

std::string op_line(const OpCheck& op) {
  const bool any = op.compared > 0;
  return fmt::format("{:<15} {:>8} {:>6} {:>7} {:>9} {:>9} {:>12}{}{}\n", op.op, op.compared,
                     op.over, op.failed, any ? short_number(op.worst) : "-",
                     any ? short_number(op.mean) : "-", op.unsupported,
                     op.message.empty() ? "" : "  ", op.message);
}

std::string node_lines(const Verification& found, std::size_t number) {
  const NodeCheck& check = found.checks[number];
  const std::string tokens =
      fmt::format("{} token{}", found.tokens[number], found.tokens[number] == 1 ? "" : "s");
  if (!check.compared()) {
    return fmt::format("  failed     {}, {}\n             {}\n", check.name, tokens, check.message);
  }
  std::string text = fmt::format("  {:<10} {}, {}; at most {}\n", short_number(check.error),
                                 check.name, tokens, short_number(check.threshold));
  text += fmt::format("             {}\n", check.tensors);
  if (check.error > 0) {
    text += fmt::format("             largest difference at {}: {}, expected {}\n", element(check),
                        long_number(check.got), long_number(check.expected));
  }
  return text;
}

using Counts = std::vector<std::pair<std::string, std::size_t>>;

bool computed_by_others(const Verification& found, const Counts& devices) {
  return std::ranges::any_of(devices,
                             [&](const auto& each) { return each.first != found.against; });
}

/// "test0 38 operations"
std::vector<std::string> counts(const Counts& devices) {
  std::vector<std::string> texts;
  for (const auto& [device, number] : devices) {
    texts.push_back(fmt::format("{} {}", device, counted(number, "operation")));
  }
  return texts;
}

/// JSON has no infinity: null.
Json number_json(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json verified_weight_json(const TranscodedWeight& weight) {
  return {{"name", weight.name},
          {"from", to_string(weight.from)},
          {"to", to_string(weight.to)},
          {"reason", weight.reason},
          {"error", weight.error ? number_json(weight.error->normalised()) : Json()}};
}

Json op_json(const OpCheck& op) {
  const bool any = op.compared > 0;
  return {{"op", op.op},
          {"compared", op.compared},
          {"over", op.over},
          {"failed", op.failed},
          {"unsupported", op.unsupported},
          {"worst", any ? number_json(op.worst) : Json()},
          {"mean", any ? number_json(op.mean) : Json()},
          {"message", op.message}};
}

Json node_json(const Verification& found, std::size_t number) {
  const NodeCheck& check = found.checks[number];
  Json json = {{"node", check.node},
               {"name", check.name},
               {"op", check.op},
               {"tensors", check.tensors},
               {"tokens", found.tokens[number]},
               {"reference", check.reference_device},
               {"outcome", to_string(check.outcome)},
               {"wrong", check.wrong()}};
  if (!check.compared()) {
    json["message"] = check.message;
    return json;
  }
  json["error"] = number_json(check.error);
  json["threshold"] = number_json(check.threshold);
  json["worst_at"] = check.worst_at;
  json["got"] = number_json(check.got);
  json["expected"] = number_json(check.expected);
  return json;
}

std::string logits_lines(const Verification& found) {
  const LogitsComparison& logits = *found.logits;
  std::string text = fmt::format(
      "logits of {}, the whole model on {}: error {}, difference {} (root mean square), {} at "
      "most\n",
      counted(static_cast<std::uint64_t>(logits.tokens), "generated token"),
      fmt::join(found.logits_devices, " and "), short_number(logits.error),
      short_number(logits.difference), short_number(logits.largest));
  if (!logits.first) return text + "the likeliest token is the same each time\n";
  return text + fmt::format(
                    "the likeliest token differs {} of {} times; first at token {}, where the "
                    "logits of both are {} apart on {}\n",
                    logits.different, logits.tokens, logits.first->at + 1,
                    short_number(logits.first->gap), found.against);
}

Json logits_json(const Verification& found) {
  const LogitsComparison& logits = *found.logits;
  Json json = {{"devices", found.logits_devices},
               {"tokens", logits.tokens},
               {"error", number_json(logits.error)},
               {"difference", number_json(logits.difference)},
               {"largest", number_json(logits.largest)},
               {"different", logits.different},
               {"first", Json()}};
  if (logits.first) {
    json["first"] = {{"at", logits.first->at},
                     {"got", logits.first->got},
                     {"expected", logits.first->expected},
                     {"gap", number_json(logits.first->gap)}};
  }
  return json;
}

}  // namespace

std::size_t Verification::compared() const {
  return count(*this, &NodeCheck::compared);
}
std::size_t Verification::wrong() const {
  return count(*this, &NodeCheck::wrong);
}

std::vector<std::pair<std::string, std::size_t>> Verification::reference_devices() const {
  std::vector<std::pair<std::string, std::size_t>> devices = {{against, 0}};
  for (const NodeCheck& check : checks) {
    auto known = std::ranges::find(devices, check.reference_device,
                                   &std::pair<std::string, std::size_t>::first);
    if (known == devices.end()) known = devices.insert(devices.end(), {check.reference_device, 0});
    ++known->second;
  }
  if (devices.front().second == 0) devices.erase(devices.begin());
  return devices;
}

std::vector<TranscodedWeight> Verification::transcoded() const {
  std::vector<TranscodedWeight> weights;
  std::set<std::string> names;
  for (const NodeCheck& check : checks) {
    for (const TranscodedWeight& weight : check.transcoded) {
      if (names.insert(weight.name).second) weights.push_back(weight);
    }
  }
  return weights;
}

std::string to_plain_text(const Verification& found, std::size_t top) {
  const std::size_t computed = found.worst_first.size();
  std::string text = fmt::format("{}: {} against {}; tokens of each step: {}\n", found.model,
                                 found.device, found.against, joined(found.steps, ", "));
  text += fmt::format("{} operations: {} compared, {} wrong, {} not supported by {}\n",
                      found.checks.size(), found.compared(), found.wrong(),
                      found.checks.size() - computed, found.device);
  if (const auto devices = found.reference_devices(); computed_by_others(found, devices)) {
    text += fmt::format("reference run: {}\n", fmt::join(counts(devices), ", "));
  }
  for (const std::string& line : to_lines(found.transcoded())) text += line + "\n";
  text += fmt::format("{:<15} {:>8} {:>6} {:>7} {:>9} {:>9} {:>12}\n", "op", "compared", "over",
                      "failed", "worst", "mean", "unsupported");
  for (const OpCheck& op : check_by_op(found.checks)) text += op_line(op);
  const std::size_t shown = std::min(top, computed);
  if (shown > 0) text += fmt::format("worst {} of {}\n", shown, computed);
  for (std::size_t i = 0; i < shown; ++i) text += node_lines(found, found.worst_first[i]);
  if (found.logits) text += logits_lines(found);
  return text;
}

std::string to_json(const Verification& found) {
  Json json;
  json["model"] = found.model;
  json["device"] = found.device;
  json["against"] = found.against;
  json["steps"] = found.steps;
  json["operations"] = found.checks.size();
  json["compared"] = found.compared();
  json["wrong"] = found.wrong();
  json["unsupported"] = found.checks.size() - found.worst_first.size();
  json["reference"] = Json::object();
  for (const auto& [device, operations] : found.reference_devices())
    json["reference"][device] = operations;
  json["transcoded"] = Json::array();
  for (const TranscodedWeight& weight : found.transcoded()) {
    json["transcoded"].push_back(verified_weight_json(weight));
  }
  json["logits"] = found.logits ? logits_json(found) : Json();
  json["ops"] = Json::array();
  for (const OpCheck& op : check_by_op(found.checks)) json["ops"].push_back(op_json(op));
  json["nodes"] = Json::array();
  for (std::size_t number : found.worst_first) json["nodes"].push_back(node_json(found, number));
  for (std::size_t i = 0; i < found.checks.size(); ++i) {
    if (found.checks[i].outcome == CheckOutcome::kUnsupported)
      json["nodes"].push_back(node_json(found, i));
  }
  return to_text(json);
}

std::string nothing_compared(const Verification& found) {
  if (found.checks.empty()) return fmt::format("{}: nothing was compared", found.model);
  const NodeCheck& first = found.checks.front();
  return fmt::format("{}: nothing was compared: {} supports none of {}; the first is {}: {}",
                     found.model, found.device, counted(found.checks.size(), "operation"),
                     first.name, first.message);
}

std::vector<std::string> remarks(const Verification& found) {
  std::vector<std::string> lines;
  const auto devices = found.reference_devices();
  if (!devices.empty() && devices.front().first != found.against) {
    std::vector<std::string> names;
    names.reserve(devices.size());
    for (const auto& [device, number] : devices) names.push_back(device);
    lines.push_back(fmt::format(
        "{}: {} computed no operation; the reference results are from {} (see shunt explain "
        "--devices {})",
        found.model, found.against, fmt::join(names, " and "), found.against));
  }
  if (found.has_no_logits) {
    lines.push_back(
        fmt::format("{}: the model computes embeddings, so no logits are compared", found.model));
  }
  if (found.logits &&
      std::ranges::find(found.logits_devices, found.device) == found.logits_devices.end()) {
    lines.push_back(fmt::format(
        "{}: {} computed nothing of the whole model, whose logits are those of {} (see shunt "
        "explain --devices {})",
        found.model, found.device, fmt::join(found.logits_devices, " and "), found.device));
  }
  return lines;
}

std::string complaint(const Verification& found) {
  const NodeCheck& worst = found.checks[found.worst_first.front()];
  const std::string why =
      worst.compared() ? fmt::format("{}: error {}, at most {}", worst.name,
                                     short_number(worst.error), short_number(worst.threshold))
                       : worst.message;
  return fmt::format("{}: {} of {} operations are wrong on {}; the worst is {}", found.model,
                     found.wrong(), found.worst_first.size(), found.device, why);
}

}  // namespace shunt::cli
