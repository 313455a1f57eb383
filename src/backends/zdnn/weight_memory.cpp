#include "backends/zdnn/weight_memory.h"

#include <algorithm>

#include "shunt/message.h"

namespace shunt::zdnn {

WeightMemory::WeightMemory(const Machine& machine, WeightForm form)
    : PackedMemory(form == WeightForm::kInt8 ? "zdnn 8-bit weights" : "zdnn weights",
                   {{LayoutKind::kPacked, false,
                     form == WeightForm::kInt8
                         ? "numbers are rounded to 8 bits, with one scale for about a MiB of them"
                         : "numbers are rounded to DLFLOAT16: 9 bits and a sign"}}),
      machine_(machine),
      form_(form) {}

bool WeightMemory::packs(const Tensor& tensor) const {
  const DTypeTrait& type = trait(tensor.dtype);
  if (form_ == WeightForm::kInt8 && (!type.quantized || WeightSticks::is_row(tensor))) return false;
  return type.decode != nullptr && type.encode != nullptr && !type.integer &&
         tensor.dtype != DType::kF64 && is_contiguous(tensor) && tensor.size(2) == 1 &&
         tensor.size(3) == 1 && (!WeightSticks::is_row(tensor) || type.block_elements == 1) &&
         tensor.size(0) > 0 && tensor.size(1) > 0 &&
         std::ranges::all_of(tensor.shape, &Dim::is_fixed);
}

std::size_t WeightMemory::packed_bytes(const Tensor& tensor) const {
  const auto plain = static_cast<std::size_t>(byte_span(tensor));
  return std::max<std::size_t>(plain, WeightSticks::grid_of(machine_, tensor, form_).bytes());
}

Status WeightMemory::check_place(const PlacedTensor& placed) const {
  if (!packs(placed.tensor)) {
    return invalid("{} can't be in {} memory, which is for rows and matrices",
                   to_string(placed.tensor), name());
  }
  if (placed.offset % kPage == 0) return ok();
  return invalid("{} at {} does not start at a page", to_string(placed.tensor), placed.offset);
}

std::unique_ptr<PackedTensor> WeightMemory::place(const Tensor& tensor, Buffer& bytes,
                                                  std::size_t offset) const {
  return std::make_unique<WeightSticks>(machine_, tensor, form_, bytes.host_data() + offset);
}

WeightSticks* find_weight(const Address& at) {
  if (!at || as_weight_memory(&at.buffer->type()) == nullptr) return nullptr;
  return static_cast<WeightSticks*>(find_packed(at));
}

bool has_int8_weight(const NodeView& view) {
  for (std::size_t s = 0; s < view.node().sources.size(); ++s) {
    const WeightMemory* const memory =
        view.has_source(s) ? as_weight_memory(view.source_memory(s)) : nullptr;
    if (memory != nullptr && memory->form() == WeightForm::kInt8) return true;
  }
  return false;
}

}  // namespace shunt::zdnn
