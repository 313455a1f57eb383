#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cli/report/explanation.h"
#include "cli/report/html/escape.h"
#include "cli/report/html/style.h"
#include "cli/report/sizes.h"
#include "shunt/message.h"

namespace shunt::cli {
namespace {

/// Writes the page piece by piece.
class Page {
 public:
  Page(const ExplanationTitle& title, const Explanation& explanation)
      : title_(title), explanation_(explanation) {
    timed_ = !explanation.segments.empty() &&
             std::all_of(explanation.segments.begin(), explanation.segments.end(),
                         [](const ExplainedSegment& segment) { return segment.when; });
    for (const ExplainedSegment& segment : explanation.segments) {
      // Without times boxes are in sequence. The width is the number of operations.
      const ExplainedTime order = {length_, length_ + static_cast<double>(segment.nodes.size())};
      bars_.push_back(timed_ ? *segment.when : order);
      length_ = std::max(length_, bars_.back().end);
    }
    for (const ExplainedSegment& segment : explanation.segments) add_copies(segment.transfers);
    add_copies(explanation.results);
  }

  std::string write() {
    const std::string model = escape_html(title_.model);
    add("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    add("<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n", model, kPageStyle);
    add("<h1>{}</h1>\n<p>A step of {}, context {}: {} in {}; {} fell back; {} copied between "
        "devices.</p>\n",
        model, counted(static_cast<std::size_t>(title_.tokens), "token"), title_.context,
        counted(explanation_.operations, "operation"),
        counted(explanation_.segments.size(), "segment"), explanation_.fell_back,
        format_bytes(explanation_.bytes_copied));
    if (explanation_.seconds) {
      add("<p>Predicted: {:.3f} ms per step, copies included ({}).</p>\n",
          *explanation_.seconds * 1e3, times_are(title_));
      if (title_.measured) list("", title_.times);
    }
    list("", explanation_.notes);
    timeline();
    device_table();
    segment_table();
    result_table();
    add("</body>\n</html>\n");
    return std::move(text_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  /// Adds transfers with times, by source and destination device.
  void add_copies(std::span<const ExplainedTransfer> transfers) {
    for (const ExplainedTransfer& transfer : transfers) {
      if (!timed_ || !transfer.when) continue;
      copies_[{transfer.from, transfer.to}].push_back(&transfer);
      length_ = std::max(length_, transfer.when->end);
    }
  }

  std::string name_of(int device) const {
    return escape_html(explanation_.devices[static_cast<std::size_t>(device)].name);
  }

  void timeline() {
    add("<h2>Timeline</h2>\n<p class=\"faint\">{} A coloured lower edge marks operations that "
        "fell back. A box links to its row below.</p>\n",
        timed_
            ? "Each device has a row, and so has each direction of copies between two devices. The "
              "horizontal axis is the predicted time of a step."
            : "Boxes are in execution order. The width of a box is its number of operations.");
    for (std::size_t i = 0; i < explanation_.devices.size(); ++i) {
      add("<div class=\"row\"><div class=\"label\">{}</div><div class=\"track\">\n",
          name_of(static_cast<int>(i)));
      for (std::size_t number = 0; number < explanation_.segments.size(); ++number) {
        if (explanation_.segments[number].device == static_cast<int>(i)) box(number);
      }
      add("</div></div>\n");
    }
    for (const auto& [way, transfers] : copies_) {
      add("<div class=\"row link\"><div class=\"label\">{} &rarr; {}</div><div class=\"track\">\n",
          name_of(way.first), name_of(way.second));
      for (const ExplainedTransfer* transfer : transfers) copy_box(*transfer);
      add("</div></div>\n");
    }
    if (timed_) {
      add("<div class=\"row axis faint\"><div class=\"label\"></div><span>0 ms</span>"
          "<span>{:.3f} ms</span></div>\n",
          length_ * 1e3);
    }
  }

  /// The position of a box in its row.
  std::string position(const ExplainedTime& when) const {
    const double percent = length_ > 0 ? 100 / length_ : 0;
    return fmt::format("left:{:.4f}%;width:{:.4f}%", when.start * percent,
                       (when.end - when.start) * percent);
  }
  static std::string from_to(const ExplainedTime& when) {
    return fmt::format("from {:.3f} to {:.3f} ms", when.start * 1e3, when.end * 1e3);
  }

  void box(std::size_t number) {
    const ExplainedSegment& segment = explanation_.segments[number];
    const bool is_host = segment.device + 1 == static_cast<int>(explanation_.devices.size());
    std::string details =
        fmt::format("segment {} on {}: {}, {}\n{}\n{} in, {} out", number,
                    explanation_.devices[static_cast<std::size_t>(segment.device)].name,
                    counted(segment.nodes.size(), "operation"), span_of(segment), segment.reason,
                    format_bytes(segment.bytes_in), format_bytes(segment.bytes_out));
    if (segment.seconds) details += fmt::format(", {:.3f} ms", *segment.seconds * 1e3);
    if (segment.when) details += ", " + from_to(*segment.when);
    for (const std::string& line : fallback_lines(explanation_, segment)) {
      details += "\nfell back: " + line;
    }
    add("<a class=\"box{}{}\" href=\"#segment-{}\" style=\"{}\" title=\"{}\"></a>\n",
        is_host ? " host" : "", segment.fell_back > 0 ? " fell-back" : "", number,
        position(bars_[number]), escape_html(details));
  }

  void copy_box(const ExplainedTransfer& transfer) {
    const std::string details = fmt::format("{}: {}, {}", transfer.name,
                                            format_bytes(transfer.bytes), from_to(*transfer.when));
    add("<span class=\"box copy\" style=\"{}\" title=\"{}\"></span>\n", position(*transfer.when),
        escape_html(details));
  }

  void device_table() {
    add("<h2>Devices</h2>\n<table>\n<thead><tr><th>device</th><th class=\"number\">operations</th>"
        "<th class=\"number\">segments</th><th class=\"number\">fell back here</th>"
        "<th class=\"number\">weights</th><th class=\"number\">cache</th>"
        "<th class=\"number\">in</th><th class=\"number\">out</th>{}</tr></thead>\n<tbody>\n",
        time_head());
    for (const ExplainedDevice& device : explanation_.devices) {
      add("<tr><td>{}</td>", escape_html(device.name));
      for (std::size_t number : {device.operations, device.segments, device.fell_back}) {
        add("<td class=\"number\">{}</td>", number);
      }
      for (std::uint64_t bytes :
           {device.weight_bytes, device.cache_bytes, device.bytes_in, device.bytes_out}) {
        add("<td class=\"number\">{}</td>", format_bytes(bytes));
      }
      add("{}</tr>\n", time_cell(device.seconds));
    }
    add("</tbody>\n</table>\n");
    list("", title_.memory);
    list("transcoded: ", to_lines(explanation_.transcoded));
  }

  // A column that is there only if times are known.
  std::string_view time_head() const { return timed_ ? "<th class=\"number\">predicted</th>" : ""; }
  std::string time_cell(const std::optional<double>& seconds) const {
    if (!timed_) return {};
    return fmt::format("<td class=\"number\">{:.3f} ms</td>", seconds.value_or(0) * 1e3);
  }

  void segment_table() {
    add("<h2>Segments</h2>\n<table>\n<thead><tr><th class=\"number\">#</th><th>device</th>"
        "<th>reason of the start, and operations</th><th>copied to it</th>"
        "<th class=\"number\">out</th>{}</tr></thead>\n<tbody>\n",
        time_head());
    for (std::size_t i = 0; i < explanation_.segments.size(); ++i) segment_row(i);
    add("</tbody>\n</table>\n");
  }

  void segment_row(std::size_t number) {
    const ExplainedSegment& segment = explanation_.segments[number];
    add("<tr id=\"segment-{0}\"><td class=\"number\">{0}</td><td>{1}</td><td>{2}\n", number,
        name_of(segment.device), escape_html(segment.reason));
    add("<details><summary>{}: {}</summary>\n<ul>\n", counted(segment.nodes.size(), "operation"),
        escape_html(span_of(segment)));
    for (const ExplainedNode& node : segment.nodes) {
      add("<li>{} <span class=\"faint\">{}</span></li>\n", escape_html(node.name),
          escape_html(node.reason));
    }
    add("</ul>\n</details>\n");
    list("fell back: ", fallback_lines(explanation_, segment));
    add("</td><td>{}", format_bytes(segment.bytes_in));
    std::vector<std::string> lines;
    for (const ExplainedTransfer& transfer : segment.transfers) {
      // A transfer that is not to the segment is to the host: the ids of experts to copy.
      const bool in = transfer.to == segment.device;
      const auto& to = explanation_.devices[static_cast<std::size_t>(transfer.to)].name;
      lines.push_back(fmt::format("{}{}, {}{}", transfer.name, in ? "" : " to " + to,
                                  format_bytes(transfer.bytes),
                                  transfer.when ? ", " + from_to(*transfer.when) : ""));
    }
    list("", lines);
    add("</td><td class=\"number\">{}</td>{}</tr>\n", format_bytes(segment.bytes_out),
        time_cell(segment.seconds));
  }

  void list(std::string_view label, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    add("<ul>\n");
    for (const std::string& line : lines) add("<li>{}{}</li>\n", label, escape_html(line));
    add("</ul>\n");
  }

  void result_table() {
    if (explanation_.results.empty()) return;
    add("<h2>Results</h2>\n<table>\n<thead><tr><th>result</th><th>from</th><th>to</th>"
        "<th class=\"number\">copied</th></tr></thead>\n<tbody>\n");
    for (const ExplainedTransfer& transfer : explanation_.results) {
      add("<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"number\">{}</td></tr>\n",
          escape_html(transfer.name), name_of(transfer.from), name_of(transfer.to),
          format_bytes(transfer.bytes));
    }
    add("</tbody>\n</table>\n");
  }

  const ExplanationTitle& title_;
  const Explanation& explanation_;
  bool timed_ = false;               // whether every segment has a predicted time
  double length_ = 0;                // of the timeline, in seconds or operations
  std::vector<ExplainedTime> bars_;  // by segment
  std::map<std::pair<int, int>, std::vector<const ExplainedTransfer*>> copies_;  // by way
  std::string text_;
};

}  // namespace

std::string to_html(const ExplanationTitle& title, const Explanation& explanation) {
  return Page(title, explanation).write();
}

}  // namespace shunt::cli
