#include "engine/fit_by_file.h"

#include <algorithm>

#include "base/fail.h"

namespace shunt {

bool names_device(const PlacementFile& file, const std::string& device) {
  return std::ranges::any_of(file.lines,
                             [&](const PlacementLine& line) { return line.device == device; });
}

std::string line_that_is_too_much(const PlacementFile& file, const Graph& graph,
                                  const WantedOfDevice& wanted,
                                  const std::map<NodeId, std::uint64_t>& leaves) {
  std::uint64_t so_far = wanted.takes;
  for (const auto& [leaf, bytes] : leaves) so_far -= std::min(so_far, bytes);
  for (const PlacementLine& line : file.lines) {
    if (line.device != wanted.device || line.node >= graph.size()) continue;
    if (const auto leaf = leaves.find(line.node); leaf != leaves.end()) so_far += leaf->second;
    if (so_far <= wanted.usable) continue;
    return fmt::format("{}:{}: {} is too much: ", file.path, line.line, graph.describe(line.node));
  }
  return "";
}

}  // namespace shunt
