// Nodes that the machine can't compute with the numbers of a run. They are computed by the plain
// meaning of ops.
#include <cmath>

#include "backend_support/host_fallback.h"
#include "backends/zdnn/binding.h"
#include "graph/tensor_values.h"

namespace shunt::zdnn {

Result<RefTensor> ZdnnBinding::values_of_slot(std::size_t index, NodeId id) {
  const NodeId owner = prepared_.slots[index].node;
  const Tensor& tensor = graph_.node(id).result;
  const Sizes sizes = actual_sizes(tensor, *dynamic_dims_);
  if (prepared_.slots[index].comes_in) return read_tensor(slot_sources_[index], tensor, sizes);
  const Tensor& computed = graph_.node(owner).result;
  RefTensor values(actual_sizes(computed, *dynamic_dims_));
  if (values.data.empty()) return RefTensor(sizes);
  SlotState& slot = slots_[index];
  std::vector<float> floats = slot.exact;
  if (floats.empty()) {
    floats.resize(values.data.size());
    const Symbols& zdnn = shared_.machine.zdnn();
    const std::uint32_t status = zdnn.transform_origtensor(slot.stick.get(), floats.data());
    if (status != kOk) return error_of(zdnn, name_of<&Symbols::transform_origtensor>(), status);
  }
  std::ranges::copy(floats, values.data.begin());
  return id == owner ? values : values_of_view(values, computed, graph_.node(id), *dynamic_dims_);
}

/// The values of a source, from the place where they are nearest to the exact ones.
Result<RefTensor> ZdnnBinding::values_of(std::size_t index, std::size_t source, bool& saturated) {
  const PreparedSource& from = prepared_.nodes[index].sources[source];
  const Tensor& tensor = graph_.node(from.id).result;
  RefTensor values(actual_sizes(tensor, *dynamic_dims_));
  if (from.kind == SourceKind::kWeightRow) {
    WeightSticks& weight = *calls_[index].launch->sources[source].weight;
    SHUNT_ASSIGN(const std::vector<float> floats,
                 values_of_weight(weight, 0, values.sizes[0], saturated));
    std::ranges::copy(floats, values.data.begin());
    return values;
  }
  if (from.kind == SourceKind::kPlain) {
    values = read_tensor(calls_[index].sources[source], tensor, values.sizes);
  } else {
    SHUNT_ASSIGN(values, values_of_slot(from.slot, from.id));
  }
  if (saturates() && prepared_.nodes[index].kernel->limits(source, from.form)) {
    saturated |= limit(std::span(values.data), kLargest);
  }
  return values;
}

Result<std::vector<float>> ZdnnBinding::values_of_weight(WeightSticks& weight, std::int64_t first,
                                                         std::int64_t count, bool& saturated) {
  SHUNT_ASSIGN(std::vector<float> values, weight.rows(first, count));
  // Those that were written, if the machine has not all of them.
  if (saturates() && weight.grid().form == WeightForm::kDlfloat16) {
    saturated |= limit(std::span(values), kLargest);
  }
  return values;
}

Result<bool> ZdnnBinding::compute_plainly(std::size_t index) {
  const PreparedNode& prepared = prepared_.nodes[index];
  bool saturated = false;
  FallbackSources sources{[&](std::size_t source) { return values_of(index, source, saturated); }};
  if (prepared.sources[0].kind == SourceKind::kWeight) {
    sources.rows = [&](std::int64_t first, std::int64_t count) {
      WeightSticks& weight = *calls_[index].launch->sources[0].weight;
      return values_of_weight(weight, first, count, saturated);
    };
  }
  SHUNT_ASSIGN(RefTensor result,
               compute_on_host(graph_, prepared.asked, prepared.id, *dynamic_dims_, sources));
  saturated |= saturates() && limit(std::span(result.data), kLargest);
  SHUNT_TRY(keep(index, result));
  return saturated;
}

/// Stores a result in the places where its readers look for it.
Status ZdnnBinding::keep(std::size_t index, const RefTensor& result) {
  const PreparedNode& prepared = prepared_.nodes[index];
  const Node& node = graph_.node(prepared.id);
  if (std::byte* const to = calls_[index].result) write_tensor(result, node.result, to);
  if (prepared.result >= slots_.size()) return ok();
  SlotState& slot = slots_[prepared.result];
  place(prepared.result, dims_of(result.sizes));
  slot.exact.assign(result.data.begin(), result.data.end());
  slot.filled = true;
  slot.in_range =
      std::ranges::all_of(slot.exact, [](float value) { return std::fabs(value) <= kLargest; });
  if (!slot.in_range) return ok();
  const Symbols& zdnn = shared_.machine.zdnn();
  return entered(prepared.result, zdnn.transform_ztensor(slot.stick.get(), slot.exact.data()));
}

}  // namespace shunt::zdnn
