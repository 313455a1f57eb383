#include <fmt/format.h>

#include <algorithm>

#include "cli/report/explanation.h"
#include "cli/report/sizes.h"
#include "shunt/message.h"

namespace shunt::cli {
namespace {

std::string milliseconds(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.3f} ms", *seconds * 1e3) : std::string();
}

/// ", from 1.500 to 2.000 ms"
std::string from_to(const std::optional<ExplainedTime>& when) {
  if (!when) return {};
  return fmt::format(", from {:.3f} to {:.3f} ms", when->start * 1e3, when->end * 1e3);
}

std::string device_line(const ExplainedDevice& device) {
  std::string line =
      fmt::format("  {:<8} {}, {}", device.name, counted(device.operations, "operation"),
                  counted(device.segments, "segment"));
  if (device.fell_back > 0) line += fmt::format(", {} of them fell back here", device.fell_back);
  if (device.weight_bytes > 0)
    line += fmt::format("; {} weights", format_bytes(device.weight_bytes));
  if (device.cache_bytes > 0) line += fmt::format("; {} cache", format_bytes(device.cache_bytes));
  line +=
      fmt::format("; {} in, {} out", format_bytes(device.bytes_in), format_bytes(device.bytes_out));
  if (device.seconds) line += "; " + milliseconds(device.seconds);
  return line + "\n";
}

std::string segment_lines(const Explanation& explanation, std::size_t number) {
  const ExplainedSegment& segment = explanation.segments[number];
  std::string text = fmt::format(
      "{:>4}  {:<8} {}: {}{}{}{}\n", number, device_name(explanation, segment.device),
      counted(segment.nodes.size(), "operation"), span_of(segment), segment.seconds ? ", " : "",
      milliseconds(segment.seconds), from_to(segment.when));
  text += fmt::format("        starts because   {}\n", segment.reason);
  for (const ExplainedTransfer& transfer : segment.transfers) {
    // A transfer that is not to the segment is to the host: the ids of experts to copy.
    const bool in = transfer.to == segment.device;
    text += fmt::format("        {}  {:>10}  {} {} {}{}{}\n", in ? "in " : "out",
                        format_bytes(transfer.bytes), transfer.name, in ? "from" : "to",
                        device_name(explanation, in ? transfer.from : transfer.to),
                        transfer.merged ? ", merged" : "", from_to(transfer.when));
  }
  if (segment.bytes_out > 0)
    text += fmt::format("        out  {:>10}\n", format_bytes(segment.bytes_out));
  for (const std::string& line : fallback_lines(explanation, segment)) {
    text += fmt::format("        fell back        {}\n", line);
  }
  return text;
}

}  // namespace

std::string_view times_are(const ExplanationTitle& title) {
  return title.measured ? "from measurements" : "estimated; shunt bench costs measures them";
}

std::string span_of(const ExplainedSegment& segment) {
  if (segment.nodes.empty()) return {};
  const std::string& first = segment.nodes.front().name;
  return segment.nodes.size() == 1 ? first
                                   : fmt::format("{} to {}", first, segment.nodes.back().name);
}

std::vector<std::string> fallback_lines(const Explanation& explanation,
                                        const ExplainedSegment& segment) {
  struct Kind {
    std::string text;
    std::size_t nodes = 0;
  };
  std::vector<Kind> kinds;
  for (const ExplainedNode& node : segment.nodes) {
    if (!node.fell_back) continue;
    for (const RejectedCandidate& passed : node.rejected) {
      if (passed.refusal == Refusal::kCost) continue;
      const std::string text = fmt::format("{} from {}: {}", node.op,
                                           device_name(explanation, passed.device), passed.reason);
      const auto known = std::find_if(kinds.begin(), kinds.end(),
                                      [&](const Kind& kind) { return kind.text == text; });
      if (known == kinds.end()) {
        kinds.push_back({text, 1});
      } else {
        ++known->nodes;
      }
    }
  }
  std::vector<std::string> lines;
  lines.reserve(kinds.size());
  for (const Kind& kind : kinds) lines.push_back(fmt::format("{} {}", kind.nodes, kind.text));
  return lines;
}

std::string to_plain_text(const ExplanationTitle& title, const Explanation& explanation) {
  std::string text = fmt::format(
      "{}: a step of {}, context {}\n{} on {}, {}; {} fell back; {} copied between devices\n",
      title.model, counted(static_cast<std::size_t>(title.tokens), "token"), title.context,
      counted(explanation.operations, "operation"), counted(explanation.devices.size(), "device"),
      counted(explanation.segments.size(), "segment"), explanation.fell_back,
      format_bytes(explanation.bytes_copied));
  if (explanation.seconds) {
    text += fmt::format("predicted: {} per step ({})\n", milliseconds(explanation.seconds),
                        times_are(title));
  }
  if (title.measured) text += "times\n";
  for (const std::string& line : title.measured ? title.times : std::vector<std::string>())
    text += fmt::format("  {}\n", line);
  for (const std::string& note : explanation.notes) text += note + "\n";
  text += "devices\n";
  for (const ExplainedDevice& device : explanation.devices) text += device_line(device);
  text += "memory\n";
  for (const std::string& line : title.memory) text += fmt::format("  {}\n", line);
  const auto transcoded = to_lines(explanation.transcoded);
  if (!transcoded.empty()) text += "transcoded\n";
  for (const std::string& line : transcoded) text += fmt::format("  {}\n", line);
  text += "segments\n";
  for (std::size_t i = 0; i < explanation.segments.size(); ++i)
    text += segment_lines(explanation, i);
  if (!explanation.results.empty()) text += "results\n";
  for (const ExplainedTransfer& transfer : explanation.results) {
    text += fmt::format("        {:>10}  {} from {} to {}{}\n", format_bytes(transfer.bytes),
                        transfer.name, device_name(explanation, transfer.from),
                        device_name(explanation, transfer.to), from_to(transfer.when));
  }
  return text;
}

}  // namespace shunt::cli
