#include "graph/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shunt {

namespace {

/// To the nearest, even if between two; saturated; 0 for not-a-number.
template <class T>
void round_to(std::vector<double>& data) {
  constexpr auto kLow = static_cast<double>(std::numeric_limits<T>::min());
  constexpr auto kHigh = static_cast<double>(std::numeric_limits<T>::max());
  for (double& x : data) x = std::isnan(x) ? 0 : std::clamp(std::nearbyint(x), kLow, kHigh);
}

void round_integers(DType dtype, std::vector<double>& data) {
  switch (dtype) {
    case DType::kI8:
      return round_to<std::int8_t>(data);
    case DType::kI16:
      return round_to<std::int16_t>(data);
    case DType::kI32:
      return round_to<std::int32_t>(data);
    case DType::kI64:
      return round_to<std::int64_t>(data);
    default:
      return;
  }
}

/// Calls f(slot, i) for the i-th element of a node's result: its place in the node's storage,
/// counted in elements.
template <class F>
void for_each_slot(const Node& node, F f) {
  const DTypeTrait& type = trait(node.result.dtype);
  const std::int64_t block = type.block_elements;
  const auto bytes = static_cast<std::int64_t>(type.block_bytes);
  const Sizes sizes = max_sizes(node.result.shape);
  std::size_t i = 0;
  for (std::int64_t i3 = 0; i3 < sizes[3]; ++i3) {
    for (std::int64_t i2 = 0; i2 < sizes[2]; ++i2) {
      for (std::int64_t i1 = 0; i1 < sizes[1]; ++i1) {
        const std::int64_t row = node.offset + i1 * node.result.stride(1) +
                                 i2 * node.result.stride(2) + i3 * node.result.stride(3);
        for (std::int64_t i0 = 0; i0 < sizes[0]; ++i0) {
          const std::int64_t at = row + i0 / block * node.result.stride(0);
          f(static_cast<std::size_t>(at / bytes * block + i0 % block), i++);
        }
      }
    }
  }
}

class ReferenceRun {
 public:
  explicit ReferenceRun(const Graph& graph) : graph_(graph), values_(graph.size()) {}

  Status take_leaf(NodeId id, std::span<const RefTensor> leaves) {
    const Tensor& tensor = graph_.node(id).result;
    if (!is_contiguous(tensor)) {
      return fail(ErrorCode::kUnsupported, "{}: a leaf that is not contiguous",
                  graph_.describe(id));
    }
    const bool given =
        id < leaves.size() && leaves[id].sizes == max_sizes(tensor.shape) &&
        leaves[id].data.size() == static_cast<std::size_t>(element_count(tensor.shape));
    if (!given) {
      return invalid("{}: a value of {} is not given", graph_.describe(id), to_string(tensor));
    }
    values_[id] = leaves[id];
    return ok();
  }

  void compute(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<const RefTensor*> sources;
    sources.reserve(node.sources.size());
    for (NodeId source : node.sources) {
      sources.push_back(source == kNoNode ? nullptr : &values_[source]);
    }
    RefTensor result(max_sizes(node.result.shape));
    if (node.writes_storage) result = *sources[0];
    node.op->reference(sources, node.params, result);
    round_integers(node.result.dtype, result.data);
    values_[id] = std::move(result);
    if (node.writes_storage) share(id);
  }

  std::vector<RefTensor> take() { return std::move(values_); }

 private:
  /// Makes the writes of a node visible in all nodes so far that share its memory.
  void share(NodeId writer) {
    const NodeId root = graph_.node(writer).storage;
    std::vector<double> memory(values_[root].data.size());
    const auto write = [&](NodeId id) {
      for_each_slot(graph_.node(id),
                    [&](std::size_t slot, std::size_t i) { memory[slot] = values_[id].data[i]; });
    };
    write(root);
    write(writer);
    for (NodeId id = root; id <= writer; ++id) {
      if (graph_.node(id).storage != root) continue;
      for_each_slot(graph_.node(id),
                    [&](std::size_t slot, std::size_t i) { values_[id].data[i] = memory[slot]; });
    }
  }

  const Graph& graph_;
  std::vector<RefTensor> values_;
};

}  // namespace

Result<std::vector<RefTensor>> reference_run(const Graph& graph,
                                             std::span<const RefTensor> leaves) {
  ReferenceRun run(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).is_leaf()) {
      SHUNT_TRY(run.take_leaf(id, leaves));
    } else {
      run.compute(id);
    }
  }
  return run.take();
}

}  // namespace shunt
