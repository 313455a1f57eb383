// A graph made again, node by node, with values in parts as far as ops allow.
#include "shunt/parts.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/copy_leaf.h"
#include "graph/op.h"
#include "graph/storage_users.h"
#include "ops/cut_rules.h"
#include "shunt/message.h"
#include "shunt/ops.h"

namespace shunt {

namespace {

/// A value of the graph before, in the new graph: whole, in parts, or both.
struct Form {
  NodeId whole = kNoNode;
  std::optional<TensorSplit> cut;  // of `parts`
  std::vector<NodeId> parts;       // none: it is not cut
};

std::string part_name(const std::string& name, std::size_t part) {
  return name.empty() ? name : fmt::format("{}/{}", name, part);
}

class Splitter {
 public:
  explicit Splitter(const Graph& graph)
      : graph_(graph), forms_(graph.size()), wanted_(graph.size()), writing_(graph.size()) {
    for (NodeId id = 0; id < graph.size(); ++id) {
      const Node& node = graph.node(id);
      if (!node.writes_storage) continue;
      Writing& writing = writing_[node.storage];
      const NodeId first = node.sources[0];
      const bool all_of_it = first == node.storage || graph.node(first).writes_storage;
      writing.any = true;
      writing.rows_only = writing.rows_only && node.op == &set_rows_op() && all_of_it;
    }
  }

  Status want(const LeafParts& parts) {
    SHUNT_TRY(check(parts));
    if (parts.sizes.size() > 1) {
      wanted_[parts.leaf] = TensorSplit{static_cast<std::size_t>(parts.dim), parts.sizes};
    }
    return ok();
  }

  Result<PartedGraph> run() && {
    SHUNT_TRY(copy_dynamic_dims(g_, graph_));
    for (NodeId id = 0; id < graph_.size(); ++id) {
      SHUNT_TRY(graph_.node(id).is_leaf() ? add_leaf(id) : add_node(id));
    }
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (graph_.node(id).is_leaf() && !forms_[id].cut) SHUNT_TRY(whole(id));  // an unused cache
    }
    std::vector<NodeId> outputs;
    for (NodeId id : graph_.outputs()) {
      SHUNT_ASSIGN(const NodeId made, whole(id));
      outputs.push_back(made);
    }
    lanes_.resize(g_.graph().size(), kWhole);
    std::vector<NodeId> now(g_.graph().size(), kNoNode);
    GraphBuilder sorted;
    SHUNT_TRY(copy_dynamic_dims(sorted, graph_));
    for (NodeId id : sorted_by_part()) {
      SHUNT_ASSIGN(now[id], copy_node(sorted, g_.graph().node(id), now));
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      SHUNT_TRY(sorted.output(Value{now[outputs[i]]}, graph_.node(graph_.outputs()[i]).name));
    }
    PartedGraph made;
    for (Form& form : forms_) {
      made.nodes.push_back(form.whole == kNoNode ? kNoNode : now[form.whole]);
      for (NodeId& part : form.parts) part = now[part];
      made.parts.push_back(std::move(form.parts));
    }
    SHUNT_ASSIGN(made.graph, std::move(sorted).build());
    return made;
  }

 private:
  /// Who writes into an owner's memory.
  struct Writing {
    bool any = false;
    bool rows_only = true;  // only set_rows() into all of it
  };

  static constexpr int kWhole = -1;

  /// Says which part a new node belongs to: it reads nodes of that part and whole ones only.
  void put_in_lane(NodeId made, std::size_t part) {
    lanes_.resize(made + std::size_t{1}, kWhole);
    lanes_[made] = static_cast<int>(part);
  }

  /// The new nodes, with those of each part side by side as far as no whole node is between them:
  /// so a device computes many at once.
  std::vector<NodeId> sorted_by_part() const {
    std::vector<NodeId> order(g_.graph().size());
    std::iota(order.begin(), order.end(), NodeId{0});
    const auto is_whole = [&](NodeId id) { return lanes_[id] == kWhole; };
    const auto by_part = [&](NodeId id) { return std::pair(lanes_[id], id); };
    for (auto first = order.begin(); first != order.end();) {
      const auto last = std::find_if(first, order.end(), is_whole);
      std::ranges::sort(first, last, {}, by_part);
      first = std::find_if_not(last, order.end(), is_whole);
    }
    return order;
  }

  /// `now`: the numbers of nodes that were copied before.
  static Result<NodeId> copy_node(GraphBuilder& g, const Node& node, std::span<const NodeId> now) {
    if (node.is_leaf()) {
      SHUNT_ASSIGN(const Value leaf, copy_leaf(g, node, node.name, node.result));
      return leaf.id;
    }
    std::vector<NodeId> sources;
    sources.reserve(node.sources.size());
    for (NodeId source : node.sources) sources.push_back(source == kNoNode ? kNoNode : now[source]);
    const auto made = g.apply(*node.op, node.params, std::span<const NodeId>(sources));
    SHUNT_TRY(g.name(made, node.name));
    return made->id;
  }

