#include "backends/cann/weight_memory.h"

#include <algorithm>

#include "backends/cann/calls.h"
#include "backends/cann/weight_codes.h"

namespace shunt::cann {

namespace {

constexpr std::string_view kNote = "numbers and scales apart";

const WeightMemory* as_weight_memory(const BufferType* type) {
  return dynamic_cast<const WeightMemory*>(type);
}

bool has_code(const Chip& chip, DataType code) {
  return code == DataType::kInt4 ? chip.int4 : chip.quantized;
}

}  // namespace

WeightLayout layout_of(const Tensor& tensor) {
  const CodeFormat& format = *find_code_format(tensor.dtype);
  const std::int64_t blocks = element_count(tensor.shape) / kScaledElements;
  const auto count = static_cast<std::size_t>(blocks);
  const std::size_t codes = padded(count * format.code_bytes);
  return {format.code, blocks, codes, codes + padded(count * sizeof(std::uint16_t))};
}

WeightMemory::WeightMemory(std::string name, BufferType& memory, const Chip& chip)
    : PackedInMemory(std::move(name), {Layout{}, {LayoutKind::kPacked, true, std::string(kNote)}},
                     memory),
      chip_(chip) {}

bool WeightMemory::packs(const Tensor& tensor) const {
  const CodeFormat* const format = find_code_format(tensor.dtype);
  // The product takes a single column of numbers for a row of them, which 4 bits can't be.
  const std::int64_t least_rows = format != nullptr && format->code == DataType::kInt4 ? 2 : 1;
  return format != nullptr && has_code(chip_, format->code) && is_contiguous(tensor) &&
         std::ranges::all_of(tensor.shape, &Dim::is_fixed) && tensor.size(0) > 0 &&
         tensor.size(0) <= kMostSide && tensor.size(1) >= least_rows && tensor.size(2) > 0 &&
         tensor.size(3) == 1;
}

std::size_t WeightMemory::packed_bytes(const Tensor& tensor) const {
  return std::max(static_cast<std::size_t>(byte_span(tensor)), layout_of(tensor).bytes);
}

std::unique_ptr<PackedTensor> WeightMemory::place(const Tensor& tensor, Buffer& bytes,
                                                  std::size_t offset) const {
  const WeightLayout layout = layout_of(tensor);
  return make_rearranged(*find_code_format(tensor.dtype), static_cast<std::size_t>(layout.blocks),
                         bytes, offset, offset + layout.scales_at);
}

std::vector<WeightCandidate> weight_forms(WeightMemory& memory, const Graph& graph, NodeId leaf) {
  // Plain ones are decoded to F16 in memory, and read again.
  constexpr double kCost = 0.25;
  if (!memory.packs(graph.node(leaf).result)) return {};
  return {{&memory, false, kCost, std::string(kNote)}};
}

bool is_rearranged(const NodeView& view, std::size_t source) {
  const WeightMemory* const memory = as_weight_memory(view.source_memory(source));
  return memory != nullptr && memory->packs(view.owner(source));
}

}  // namespace shunt::cann
