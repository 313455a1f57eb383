#include "ops/cut_rules.h"

#include <array>

#include "graph/op.h"
#include "shunt/ops.h"

namespace shunt {

namespace {

/// A node, some of whose sources are cut.
struct CutNode {
  const Graph& graph;
  const Node& node;
  std::span<const TensorSplit* const> cuts;

  const Tensor& source(std::size_t i) const { return graph.node(node.sources[i]).result; }
  bool has(std::size_t i) const { return node.sources[i] != kNoNode; }
};

using InParts = std::optional<NodeInParts>;
using CutRule = InParts (*)(const CutNode&);

/// Every part reads these parts of the first sources, and all of the others.
NodeInParts reads(const CutNode& n, std::vector<std::optional<TensorSplit>> sources,
                  std::optional<TensorSplit> result) {
  sources.resize(n.node.sources.size());
  return {std::move(sources), std::move(result)};
}

InParts each_element(const CutNode& n) {
  if (n.cuts[0] == nullptr) return {};
  return reads(n, {*n.cuts[0]}, *n.cuts[0]);
}

/// Rows (dimension 0) are computed together.
InParts each_row(const CutNode& n) {
  if (n.cuts[0] == nullptr || n.cuts[0]->dim == 0) return {};
  return reads(n, {*n.cuts[0]}, *n.cuts[0]);
}

/// The second source is of the same size along the cut, or repeated as a whole.
InParts arithmetic(const CutNode& n) {
  if (n.cuts[0] == nullptr) return {};
  const TensorSplit& cut = *n.cuts[0];
  const Dim& second = n.source(1).shape[cut.dim];
  if (second == Dim(1)) return reads(n, {cut}, cut);
  if (second != n.source(0).shape[cut.dim]) return {};
  return reads(n, {cut, cut}, cut);
}

InParts gated(const CutNode& n) {
  if (!n.has(1)) return each_row(n);  // rows hold both halves
  const TensorSplit* cut = n.cuts[0] != nullptr ? n.cuts[0] : n.cuts[1];
  return reads(n, {*cut, *cut}, *cut);
}

InParts product(const CutNode& n) {
  const TensorSplit* w = n.cuts[0];
  if (w == nullptr || w->dim > 1) return {};
  if (w->dim == 1) return reads(n, {*w}, TensorSplit{0, w->sizes});
  return reads(n, {*w, *w}, {});
}

InParts rope_by_heads(const CutNode& n) {
  if (n.cuts[0] == nullptr || n.cuts[0]->dim != 1) return {};
  return reads(n, {*n.cuts[0]}, *n.cuts[0]);
}

/// Of sources q, k, v, and a mask and sinks with these numbers.
InParts by_heads(const CutNode& n, float max_bias, std::size_t mask, std::size_t sinks) {
  enum : std::size_t { kQ, kK };
  const TensorSplit* q = n.cuts[kQ];
  // Slopes follow from the number of a head among all heads.
  if (q == nullptr || q->dim != 1 || max_bias != 0) return {};
  const std::int64_t heads = n.source(kQ).size(1);
  const std::int64_t kv_heads = n.source(kK).size(1);
  if (kv_heads == 0) return {};
  const std::int64_t group = heads / kv_heads;  // of query heads that share a head of k and v
  TensorSplit kv{1, {}};
  for (const std::int64_t size : q->sizes) {
    if (size % group != 0) return {};
    kv.sizes.push_back(size / group);
  }
  NodeInParts parts = reads(n, {*q, kv, kv}, *q);
  if (n.has(mask) && n.source(mask).size(2) == heads)
    parts.sources[mask] = TensorSplit{2, q->sizes};
  if (n.has(sinks)) parts.sources[sinks] = TensorSplit{0, q->sizes};
  return parts;
}

InParts attention_by_heads(const CutNode& n) {
  return by_heads(n, n.node.params.get<AttentionParams>().max_bias, 3, 4);
}

InParts paged_attention_by_heads(const CutNode& n) {
  return by_heads(n, n.node.params.get<PagedAttentionParams>().max_bias, 5, 6);
}

InParts table_columns(const CutNode& n) {
  if (n.cuts[0] == nullptr || n.cuts[0]->dim != 0) return {};
  return reads(n, {*n.cuts[0]}, *n.cuts[0]);
}

InParts written_columns(const CutNode& n) {
  if (n.cuts[0] == nullptr || n.cuts[0]->dim != 0) return {};
  return reads(n, {*n.cuts[0], *n.cuts[0]}, *n.cuts[0]);
}

/// The cut of a tensor as it is seen in another shape, where that has a dimension for it.
std::optional<TensorSplit> cut_through(const Shape& from, const TensorSplit& cut, const Shape& to) {
  std::int64_t inner = 1;  // elements between neighbours along the cut
  for (std::size_t i = 0; i < cut.dim; ++i) {
    if (!from[i].is_fixed()) return {};
    inner *= from[i].max;
  }
  if (inner == 0) return {};
  const std::int64_t whole = inner * from[cut.dim].max;
  std::int64_t outer = 1;  // the same in the other shape
  for (std::size_t i = 0; i < kMaxDims && to[i].is_fixed() && to[i].max > 0; ++i) {
    if (outer * to[i].max == whole) {
      TensorSplit seen{i, {}};
      for (const std::int64_t size : cut.sizes) {
        if (inner * size % outer != 0) return {};
        seen.sizes.push_back(inner * size / outer);
      }
      return seen;
    }
    outer *= to[i].max;
  }
  return {};
}

/// Params with the size of each part in `shape`.
template <class P>
std::vector<Params> params_of_parts(const P& whole, const TensorSplit& cut) {
  std::vector<Params> all;
  for (const std::int64_t size : cut.sizes) {
    P part = whole;
    part.shape[cut.dim] = size;
    all.push_back(Params::of(part));
  }
  return all;
}

InParts reshaped(const CutNode& n) {
  const auto& params = n.node.params.get<ReshapeParams>();
  const auto seen = cut_through(n.source(0).shape, *n.cuts[0], params.shape);
  if (!seen) return {};
  NodeInParts parts = reads(n, {*n.cuts[0]}, seen);
  parts.params = params_of_parts(params, *seen);
  return parts;
}

/// A window that has all of the cut dimension.
InParts window(const CutNode& n) {
  const auto& params = n.node.params.get<ViewParams>();
  const TensorSplit& cut = *n.cuts[0];
  if (params.shape[cut.dim] != n.source(0).shape[cut.dim]) return {};
  NodeInParts parts = reads(n, {cut}, cut);
  parts.params = params_of_parts(params, cut);
  return parts;
}

InParts permuted(const CutNode& n) {
  const auto& axes = n.node.params.get<PermuteParams>().axes;
  TensorSplit seen = *n.cuts[0];
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (static_cast<std::size_t>(axes[i]) == n.cuts[0]->dim) seen.dim = i;
  }
  return reads(n, {*n.cuts[0]}, std::move(seen));
}

InParts transposed(const CutNode& n) {
  TensorSplit seen = *n.cuts[0];
  if (seen.dim < 2) seen.dim = 1 - seen.dim;
  return reads(n, {*n.cuts[0]}, std::move(seen));
}

struct RuleOfOp {
  const Op& (*op)();
  CutRule rule;
};

/// Ops that are not here, and are no functions of each element, need their sources whole.
// clang-format off
constexpr std::array kCutRules = {
    RuleOfOp{cont_op, each_element},
    RuleOfOp{dup_op, each_element},
    RuleOfOp{scale_op, each_element},
    RuleOfOp{l2_norm_op, each_row},
    RuleOfOp{norm_op, each_row},
    RuleOfOp{rms_norm_op, each_row},
    RuleOfOp{add_op, arithmetic},
    RuleOfOp{div_op, arithmetic},
    RuleOfOp{mul_op, arithmetic},
    RuleOfOp{sub_op, arithmetic},
    RuleOfOp{geglu_op, gated},
    RuleOfOp{geglu_erf_op, gated},
    RuleOfOp{geglu_quick_op, gated},
    RuleOfOp{reglu_op, gated},
    RuleOfOp{swiglu_op, gated},
    RuleOfOp{swiglu_oai_op, gated},
    RuleOfOp{matmul_op, product},
    RuleOfOp{matmul_id_op, product},
    RuleOfOp{attention_op, attention_by_heads},
    RuleOfOp{paged_attention_op, paged_attention_by_heads},
    RuleOfOp{rope_op, rope_by_heads},
    RuleOfOp{get_rows_op, table_columns},
    RuleOfOp{set_rows_op, written_columns},
    RuleOfOp{permute_op, permuted},
    RuleOfOp{reshape_op, reshaped},
    RuleOfOp{transpose_op, transposed},
    RuleOfOp{view_op, window},
};
// clang-format on

CutRule rule_of(const Op& op) {
  if (op.info().family == abs_op().info().family) return each_element;  // see unary.h
  for (const RuleOfOp& each : kCutRules) {
    if (&each.op() == &op) return each.rule;
  }
  return nullptr;
}

}  // namespace

std::optional<NodeInParts> in_parts(const Graph& graph, const Node& node,
                                    std::span<const TensorSplit* const> cuts) {
  const CutRule rule = rule_of(*node.op);
  return rule == nullptr ? std::nullopt : rule({graph, node, cuts});
}

}  // namespace shunt
