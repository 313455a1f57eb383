#include "engine/load/fit_by_file.h"

#include <algorithm>
#include <span>
#include <vector>

#include "shunt/message.h"

namespace shunt {

bool names_device(const PlacementFile& file, const std::string& device) {
  return std::ranges::any_of(file.lines,
                             [&](const PlacementLine& line) { return line.device == device; });
}

namespace {

using LeafSizes = std::map<NodeId, std::uint64_t>;

/// The weight or cache with which more than `room` bytes are taken; null if there is none.
const PlacementLine* first_without_room(std::span<const PlacementLine* const> lines,
                                        const LeafSizes& leaves, std::uint64_t room) {
  std::uint64_t so_far = 0;
  for (const PlacementLine* line : lines) {
    const auto leaf = leaves.find(line->node);
    if (leaf == leaves.end()) continue;
    so_far += leaf->second;
    if (so_far > room) return line;
  }
  return nullptr;
}

/// The largest result of lines that are not such weights or caches; null if there is none.
const PlacementLine* largest_result(std::span<const PlacementLine* const> lines,
                                    const LeafSizes& leaves, const Graph& graph) {
  const PlacementLine* largest = nullptr;
  std::int64_t most = 0;
  for (const PlacementLine* line : lines) {
    const std::int64_t bytes = byte_span(graph.node(line->node).result);
    if (leaves.contains(line->node) || bytes <= most) continue;
    largest = line;
    most = bytes;
  }
  return largest;
}

}  // namespace

std::string line_that_is_too_much(const PlacementFile& file, const Graph& graph,
                                  const WantedOfDevice& wanted, const LeafSizes& leaves) {
  std::vector<const PlacementLine*> lines;
  for (const PlacementLine& line : file.lines) {
    if (line.device == wanted.device && line.node < graph.size()) lines.push_back(&line);
  }
  std::uint64_t others = wanted.takes;
  for (const auto& [leaf, bytes] : leaves) others -= std::min(others, bytes);
  const PlacementLine* line = others > wanted.usable
                                  ? largest_result(lines, leaves, graph)
                                  : first_without_room(lines, leaves, wanted.usable - others);
  if (line == nullptr) return "";
  return fmt::format("{}:{}: {} is too much: ", file.path, line->line, graph.describe(line->node));
}

}  // namespace shunt
