#include "backends/cpu/fusion.h"

#include <algorithm>

#include "backends/cpu/interleaved_memory.h"

namespace shunt::cpu {

Surroundings::Surroundings(const SegmentView& segment)
    : segment_(segment), readers_(segment.graph.size()), here_(segment.graph.size()) {
  for (const NodeId id : segment.nodes) here_[id] = true;
  for (NodeId id = 0; id < graph().size(); ++id) {
    if (node(id).is_leaf() || node(id).op->info().storage == Storage::kView) continue;
    for (const NodeId source : node(id).sources) {
      if (source == kNoNode) continue;
      std::vector<NodeId>& readers = readers_[node(source).storage];
      if (readers.empty() || readers.back() != id) readers.push_back(id);
    }
  }
}

NodeId Surroundings::only_reader(NodeId id, const Op& op) const {
  const auto& readers = readers_[id];
  return readers.size() == 1 && node(readers[0]).op == &op ? readers[0] : kNoNode;
}

/// Whether all are computed here, nobody else asks for a result before it is there, or that is
/// nowhere, and what they read is still what it was when the last one is computed.
bool Surroundings::may_fuse(const Fused& fused) const {
  const auto is_inside = [&](NodeId id) { return std::ranges::count(fused.inside, id) > 0; };
  if (!here_[fused.last]) return false;
  for (const NodeId id : fused.inside) {
    if (!here_[id] || segment_.kept[id] || id > fused.last) return false;
    for (const NodeId reader : readers_[id]) {
      if (is_inside(reader) || reader == fused.last) continue;
      if (id != fused.written || reader < fused.last) return false;
    }
    for (const NodeId source : node(id).sources) {
      if (source == kNoNode) continue;
      const NodeId storage = node(source).storage;
      if (is_inside(source)) continue;
      for (NodeId other = id + 1; other <= fused.last; ++other) {
        if (node(other).writes_storage && node(other).storage == storage) return false;
      }
    }
  }
  for (std::size_t i = 0; i < fused.sources.size(); ++i) {
    const NodeId source = fused.sources[i];
    if (source == kNoNode) continue;
    // A view of what is computed here is there too late, or nowhere.
    if (is_inside(node(source).storage)) return false;
    if (is_interleaved(segment_, source) && !fused.kernel->reads_interleaved(i)) return false;
  }
  return true;
}

Fusions::Fusions(const SegmentView& segment, std::span<const Pattern> patterns)
    : inside_(segment.graph.size()) {
  const Surroundings around(segment);
  for (const Pattern pattern : patterns) {
    for (const NodeId first : segment.nodes) {
      const std::optional<Fused> fused = pattern(around, first);
      if (!fused || !around.may_fuse(*fused)) continue;
      const auto taken = [&](NodeId id) { return inside_[id] || ending_at(id) != nullptr; };
      if (taken(fused->last) || std::ranges::any_of(fused->inside, taken)) continue;
      for (const NodeId id : fused->inside) inside_[id] = true;
      fused_.push_back(*fused);
    }
  }
}

const Fused* Fusions::ending_at(NodeId id) const {
  const auto found = std::ranges::find(fused_, id, &Fused::last);
  return found == fused_.end() ? nullptr : &*found;
}

}  // namespace shunt::cpu
