#include "schedule/costs/work.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/indexed_vector.h"
#include "graph/gathered.h"
#include "graph/op.h"

namespace shunt {

namespace {

/// Ops with the same work as another op. They have its costs unless they have their own.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kSameWork = {{
    {"matmul_id", "matmul"},
    {"out_prod", "matmul"},
    {"paged_attention", "attention"},
}};

double elements_of(const Tensor& tensor) {
  return static_cast<double>(element_count(tensor.shape));
}

}  // namespace

DType deciding_type(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  for (std::size_t i = 0; i < node.sources.size() && i < 2; ++i) {
    if (node.sources[i] == kNoNode) continue;
    const DType dtype = graph.node(node.sources[i]).result.dtype;
    if (dtype != DType::kF32 && !trait(dtype).integer) return dtype;
  }
  return DType::kF32;
}

std::string_view op_with_same_costs(std::string_view op) {
  const auto found = std::ranges::find(kSameWork, op, &decltype(kSameWork)::value_type::first);
  return found == kSameWork.end() ? op : found->second;
}

double bytes_of(DType dtype, double elements) {
  const DTypeTrait& type = trait(dtype);
  return elements * static_cast<double>(type.block_bytes) /
         static_cast<double>(type.block_elements);
}

Work work_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::vector<const Tensor*> sources;
  sources.reserve(node.sources.size());
  for (NodeId source : node.sources) {
    sources.push_back(source == kNoNode ? nullptr : &graph.node(source).result);
  }
  Work work;
  work.operations = node.op->operations(node.result, sources, node.params);

  const auto is_integer = [](const Tensor* tensor) {
    return tensor != nullptr && trait(tensor->dtype).integer;
  };
  const bool picks = std::any_of(sources.begin(), sources.end(), is_integer);
  double written = elements_of(node.result);
  if (node.writes_storage) {
    double most = 0;
    for (std::size_t i = 1; i < sources.size(); ++i) {
      if (sources[i] != nullptr) most = std::max(most, elements_of(*sources[i]));
    }
    written = std::min(written, most);
    work.operations = std::min(work.operations, most);
  }
  work.bytes = bytes_of(node.result.dtype, written);
  for (std::size_t i = node.writes_storage ? 1 : 0; i < sources.size(); ++i) {
    if (sources[i] == nullptr) continue;
    double elements = elements_of(*sources[i]);
    if (picks && !is_integer(sources[i])) elements = std::min(elements, work.operations);
    if (const auto& slices = node.op->info().picks; slices && i == 0) {
      const Tensor& ids = *IndexedSpan<int, const Tensor*>(sources)[slices->ids];
      elements = elements_of(*sources[0]) * gathered_share(*sources[0], ids, slices->dim);
    }
    work.bytes += bytes_of(sources[i]->dtype, elements);
  }
  return work;
}

}  // namespace shunt
