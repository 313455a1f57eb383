// What the machine can't do with the numbers of a run: computed by the plain meaning of ops.
#include <cmath>

#include "backends/zdnn/binding.h"
#include "graph/tensor_values.h"

namespace shunt::zdnn {

namespace {

/// Numbers of a weight that are read at once, about.
constexpr std::int64_t kRead = std::int64_t{1} << 20;

/// True if some were too large.
template <class Number>
bool limit(std::vector<Number>& values) {
  bool any = false;
  for (Number& value : values) {
    if (!(std::fabs(value) > Number{kLargest}) || std::isinf(value)) continue;
    value = std::copysign(Number{kLargest}, value);
    any = true;
  }
  return any;
}

}  // namespace

Result<RefTensor> ZdnnBinding::values_of_slot(std::size_t index, NodeId id) {
  const NodeId owner = prepared_.slots[index].node;
  const Tensor& tensor = graph_.node(id).result;
  const Sizes sizes = actual_sizes(tensor, *extents_);
  if (prepared_.slots[index].comes_in) return read_tensor(slot_sources_[index], tensor, sizes);
  const Tensor& computed = graph_.node(owner).result;
  RefTensor values(actual_sizes(computed, *extents_));
  if (values.data.empty()) return RefTensor(sizes);
  SlotState& slot = slots_[index];
  std::vector<float> floats = slot.exact;
  if (floats.empty()) {
    floats.resize(values.data.size());
    const Symbols& zdnn = shared_.machine.zdnn();
    const std::uint32_t status = zdnn.transform_origtensor(slot.stick.get(), floats.data());
    if (status != kOk) return error_of(zdnn, "zdnn_transform_origtensor", status);
  }
  std::ranges::copy(floats, values.data.begin());
  if (id == owner) return values;
  std::vector<std::byte> plain(static_cast<std::size_t>(byte_span(computed)));
  write_tensor(values, computed, plain.data());
  return read_tensor(plain.data() + graph_.node(id).offset, tensor, sizes);
}

/// The values of a source, from where they are nearest to what they should be.
Result<RefTensor> ZdnnBinding::values_of(std::size_t index, std::size_t source, bool& saturated) {
  const PreparedSource& from = prepared_.nodes[index].sources[source];
  const Tensor& tensor = graph_.node(from.id).result;
  RefTensor values(actual_sizes(tensor, *extents_));
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
  if (shared_.machine.saturates() && prepared_.nodes[index].kernel->limits(source, from.form)) {
    saturated |= limit(values.data);
  }
  return values;
}

Result<std::vector<float>> ZdnnBinding::values_of_weight(WeightSticks& weight, std::int64_t first,
                                                         std::int64_t count, bool& saturated) {
  SHUNT_ASSIGN(std::vector<float> values, weight.rows(first, count));
  // Those that were written, if the machine has not all of them.
  if (shared_.machine.saturates() && weight.grid().form == WeightForm::kDlfloat16) {
    saturated |= limit(values);
  }
  return values;
}

/// With a weight, of which a block of rows at a time is read: it may be large.
Status ZdnnBinding::multiply_plainly(std::size_t index, const RefTensor& x, RefTensor& result,
                                     bool& saturated) {
  const PreparedNode& prepared = prepared_.nodes[index];
  const Node& asked = graph_.node(prepared.asked);
  WeightSticks& weight = *calls_[index].launch->sources[0].weight;
  const std::int64_t k = weight.grid().k;
  const std::int64_t n = weight.grid().n;
  const std::int64_t at_once =
      std::max(kRead / k / kStickElements, std::int64_t{1}) * kStickElements;
  for (std::int64_t first = 0; first < n; first += at_once) {
    const std::int64_t count = std::min(at_once, n - first);
    RefTensor rows({k, count, 1, 1});
    SHUNT_ASSIGN(const std::vector<float> floats,
                 values_of_weight(weight, first, count, saturated));
    std::ranges::copy(floats, rows.data.begin());
    Sizes sizes = result.sizes;
    sizes[0] = count;
    RefTensor part(sizes);
    const std::array<const RefTensor*, 2> sources = {&rows, &x};
    asked.op->reference(sources, asked.params, part);
    for (std::size_t row = 0; row * static_cast<std::size_t>(count) < part.data.size(); ++row) {
      std::copy_n(part.data.begin() + static_cast<std::ptrdiff_t>(row) * count, count,
                  result.data.begin() + static_cast<std::ptrdiff_t>(row) * n + first);
    }
  }
  return ok();
}

Result<bool> ZdnnBinding::compute_plainly(std::size_t index) {
  const PreparedNode& prepared = prepared_.nodes[index];
  const Node& node = graph_.node(prepared.id);
  const Node& asked = graph_.node(prepared.asked);
  std::array<RefTensor, kMaxSources> values;
  std::array<const RefTensor*, kMaxSources> sources = {};
  bool saturated = false;
  for (std::size_t s = 0; s < kMaxSources; ++s) {
    const SourceKind kind = prepared.sources[s].kind;
    if (kind == SourceKind::kAbsent || kind == SourceKind::kWeight) continue;
    SHUNT_ASSIGN(values[s], values_of(index, s, saturated));
    sources[s] = &values[s];
  }
  RefTensor result(actual_sizes(asked.result, *extents_));
  if (prepared.sources[0].kind == SourceKind::kWeight) {
    SHUNT_TRY(multiply_plainly(index, values[1], result, saturated));
  } else {
    asked.op->reference(std::span(sources).first(asked.sources.size()), asked.params, result);
  }
  if (prepared.asked != prepared.id) {
    const RefTensor product = std::move(result);
    const std::array<const RefTensor*, 2> both = {&product, sources[kAddedRow]};
    result = RefTensor(actual_sizes(node.result, *extents_));
    node.op->reference(both, node.params, result);
  }
  saturated |= shared_.machine.saturates() && limit(result.data);
  SHUNT_TRY(keep(index, result));
  return saturated;
}

/// Where whoever reads it looks for it.
Status ZdnnBinding::keep(std::size_t index, const RefTensor& result) {
  const PreparedNode& prepared = prepared_.nodes[index];
  const Node& node = graph_.node(prepared.id);
  if (std::byte* const to = calls_[index].result) write_tensor(result, node.result, to);
  if (prepared.result >= slots_.size()) return ok();
  SlotState& slot = slots_[prepared.result];
  const PreparedSlot& at = prepared_.slots[prepared.result];
  slot.stick.set(shared_.machine.zdnn(), scratch_ + prepared_.offsets[at.piece],
                 dims_of(result.sizes));
  slot.exact.assign(result.data.begin(), result.data.end());
  slot.filled = true;
  slot.in_range =
      std::ranges::all_of(slot.exact, [](float value) { return std::fabs(value) <= kLargest; });
  if (!slot.in_range) return ok();
  const Symbols& zdnn = shared_.machine.zdnn();
  return entered(prepared.result, zdnn.transform_ztensor(slot.stick.get(), slot.exact.data()));
}

}  // namespace shunt::zdnn
