#include "shunt/gradients.h"

#include <algorithm>
#include <map>
#include <optional>

#include "graph/gradient.h"
#include "graph/overlap.h"
#include "ops/common/backward.h"
#include "ops/data/data.h"
#include "ops/elementwise/elementwise.h"
#include "shunt/message.h"

namespace shunt {

namespace {

bool is_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

/// The later writes into the memory of a value of a graph.
class Overwrites {
 public:
  explicit Overwrites(const Graph& graph) : graph_(graph) {
    for (NodeId id = 0; id < graph.size(); ++id) {
      if (graph.node(id).writes_storage) writers_[graph.node(id).storage].push_back(id);
    }
  }
  /// Calls f(writer) for each node that writes into the memory that `value` sees, after it and
  /// before `end`.
  template <class F>
  void between(NodeId value, NodeId end, F f) const {
    const Node& seen = graph_.node(value);
    const auto found = writers_.find(seen.storage);
    if (found == writers_.end()) return;
    for (const NodeId writer : found->second) {
      const Node& written = graph_.node(writer);
      if (writer <= value || writer >= end) continue;
      if (overlap({seen.result, seen.offset}, {written.result, written.offset})) f(writer);
    }
  }

 private:
  const Graph& graph_;
  std::map<NodeId, std::vector<NodeId>> writers_;  ///< by storage, in order
};

/// The way back from a loss to parameters.
class Walk {
 public:
  Walk(GraphBuilder& g, Value loss, std::span<const Value> parameters)
      : g_(g), wanted_(loss.id + 1), gradients_(loss.id + 1) {
    for (const Value parameter : parameters) {
      if (parameter.id <= loss.id) wanted_[parameter.id] = true;
    }
    for (NodeId id = 0; id <= loss.id; ++id) {
      if (is_constant(id)) continue;
      for (const NodeId source : node(id).sources)
        wanted_[id] = wanted_[id] || needs_gradient(source);
    }
  }

  /// Whether a value depends on a parameter in a way that can be differentiated.
  bool needs_gradient(NodeId id) const {
    return id != kNoNode && id < wanted_.size() && wanted_[id];
  }
  std::optional<Value> gradient(NodeId id) const {
    return id < gradients_.size() ? gradients_[id] : std::nullopt;
  }
  GraphBuilder& graph() { return g_; }

  Status run();
  /// Adds to the gradient by a value.
  Status add_to(NodeId id, Operand dx);

 private:
  const Node& node(NodeId id) const { return g_.graph().node(id); }
  bool differentiates(NodeId id) const {
    return std::ranges::any_of(node(id).sources,
                               [&](NodeId source) { return needs_gradient(source); });
  }
  /// Whole numbers don't change with the values that they are computed from, nor do empty tensors.
  bool is_constant(NodeId id) const {
    const Tensor& result = node(id).result;
    return trait(result.dtype).integer || element_count(result.shape) == 0;
  }

  GraphBuilder& g_;
  std::vector<bool> wanted_;
  std::vector<std::optional<Value>> gradients_;
};

/// One node of a walk.
class Step final : public Backward {
 public:
  Step(Walk& walk, NodeId id, Value dy)
      : Backward(walk.graph()), walk_(walk), node_(g.graph().node(id)), y_{id}, dy_(dy) {
    for (const NodeId source : node_.sources) given_.push_back(!walk.needs_gradient(source));
  }

  Value dy() const override { return dy_; }
  Value y() const override { return y_; }
  Value source(std::size_t i) const override { return {node_.sources[i]}; }
  bool needs_gradient(std::size_t i) const override {
    return walk_.needs_gradient(node_.sources[i]);
  }

  Status add_gradient(std::size_t i, Operand dx) override {
    if (!dx) return Error(dx.error());
    if (!needs_gradient(i)) return ok();
    given_[i] = true;
    return walk_.add_to(node_.sources[i], dx);
  }
  Status add_zero_gradient(std::size_t i) override {
    given_[i] = true;
    return ok();
  }

  Status run() {
    SHUNT_TRY(node_.op->gradient(*this, node_.params));
    for (std::size_t i = 0; i < given_.size(); ++i) {
      if (given_[i]) continue;
      return fail(ErrorCode::kUnsupported, "its gradient rule has no gradient by {}",
                  node_.op->info().sources[i]);
    }
    return ok();
  }

 private:
  Walk& walk_;
  const Node node_;  // a copy: the graph grows
  Value y_;
  Value dy_;
  std::vector<bool> given_;
};

Status Walk::add_to(NodeId id, Operand dx) {
  if (!dx) return Error(dx.error());
  const Tensor found = g_.tensor(*dx);
  const Tensor wanted = node(id).result;
  if (found.dtype != DType::kF32 || found.shape != wanted.shape) {
    return fail(ErrorCode::kInternal, "a gradient rule gives {} for {}", to_string(found),
                to_string(wanted));
  }
  const Result<Value> sum = gradients_[id] ? add(g_, *gradients_[id], dx) : dx;
  if (!sum) return Error(sum.error());
  gradients_[id] = *sum;
  return ok();
}

Status Walk::run() {
  const auto loss = static_cast<NodeId>(wanted_.size() - 1);
  if (!wanted_[loss]) return ok();
  SHUNT_TRY(add_to(loss, fill(g_, {1}, 1)));
  for (NodeId id = loss + 1; id-- > 0;) {
    if (!gradients_[id] || !differentiates(id)) continue;
    const std::string name = g_.graph().describe(id);
    Status done = Step(*this, id, *gradients_[id]).run();
    if (!done) return std::move(done.error()).with_context(name);
  }
  return ok();
}

/// A graph for which a loss is differentiated, as it is before: the facts that the walk may rely
/// on.
class Forward {
 public:
  Forward(const Graph& graph, Value loss, std::span<const Value> parameters)
      : graph_(graph), overwrites_(graph), hangs_(loss.id + 1), needed_(loss.id + 1) {
    for (const Value parameter : parameters) {
      if (parameter.id <= loss.id) hangs_[parameter.id] = true;
    }
    for (NodeId id = 0; id <= loss.id; ++id) {
      if (trait(graph.node(id).result.dtype).integer) continue;
      each_read(id, [&](NodeId read) { hangs_[id] = hangs_[id] || hangs_[read]; });
    }
    needed_[loss.id] = true;
    for (NodeId id = loss.id + 1; id-- > 0;) {
      if (needed_[id]) each_read(id, [&](NodeId read) { needed_[read] = true; });
    }
  }

