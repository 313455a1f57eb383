#include "backends/zdnn/weight_memory.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/aligned_bytes.h"
#include "base/fail.h"
#include "device/range.h"

namespace shunt::zdnn {

namespace {

class WeightBuffer final : public Buffer {
 public:
  WeightBuffer(const WeightMemory& type, AlignedBytes data, std::size_t size)
      : type_(type), data_(std::move(data)), size_(size) {}

  void add(const Machine& machine, const PlacedTensor& placed) {
    weights_.try_emplace(placed.offset, machine, placed.tensor, type_.form(),
                         data_.get() + placed.offset);
  }
  WeightSticks* find(std::size_t offset) {
    const auto found = weights_.find(offset);
    return found == weights_.end() ? nullptr : &found->second;
  }

  const BufferType& type() const override { return type_; }
  std::size_t size() const override { return size_; }
  Status write(std::size_t offset, std::span<const std::byte> from) override {
    SHUNT_TRY(check_range(*this, offset, from.size()));
    return each(offset, from.size(), [&](WeightSticks& weight, Part part) {
      return weight.write(part.in_weight, from.subspan(part.in_range, part.bytes));
    });
  }
  Status read(std::size_t offset, std::span<std::byte> to) override {
    SHUNT_TRY(check_range(*this, offset, to.size()));
    return each(offset, to.size(), [&](WeightSticks& weight, Part part) {
      return weight.read(part.in_weight, to.subspan(part.in_range, part.bytes));
    });
  }

 private:
  /// What a range and a weight have in common.
  struct Part {
    std::size_t in_weight;
    std::size_t in_range;
    std::size_t bytes;
  };
  /// What lies between weights is nobody's.
  template <class Visit>
  Status each(std::size_t offset, std::size_t bytes, Visit visit) {
    for (auto& [start, weight] : weights_) {
      const std::size_t begin = std::max(start, offset);
      const std::size_t end = std::min(start + weight.plain_bytes(), offset + bytes);
      if (begin >= end) continue;
      SHUNT_TRY(visit(weight, Part{begin - start, begin - offset, end - begin}));
    }
    return ok();
  }

  const WeightMemory& type_;
  AlignedBytes data_;
  std::size_t size_;
  std::map<std::size_t, WeightSticks> weights_;  // by where they start
};

}  // namespace

std::string_view WeightMemory::name() const {
  return form_ == WeightForm::kInt8 ? "zdnn 8-bit weights" : "zdnn weights";
}

std::span<const Layout> WeightMemory::layouts() const {
  static const std::array<Layout, 2> kLayouts = {
      Layout{LayoutKind::kStickified, false, "numbers are rounded to DLFLOAT16: 9 bits and a sign"},
      Layout{LayoutKind::kStickified, false,
             "numbers are rounded to 8 bits, with a scale for about a MiB of them"}};
  return std::span(kLayouts).subspan(static_cast<std::size_t>(form_), 1);
}

bool WeightMemory::can_hold(const Tensor& tensor) const {
  const DTypeTrait& type = trait(tensor.dtype);
  if (form_ == WeightForm::kInt8 && (!type.quantized || WeightSticks::is_row(tensor))) return false;
  return type.decode != nullptr && type.encode != nullptr && !type.integer &&
         tensor.dtype != DType::kF64 && is_contiguous(tensor) && tensor.size(2) == 1 &&
         tensor.size(3) == 1 && (!WeightSticks::is_row(tensor) || type.block_elements == 1) &&
         tensor.size(0) > 0 && tensor.size(1) > 0 &&
         std::ranges::all_of(tensor.shape, &Dim::is_fixed);
}

std::size_t WeightMemory::size_of(const Tensor& tensor) const {
  const auto plain = static_cast<std::size_t>(byte_span(tensor));
  if (!can_hold(tensor)) return plain;
  return std::max<std::size_t>(plain, WeightSticks::grid_of(machine_, tensor, form_).bytes());
}

Result<std::unique_ptr<Buffer>> WeightMemory::allocate(std::size_t bytes) {
  return allocate_for(bytes, {});
}

Result<std::unique_ptr<Buffer>> WeightMemory::allocate_for(std::size_t bytes,
                                                           std::span<const PlacedTensor> tensors) {
  AlignedBytes data = allocate_aligned(bytes, kPage);
  if (data == nullptr) {
    return fail(ErrorCode::kOutOfMemory, "no {} bytes of host memory to be had", bytes);
  }
  auto buffer = std::make_unique<WeightBuffer>(*this, std::move(data), bytes);
  for (const PlacedTensor& placed : tensors) {
    if (!can_hold(placed.tensor)) {
      return invalid("{} can't lie in {} memory, which is for rows and matrices",
                     to_string(placed.tensor), name());
    }
    if (placed.offset % kPage != 0 || placed.offset > bytes ||
        size_of(placed.tensor) > bytes - placed.offset) {
      return invalid("{} at {} is not at a page inside {} bytes", to_string(placed.tensor),
                     placed.offset, bytes);
    }
    buffer->add(machine_, placed);
  }
  return buffer;
}

WeightSticks* find_weight(const Address& at) {
  auto* const buffer = dynamic_cast<WeightBuffer*>(at.buffer);
  return buffer == nullptr ? nullptr : buffer->find(at.offset);
}

}  // namespace shunt::zdnn