  Status check(const LeafParts& parts) const {
    const auto refuse = [&](std::string_view why) {
      return invalid("{} can't be split: {}", graph_.describe(parts.leaf), why);
    };
    if (parts.leaf >= graph_.size() || !is_weight(graph_.node(parts.leaf).role)) {
      return refuse("it is not a weight");
    }
    if (wanted_[parts.leaf]) return refuse("it is named twice");
    if (parts.dim < 0 || parts.dim >= kMaxDims) {
      return refuse(fmt::format("there is no dimension {}", parts.dim));
    }
    const Tensor& tensor = graph_.node(parts.leaf).result;
    const Dim& dim = tensor.shape[static_cast<std::size_t>(parts.dim)];
    if (!dim.is_fixed())
      return refuse(fmt::format("dimension {} is a dynamic dimension", parts.dim));
    const std::int64_t unit = parts.dim == 0 ? trait(tensor.dtype).block_elements : 1;
    std::int64_t left = dim.max;
    for (std::size_t i = 0; i < parts.sizes.size(); ++i) {
      const std::int64_t size = parts.sizes[i];
      if (size < 1) {
        return refuse(
            fmt::format("part {} has {} elements along dimension {}", i, size, parts.dim));
      }
      if (size % unit != 0) {
        return refuse(fmt::format(
            "part {} has {} elements along dimension 0, which are not whole blocks of {} ({})", i,
            size, to_string(tensor.dtype), unit));
      }
      if (size > left || (i + 1 == parts.sizes.size() && size < left))
        return does_not_add_up(parts);
      left -= size;
    }
    return parts.sizes.empty() ? does_not_add_up(parts) : ok();
  }

  Status does_not_add_up(const LeafParts& parts) const {
    std::string sizes;
    for (const std::int64_t size : parts.sizes) {
      sizes += fmt::format("{}{}", sizes.empty() ? "" : " + ", size);
    }
    return invalid(
        "{} can't be split: its parts have {} elements along dimension {}, but it has {}",
        graph_.describe(parts.leaf), sizes.empty() ? "no" : sizes, parts.dim,
        graph_.node(parts.leaf).result.size(parts.dim));
  }

  /// A cache waits until it is used first: rows that are written into it may be cut.
  Status add_leaf(NodeId id) {
    if (wanted_[id]) return cut_leaf(id, *wanted_[id]);
    if (graph_.node(id).role != Role::kCache) SHUNT_TRY(whole(id));
    return ok();
  }

  Status cut_leaf(NodeId id, const TensorSplit& cut) {
    const Node& node = graph_.node(id);
    Form& form = forms_[id];
    for (std::size_t i = 0; i < cut.sizes.size(); ++i) {
      Shape shape = node.result.shape;
      shape[cut.dim] = cut.sizes[i];
      SHUNT_ASSIGN(const Tensor tensor, make_tensor(node.result.dtype, shape));
      SHUNT_ASSIGN(const Value part, copy_leaf(g_, node, part_name(node.name, i), tensor));
      put_in_lane(part.id, i);
      form.parts.push_back(part.id);
    }
    form.cut = cut;
    return ok();
  }

  /// Cuts the cache that a node is the first to write, if the rows that it writes are cut.
  Status cut_cache(const Node& node) {
    if (node.op != &set_rows_op()) return ok();
    const NodeId cache = node.sources[0];
    const Form& rows = forms_[node.sources[1]];
    const bool is_new = graph_.node(cache).role == Role::kCache && graph_.node(cache).is_leaf() &&
                        forms_[cache].whole == kNoNode && !forms_[cache].cut;
    if (!is_new || !writing_[cache].rows_only || !rows.cut || rows.cut->dim != 0) return ok();
    const std::int64_t block = trait(graph_.node(cache).result.dtype).block_elements;
    const auto in_blocks = [&](std::int64_t size) { return size % block == 0; };
    if (!std::ranges::all_of(rows.cut->sizes, in_blocks)) return ok();
    return cut_leaf(cache, *rows.cut);
  }

  /// Whether something writes into the memory of a value, so that all who see it must see one
  /// memory. A cache that is cut is seen in parts by all.
  bool is_overwritten(NodeId id) const {
    const NodeId owner = graph_.node(id).storage;
    return writing_[owner].any && !(graph_.node(owner).is_leaf() && forms_[owner].cut);
  }

  Result<NodeId> named(const Result<Value>& made, const std::string& name) {
    if (!made) return Error(made.error());
    if (!name.empty()) SHUNT_TRY(g_.name(made, name));
    return made->id;
  }