  /// That each op on a path has a rule, and that no path goes through memory by another name.
  Status check() const {
    for (NodeId id = 0; id < hangs_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (!needed_[id] || !hangs_[id] || node.is_leaf()) continue;
      for (const NodeId source : node.sources) SHUNT_TRY(check_read(id, source));
      const bool differentiated = std::ranges::any_of(
          node.sources, [&](NodeId source) { return source != kNoNode && hangs_[source]; });
      if (!differentiated || node.op->has_gradient()) continue;
      return fail(ErrorCode::kUnsupported,
                  "{}: {} has no gradient rule, and the loss depends on a parameter through it",
                  graph_.describe(id), node.op->info().name);
    }
    return ok();
  }

 private:
  /// Calls f(node) for all nodes whose values reach a node: its sources, and the nodes that wrote
  /// into their memory since.
  template <class F>
  void each_read(NodeId id, F f) const {
    for (const NodeId source : graph_.node(id).sources) {
      if (source == kNoNode) continue;
      f(source);
      overwrites_.between(source, id, f);
    }
  }

  Status check_read(NodeId id, NodeId source) const {
    if (source == kNoNode) return ok();
    std::optional<NodeId> found;
    overwrites_.between(source, id, [&](NodeId writer) {
      if (hangs_[writer] || hangs_[source]) found = writer;
    });
    if (!found) return ok();
    return fail(
        ErrorCode::kUnsupported,
        "{} reads {}, into which {} has written values that depend on a parameter: for a gradient "
        "it must read the result of that node",
        graph_.describe(id), graph_.describe(source), graph_.describe(*found));
  }

  const Graph& graph_;
  Overwrites overwrites_;
  std::vector<bool> hangs_;   ///< on a parameter, through memory too
  std::vector<bool> needed_;  ///< for the loss, through memory too
};

/// That the values that the gradients read of the nodes before `first` are not overwritten.
Status check_saved(const Graph& graph, NodeId first) {
  const Overwrites overwrites(graph);
  for (NodeId id = first; id < graph.size(); ++id) {
    for (const NodeId source : graph.node(id).sources) {
      if (source == kNoNode || source >= first) continue;
      std::optional<NodeId> found;
      overwrites.between(source, first, [&](NodeId writer) { found = writer; });
      if (!found) continue;
      return fail(
          ErrorCode::kUnsupported,
          "the gradient depends on the value of {}, which {} overwrites (dup() keeps a copy)",
          graph.describe(source), graph.describe(*found));
    }
  }
  return ok();
}

Result<std::vector<Value>> differentiate(GraphBuilder& g, Value loss,
                                         std::span<const Value> parameters) {
  const auto first = static_cast<NodeId>(g.graph().size());
  SHUNT_TRY(Forward(g.graph(), loss, parameters).check());
  Walk walk(g, loss, parameters);
  SHUNT_TRY(walk.run());
  std::vector<Value> found;
  for (const Value parameter : parameters) {
    const std::optional<Value> gradient = walk.gradient(parameter.id);
    Result<Value> own =
        gradient ? Result<Value>(*gradient) : zeros(g, g.graph().node(parameter.id).result.shape);
    const auto is_own = [&](Value other) { return other.id == own->id; };
    if (own && std::ranges::any_of(found, is_own)) own = dup(g, own);
    if (!own) return Error(own.error());
    found.push_back(*own);
  }
  SHUNT_TRY(check_saved(g.graph(), first));
  return found;
}

}  // namespace

Result<std::vector<Value>> gradients(GraphBuilder& g, Operand loss,
                                     std::span<const Value> parameters) {
  SHUNT_ASSIGN(const Tensor of_loss, g.find(loss));
  if (of_loss.dtype != DType::kF32 || of_loss.shape != Shape{}) {
    return invalid("gradients: the loss, {}, is {}, not a number of F32",
                   g.graph().describe(loss->id), to_string(of_loss));
  }
  for (const Value parameter : parameters) {
    auto tensor = g.find(parameter);
    if (!tensor) return std::move(tensor.error()).with_context("gradients");
    if (is_float(tensor->dtype)) continue;
    return invalid("gradients: {} is {}; a parameter is F32, F16 or BF16",
                   g.graph().describe(parameter.id), to_string(*tensor));
  }
  auto found = differentiate(g, *loss, parameters);
  if (!found) return std::move(found.error()).with_context("gradients");
  return found;
}

}  // namespace shunt
