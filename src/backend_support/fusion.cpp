#include "backend_support/fusion.h"

#include "backend_support/node_launch.h"
#include "ops/elementwise/elementwise.h"
#include "ops/norm/norm.h"

namespace shunt {

NodeId Surroundings::only_reader(NodeId id, const Op& op) const {
  const std::span<const NodeId> readers = this->readers(id);
  const bool one = readers.size() == 1 && !segment_.live_out[id];
  return one && node(readers[0]).op == &op ? readers[0] : kNoNode;
}

bool Surroundings::may_fuse(const FusedGroup& group) const {
  const auto is_inside = [&](NodeId id) { return std::ranges::count(group.inside, id) > 0; };
  if (!users_.contains(group.last)) return false;
  for (const NodeId id : group.inside) {
    if (!users_.contains(id) || segment_.live_out[id] || id > group.last) return false;
    for (const NodeId reader : readers(id)) {
      if (is_inside(reader) || reader == group.last) continue;
      if (id != group.written || reader < group.last) return false;
    }
    for (const NodeId source : node(id).sources) {
      if (source == kNoNode || is_inside(source)) continue;
      if (users_.writes(node(source).storage, id + 1, group.last)) return false;
    }
  }
  return std::ranges::none_of(group.sources, [&](NodeId source) {
    // A view of a result of the group exists too late, or not at all.
    return source != kNoNode && is_inside(node(source).storage);
  });
}

std::optional<FusedGroup> with_row(const Surroundings& around, NodeId id, const Op& op) {
  const NodeId reader = around.only_reader(id, op);
  if (reader == kNoNode || around.node(reader).sources[0] != id) return {};
  const NodeId row = around.node(reader).sources[1];
  const Shape& shape = around.node(row).result.shape;
  if (row == id || shape[0] != around.node(id).result.shape[0]) return {};
  if (element_count(shape) != shape[0].max) return {};
  std::vector<NodeId> sources = around.node(id).sources;
  sources.push_back(row);
  return FusedGroup{.asked = id, .last = reader, .inside = {id}, .sources = std::move(sources)};
}

std::optional<FusedGroup> norm_and_scale(const Surroundings& around, NodeId norm) {
  if (around.node(norm).op != &rms_norm_op()) return {};
  return with_row(around, norm, mul_op());
}

std::optional<FusedGroup> sum_norm_and_scale(const Surroundings& around, NodeId sum) {
  const Node& node = around.node(sum);
  if (node.op != &add_op()) return {};
  const NodeId a = node.sources[0], b = node.sources[1];
  if (around.node(a).result.shape != around.node(b).result.shape) return {};
  for (const NodeId norm : around.readers(sum)) {
    if (around.node(norm).sources[0] != sum) continue;
    std::optional<FusedGroup> group = norm_and_scale(around, norm);
    if (!group) continue;
    group->inside.push_back(sum);
    group->sources = {a, b, group->sources[1]};
    group->written = sum;
    group->in_place = 0;
    return group;
  }
  return {};
}

void add_fused(const Graph& graph, const FusedGroup& group, Needs& needs) {
  for (const NodeId id : group.inside) {
    needs.fused.push_back({id, group.last, id == group.written});
  }
  if (group.written != kNoNode) add_in_place(graph, group.written, group.in_place, needs);
}

}  // namespace shunt
