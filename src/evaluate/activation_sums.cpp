#include "evaluate/activation_sums.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/indexed_vector.h"
#include "base/plain_nan.h"
#include "base/to_size.h"
#include "graph/storage_users.h"
#include "shunt/message.h"
#include "shunt/ops.h"
#include "tensor/integer.h"

namespace shunt {

ActivationSums::ActivationSums(const Graph& graph) : graph_(graph) {
  for (NodeId id = 0; id < graph.size(); ++id) find_operand(id);
  for (const Operand& operand : operands_) {
    nodes_.push_back(operand.x_from);
    if (operand.ids == kNoNode) continue;
    nodes_.push_back(operand.ids_from);
    if (operand.x_from != operand.ids_from) {
      held_[std::min(operand.x_from, operand.ids_from)];
    }
  }
  std::sort(nodes_.begin(), nodes_.end());
  nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
}

/// The computed node that last wrote the memory of a value; kNoNode if there is none, or if it did
/// not write all of it.
NodeId ActivationSums::writer_of(NodeId value, NodeId before) const {
  const Node& read = graph_.node(value);
  for (NodeId id = before; id-- > 0;) {
    const Node& node = graph_.node(id);
    if (node.storage != read.storage || (node.storage != id && !node.writes_storage)) continue;
    const bool covers =
        node.offset <= read.offset &&
        read.offset - node.offset <= byte_span(node.result) - byte_span(read.result);
    return node.is_leaf() || !covers ? kNoNode : id;
  }
  return kNoNode;
}

void ActivationSums::find_operand(NodeId id) {
  const Node& node = graph_.node(id);
  const bool picks = node.op == &matmul_id_op();
  if (!picks && node.op != &matmul_op()) return;
  const NodeId weight = graph_.node(node.sources[0]).storage;
  const Role role = graph_.node(weight).role;
  if (!is_weight(role)) return;
  // A view of a weight's columns has other columns than the file.
  const Tensor& w = graph_.node(weight).result;
  const Tensor& seen = graph_.node(node.sources[0]).result;
  const auto same = [&](int dim) { return w.size(dim) == seen.size(dim); };
  if (!same(0) || !same(2) || !same(3)) return;
  Operand operand;
  operand.columns = w.size(0);
  operand.matrices2 = w.size(2);
  operand.matrices3 = w.size(3);
  operand.x = node.sources[1];
  operand.x_from = writer_of(operand.x, id);
  if (operand.x_from == kNoNode) return;
  if (picks) {
    operand.ids = node.sources[2];
    operand.ids_from = writer_of(operand.ids, id);
    if (operand.ids_from == kNoNode) return;
  }
  const auto key = [](const Operand& m) {
    return std::tie(m.x, m.x_from, m.ids, m.ids_from, m.matrices2, m.matrices3);
  };
  const auto known = std::ranges::find_if(
      operands_, [&](const Operand& other) { return key(other) == key(operand); });
  if (known != operands_.end()) {
    known->weights.push_back(weight);
    return;
  }
  const auto matrices = to_size(operand.matrices2 * operand.matrices3);
  operand.weights = {weight};
  operand.sums.columns = operand.columns;
  operand.sums.squares.resize(to_size(operand.columns) * matrices);
  operand.sums.counts.resize(matrices);
  operands_.push_back(std::move(operand));
}

/// The start of a value, in the data observed now or held from before.
const std::byte* ActivationSums::bytes_of(NodeId value, NodeId from,
                                          const Observed& observed) const {
  const std::byte* start = from == observed.node ? observed.bytes.data() : held_.at(from).data();
  return start + (graph_.node(value).offset - graph_.node(from).offset);
}

Status ActivationSums::add(const Observed& observed, const DynamicDimValues& dynamic_dims) {
  if (const auto held = held_.find(observed.node); held != held_.end()) {
    held->second.assign(observed.bytes.begin(), observed.bytes.end());
  }
  for (Operand& operand : operands_) {
    if (operand.last() != observed.node) continue;
    const std::byte* x = bytes_of(operand.x, operand.x_from, observed);
    const Sizes sizes = actual_sizes(graph_.node(operand.x).result, dynamic_dims);
    if (operand.ids == kNoNode) {
      SHUNT_TRY(add_all(operand, x, sizes));
      continue;
    }
    const std::byte* ids = bytes_of(operand.ids, operand.ids_from, observed);
    SHUNT_TRY(add_gathered(operand, x, sizes, ids,
                           actual_sizes(graph_.node(operand.ids).result, dynamic_dims)));
  }
  return ok();
}

Status ActivationSums::add_column(Operand& operand, const std::byte* column,
                                  std::int64_t matrix) const {
  const Tensor& x = graph_.node(operand.x).result;
  double* squares = operand.sums.squares.data() + matrix * operand.columns;
  for (std::int64_t i = 0; i < operand.columns; ++i) {
    float value = 0;
    trait(x.dtype).decode(column + i * x.stride(0), &value, 1);
    if (!std::isfinite(value)) {
      return fail(ErrorCode::kUnsupported, "{}: the activation at column {} is {}",
                  graph_.describe(operand.weights.front()), i, plain_nan(value));
    }
    squares[i] += static_cast<double>(value) * static_cast<double>(value);
  }
  IndexedSpan<std::int64_t, double>(operand.sums.counts)[matrix] += 1;
  return ok();
}

/// Adds x of a matmul. Its slices belong to those of the weight in the order that matmul documents.
Status ActivationSums::add_all(Operand& operand, const std::byte* x, const Sizes& sizes) const {
  const Tensor& tensor = graph_.node(operand.x).result;
  for (std::int64_t i3 = 0; i3 < sizes[3]; ++i3) {
    for (std::int64_t i2 = 0; i2 < sizes[2]; ++i2) {
      const std::int64_t matrix = i3 / (sizes[3] / operand.matrices3) * operand.matrices2 +
                                  i2 / (sizes[2] / operand.matrices2);
      for (std::int64_t i1 = 0; i1 < sizes[1]; ++i1) {
        SHUNT_TRY(add_column(
            operand, x + i1 * tensor.stride(1) + i2 * tensor.stride(2) + i3 * tensor.stride(3),
            matrix));
      }
    }
  }
  return ok();
}

/// Adds x of a matmul_id. Token t of x [K, U or 1, T] goes to the experts that ids [U, T] name.
Status ActivationSums::add_gathered(Operand& operand, const std::byte* x, const Sizes& sizes,
                                    const std::byte* ids, const Sizes& id_sizes) const {
  const Tensor& tensor = graph_.node(operand.x).result;
  const Tensor& id_tensor = graph_.node(operand.ids).result;
  for (std::int64_t t = 0; t < id_sizes[1]; ++t) {
    for (std::int64_t u = 0; u < id_sizes[0]; ++u) {
      const std::int64_t expert =
          read_integer(id_tensor.dtype, ids + u * id_tensor.stride(0) + t * id_tensor.stride(1));
      if (expert < 0 || expert >= operand.matrices2) {
        return fail(ErrorCode::kInternal, "{}: there is no expert {}", graph_.describe(operand.ids),
                    expert);
      }
      const std::int64_t column = sizes[1] == 1 ? 0 : u;
      SHUNT_TRY(add_column(operand, x + column * tensor.stride(1) + t * tensor.stride(2), expert));
    }
  }
  return ok();
}

std::map<NodeId, ColumnSums> ActivationSums::sums() const {
  std::map<NodeId, ColumnSums> all;
  for (const Operand& operand : operands_) {
    for (NodeId weight : operand.weights) {
      const auto [entry, is_new] = all.emplace(weight, operand.sums);
      if (is_new) continue;
      // A weight that is used in several places.
      ColumnSums& sum = entry->second;
      for (std::size_t i = 0; i < sum.squares.size(); ++i) {
        sum.squares[i] += operand.sums.squares[i];
      }
      for (std::size_t i = 0; i < sum.counts.size(); ++i) sum.counts[i] += operand.sums.counts[i];
    }
  }
  return all;
}

}  // namespace shunt