  /// The whole of a value: made when it is asked for.
  Result<NodeId> whole(NodeId id) {
    Form& form = forms_[id];
    const Node& node = graph_.node(id);
    if (form.whole != kNoNode) return form.whole;
    NodeId made = kNoNode;
    if (!form.cut) {
      SHUNT_ASSIGN(made, named(copy_leaf(g_, node, node.name, node.result), node.name));
    } else {
      Result<Value> joined = Value{form.parts.front()};
      for (std::size_t i = 1; i < form.parts.size(); ++i) {
        joined = concat(g_, joined, Value{form.parts[i]}, static_cast<int>(form.cut->dim));
      }
      SHUNT_ASSIGN(made, named(joined, node.name));
    }
    // A joined value does not see later writes.
    if (!form.cut || !writing_[node.storage].any) form.whole = made;
    return made;
  }

  /// Part `part` of a value that is to be cut in a certain way.
  Result<NodeId> part_of(NodeId id, const TensorSplit& cut, std::size_t part) {
    const Form& form = forms_[id];
    if (form.cut == cut) return form.parts[part];
    SHUNT_ASSIGN(const NodeId all, whole(id));
    ViewParams window;
    window.shape = graph_.node(id).result.shape;
    window.shape[cut.dim] = cut.sizes[part];
    for (std::size_t i = 0; i < part; ++i) window.start[cut.dim] += cut.sizes[i];
    SHUNT_ASSIGN(const Value seen, view(g_, Value{all}, window.start, window.shape));
    put_in_lane(seen.id, part);
    return seen.id;
  }

  Status add_node(NodeId id) {
    const Node& node = graph_.node(id);
    SHUNT_TRY(cut_cache(node));
    std::vector<const TensorSplit*> cuts;
    for (NodeId source : node.sources) {
      const bool is_cut = source != kNoNode && forms_[source].cut.has_value();
      cuts.push_back(is_cut ? &*forms_[source].cut : nullptr);
    }
    const bool any =
        std::ranges::any_of(cuts, [](const TensorSplit* cut) { return cut != nullptr; });
    const auto parts = any ? in_parts(graph_, node, cuts) : std::nullopt;
    return parts ? add_in_parts(id, *parts) : add_whole(id);
  }

  Status add_whole(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<NodeId> sources;
    for (NodeId source : node.sources) {
      sources.push_back(kNoNode);
      if (source == kNoNode) continue;
      SHUNT_ASSIGN(sources.back(), whole(source));
    }
    SHUNT_ASSIGN(
        forms_[id].whole,
        named(g_.apply(*node.op, node.params, std::span<const NodeId>(sources)), node.name));
    return ok();
  }

  Status add_in_parts(NodeId id, const NodeInParts& how) {
    const Node& node = graph_.node(id);
    const auto& of_first = how.sources[0];
    Form& form = forms_[id];
    for (std::size_t part = 0; part < of_first->sizes.size(); ++part) {
      std::vector<NodeId> sources;
      for (std::size_t i = 0; i < node.sources.size(); ++i) {
        const NodeId source = node.sources[i];
        sources.push_back(kNoNode);
        if (source == kNoNode) continue;
        SHUNT_ASSIGN(sources.back(),
                     how.sources[i] ? part_of(source, *how.sources[i], part) : whole(source));
      }
      const Params& params = how.params.empty() ? node.params : how.params[part];
      SHUNT_ASSIGN(const NodeId made,
                   named(g_.apply(*node.op, params, std::span<const NodeId>(sources)),
                         part_name(node.name, part)));
      put_in_lane(made, part);
      form.parts.push_back(made);
    }
    if (!how.result) return add_up(id);
    form.cut = how.result;
    if (!is_overwritten(id)) return ok();
    // The copy is the value's memory from now on.
    Form joined;
    SHUNT_ASSIGN(joined.whole, whole(id));
    form = std::move(joined);
    return ok();
  }

  /// The sum of the parts' results, which is the whole one.
  Status add_up(NodeId id) {
    Form& form = forms_[id];
    Result<Value> sum = Value{form.parts.front()};
    for (std::size_t i = 1; i < form.parts.size(); ++i) sum = add(g_, sum, Value{form.parts[i]});
    SHUNT_ASSIGN(form.whole, named(sum, graph_.node(id).name));
    form.parts.clear();
    return ok();
  }

  const Graph& graph_;
  GraphBuilder g_;
  std::vector<Form> forms_;                         // by node
  std::vector<std::optional<TensorSplit>> wanted_;  // by leaf
  std::vector<Writing> writing_;                    // by owner of memory
  std::vector<int> lanes_;                          // by new node: its part, or kWhole
};

}  // namespace

Result<PartedGraph> with_parts(const Graph& graph, std::span<const LeafParts> parts) {
  Splitter splitter(graph);
  for (const LeafParts& each : parts) SHUNT_TRY(splitter.want(each));
  return std::move(splitter).run();
}

}  // namespace shunt
