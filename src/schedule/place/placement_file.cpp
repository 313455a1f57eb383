// Placements as text: a line a node, `ID NAME OP DEVICE # REASON`. A name that is not a plain word
// is in double quotes, with \xNN for bytes that can't be printed; "-" means no name. The device of
// a view is "=": it is where its memory is.
#include <algorithm>
#include <charconv>
#include <map>

#include "graph/op.h"
#include "graph/storage_users.h"
#include "schedule/place/placement_words.h"
#include "shunt/explain.h"
#include "shunt/message.h"

namespace shunt {

namespace {

constexpr std::size_t kMaxPlacementFileBytes = std::size_t{256} << 20;
constexpr std::string_view kHeader = "# shunt placement 1";
constexpr std::string_view kNoName = "-";

/// A comment must end where its line ends.
std::string one_line(std::string text) {
  for (char& each : text) {
    if (static_cast<unsigned char>(each) < 0x20 || each == 0x7f) each = ' ';
  }
  return text;
}

/// Columns as wide as their longest word, up to a limit.
using Row = std::array<std::string, 4>;
std::array<std::size_t, 4> widths_of(const std::vector<Row>& rows) {
  constexpr std::size_t kWidest = 40;
  std::array<std::size_t, 4> widths = {};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], std::min(row[i].size(), kWidest));
    }
  }
  return widths;
}

class Reader {
 public:
  Reader(std::string_view text, std::string path) : text_(text) { file_.path = std::move(path); }

  Result<PlacementFile> read() {
    if (text_.size() > kMaxPlacementFileBytes)
      return bad("the file is too large to be a placement");
    while (!text_.empty()) {
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      std::string_view line = text_.substr(0, end);
      text_.remove_prefix(std::min(end + 1, text_.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      ++number_;
      if (number_ == 1 && line != kHeader) {
        return bad(fmt::format("the first line must be \"{}\"", kHeader));
      }
      SHUNT_TRY(read_line(line));
    }
    if (number_ == 0) {
      return bad(fmt::format("the file is empty; a placement starts with \"{}\"", kHeader));
    }
    return std::move(file_);
  }

 private:
  Error bad(std::string_view what) const {
    // Before the first line it is about the file.
    const std::string line = number_ == 0 ? "" : fmt::format(":{}", number_);
    return fail(ErrorCode::kBadFile, "{}{}: {}", file_.path, line, what);
  }

  Status read_line(std::string_view line) {
    auto words = split_words(line);
    if (!words) return bad(words.error().message());
    if (words->empty()) return ok();
    if (words->size() != 4) {
      return bad(fmt::format("a line has four words before its comment, ID NAME OP DEVICE, not {}",
                             words->size()));
    }
    PlacementLine made;
    made.line = number_;
    const std::string& id = (*words)[0].text;
    const auto [stop, error] = std::from_chars(id.data(), id.data() + id.size(), made.node);
    if (error != std::errc() || stop != id.data() + id.size() || made.node == kNoNode) {
      return bad(fmt::format("{} is not the number of a node", quote_word(id)));
    }
    const auto [known, is_new] = lines_.emplace(made.node, number_);
    if (!is_new) {
      return bad(fmt::format("node {} is in line {} already", made.node, known->second));
    }
    const Word& name = (*words)[1];
    if (name.quoted || name.text != kNoName) made.name = name.text;
    made.op = (*words)[2].text;
    made.device = (*words)[3].text;
    file_.lines.push_back(std::move(made));
    return ok();
  }

  std::string_view text_;
  std::size_t number_ = 0;
  std::map<NodeId, std::size_t> lines_;  // by node: its line
  PlacementFile file_;
};

}  // namespace

std::string op_word(const Node& node) {
  std::string word(node.is_leaf() ? to_string(node.role) : node.op->info().name);
  std::replace(word.begin(), word.end(), ' ', '-');
  return word;
}

std::string write_placement(const Graph& graph, const Placement& placement,
                            std::span<const std::string> notes) {
  std::string text = fmt::format("{}\n", kHeader);
  for (const std::string& note : notes) text += fmt::format("# {}\n", one_line(note));
  const DeviceSpan<Device* const> devices(placement.devices);
  std::vector<Row> rows = {{"# node", "name", "op", "device"}};
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    const bool is_view = !node.is_leaf() && !is_computed(node);
    const Device& device = *devices[placement.decisions[id].device];
    rows.push_back({fmt::format("{}", id),
                    node.name.empty() ? std::string(kNoName) : quote_word(node.name), op_word(node),
                    is_view ? "=" : quote_word(device.name())});
  }
  const auto widths = widths_of(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {:<{}}  ", row[0], widths[0], row[1], widths[1],
                        row[2], widths[2], row[3], widths[3]);
    if (i == 0) {
      text += placement.predicted_seconds > 0 ? "# bytes, predicted time, and why\n"
                                              : "# bytes, and why\n";
      continue;
    }
    const auto id = static_cast<NodeId>(i - 1);
    const Decision& decision = placement.decisions[id];
    const std::string time =
        placement.predicted_seconds > 0 ? fmt::format("{:.1f} us, ", decision.seconds * 1e6) : "";
    text += fmt::format("# {}, {}{}: {}\n", byte_span(graph.node(id).result), time,
                        to_string(decision.rule), one_line(decision.reason));
  }
  return text;
}

Result<PlacementFile> read_placement(std::string_view text, std::string path) {
  return Reader(text, std::move(path)).read();
}

std::vector<PlacementChange> compare_placements(const PlacementFile& before,
                                                const PlacementFile& after) {
  // By node, name and op: where it was, where it is.
  std::map<std::tuple<NodeId, std::string, std::string>, std::pair<std::string, std::string>> all;
  for (const PlacementLine& line : before.lines) {
    all[{line.node, line.name, line.op}].first = line.device;
  }
  for (const PlacementLine& line : after.lines) {
    all[{line.node, line.name, line.op}].second = line.device;
  }
  std::vector<PlacementChange> changes;
  for (const auto& [key, devices] : all) {
    if (devices.first == devices.second) continue;
    const auto& [node, name, op] = key;
    changes.push_back({node, name, op, devices.first, devices.second});
  }
  return changes;
}

std::string to_line(const PlacementChange& change) {
  const auto device = [](const std::string& name) {
    return name.empty() ? std::string("(not there)") : name == "=" ? name : quote_word(name);
  };
  return fmt::format("{}  {}  {}  {} -> {}", change.node,
                     change.name.empty() ? "-" : quote_word(change.name), quote_word(change.op),
                     device(change.before), device(change.after));
}

}  // namespace shunt
