#include "backend_support/packed_memory.h"

#include <algorithm>

#include "device/host_buffer.h"
#include "device/range.h"
#include "shunt/message.h"

namespace shunt {

/// The range of a packed tensor in a buffer.
struct PackedPlace {
  std::size_t begin = 0;
  std::size_t end = 0;
  Tensor tensor;
  std::unique_ptr<PackedTensor> packed = {};
};

namespace {

std::int64_t rows_of(const Tensor& tensor) {
  return tensor.size(1) * tensor.size(2) * tensor.size(3);
}

class PackedBuffer final : public Buffer {
 public:
  PackedBuffer(const PackedMemory& type, Buffer& bytes, std::unique_ptr<Buffer> owned,
               std::vector<PackedPlace> places)
      : type_(type), bytes_(bytes), owned_(std::move(owned)), places_(std::move(places)) {}
  const BufferType& type() const override { return type_; }
  std::size_t size() const override { return bytes_.size(); }
  Buffer& bytes() const { return bytes_; }

  Status write(std::size_t offset, std::span<const std::byte> from) override {
    SHUNT_TRY(check_range(*this, offset, from.size()));
    return each_part(
        offset, from.size(),
        [&](std::size_t at, std::size_t first, std::size_t bytes) {
          return bytes_.write(at, from.subspan(first, bytes));
        },
        [&](PackedTensor& packed, std::size_t at, std::size_t first, std::size_t bytes) {
          return packed.write(at, from.subspan(first, bytes));
        });
  }

  Status read(std::size_t offset, std::span<std::byte> to) override {
    SHUNT_TRY(check_range(*this, offset, to.size()));
    return each_part(
        offset, to.size(),
        [&](std::size_t at, std::size_t first, std::size_t bytes) {
          return bytes_.read(at, to.subspan(first, bytes));
        },
        [&](PackedTensor& packed, std::size_t at, std::size_t first, std::size_t bytes) {
          return packed.read(at, to.subspan(first, bytes));
        });
  }

  PackedTensor* find(std::size_t offset) const {
    const auto found = std::ranges::lower_bound(places_, offset, {}, &PackedPlace::begin);
    return found == places_.end() || found->begin != offset ? nullptr : found->packed.get();
  }

  bool is_placed(std::size_t offset, const Tensor& tensor) const {
    const std::size_t end = offset + type_.size_of(tensor);
    const auto at = std::ranges::upper_bound(places_, offset, {}, &PackedPlace::end);
    const bool in_none = at == places_.end() || at->begin >= end;
    if (in_none || !type_.packs(tensor)) return in_none && !type_.packs(tensor);
    return at->begin == offset && at->end == end && at->tensor.dtype == tensor.dtype &&
           at->tensor.size(0) == tensor.size(0) && rows_of(at->tensor) == rows_of(tensor);
  }

 private:
  /// Visits the parts of a range from `offset` on. Calls plain(at, first, bytes) for plain bytes at
  /// `at`, which start at byte `first` of the range. Calls packed(tensor, at, first, bytes) for the
  /// bytes from `at` on of a packed tensor. If a tensor takes more than its plain bytes, the rest
  /// is left out.
  template <class Plain, class Packed>
  Status each_part(std::size_t offset, std::size_t bytes, const Plain& plain,
                   const Packed& packed) const {
    const std::size_t end = offset + bytes;
    auto next = std::ranges::upper_bound(places_, offset, {}, &PackedPlace::end);
    for (std::size_t at = offset; at < end;) {
      if (next == places_.end() || at < next->begin) {
        const std::size_t border = next == places_.end() ? end : std::min(end, next->begin);
        SHUNT_TRY(plain(at, at - offset, border - at));
        at = border;
        continue;
      }
      const std::size_t in_tensor = at - next->begin;
      const std::size_t border = std::min(end, next->end);
      const std::size_t last = std::min(border - next->begin, next->packed->plain_bytes());
      if (in_tensor < last) {
        SHUNT_TRY(packed(*next->packed, in_tensor, at - offset, last - in_tensor));
      }
      at = border;
      ++next;
    }
    return ok();
  }

  const PackedMemory& type_;
  Buffer& bytes_;
  std::unique_ptr<Buffer> owned_;    // null: the bytes are another one's
  std::vector<PackedPlace> places_;  // in order
};

}  // namespace

std::size_t PackedMemory::size_of(const Tensor& tensor) const {
  return packs(tensor) ? packed_bytes(tensor) : BufferType::size_of(tensor);
}

Result<std::unique_ptr<Buffer>> PackedMemory::allocate(std::size_t bytes) {
  return allocate_for(bytes, {});
}

Result<std::vector<PackedPlace>> PackedMemory::check_places(
    std::size_t bytes, std::span<const PlacedTensor> tensors) const {
  std::vector<PackedPlace> places;
  for (const PlacedTensor& placed : tensors) {
    SHUNT_TRY(check_place(placed));
    const std::size_t size = size_of(placed.tensor);
    if (placed.offset > bytes || size > bytes - placed.offset) {
      return invalid("{} of {} bytes at {} is not inside a buffer of {} bytes",
                     to_string(placed.tensor), size, placed.offset, bytes);
    }
    if (size > 0) places.push_back({placed.offset, placed.offset + size, placed.tensor});
  }
  std::ranges::sort(places, {}, &PackedPlace::begin);
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i].begin < places[i - 1].end) {
      return invalid("two tensors of a buffer overlap at byte {}", places[i].begin);
    }
  }
  std::erase_if(places, [&](const PackedPlace& place) { return !packs(place.tensor); });
  return places;
}

std::unique_ptr<Buffer> PackedMemory::make_buffer(Buffer& bytes, std::unique_ptr<Buffer> owned,
                                                  std::vector<PackedPlace> places) const {
  for (PackedPlace& each : places) each.packed = place(each.tensor, bytes, each.begin);
  return std::make_unique<PackedBuffer>(*this, bytes, std::move(owned), std::move(places));
}

Result<std::unique_ptr<Buffer>> PackedMemory::allocate_for(std::size_t bytes,
                                                           std::span<const PlacedTensor> tensors) {
  SHUNT_ASSIGN(auto places, check_places(bytes, tensors));
  SHUNT_ASSIGN(auto data, allocate_bytes(bytes));
  Buffer& memory = *data;
  return make_buffer(memory, std::move(data), std::move(places));
}

Result<std::unique_ptr<Buffer>> PackedMemory::place_in(Buffer& memory,
                                                       std::span<const PlacedTensor> tensors) {
  if (container() == nullptr) return BufferType::place_in(memory, tensors);
  if (&memory.type() != container()) {
    return invalid("a buffer of {} memory can't be placed in {} memory", name(),
                   memory.type().name());
  }
  SHUNT_ASSIGN(auto places, check_places(memory.size(), tensors));
  return make_buffer(memory, nullptr, std::move(places));
}

Result<std::unique_ptr<Buffer>> PackedMemory::allocate_bytes(std::size_t bytes) {
  return allocate_host_buffer(*this, bytes);
}

std::byte* packed_data(Buffer& buffer) {
  return static_cast<PackedBuffer&>(buffer).bytes().host_data();
}

Buffer* packed_bytes_of(const Buffer& buffer) {
  const auto* const packed = dynamic_cast<const PackedBuffer*>(&buffer);
  return packed == nullptr ? nullptr : &packed->bytes();
}

PackedTensor* find_packed(const Address& at) {
  const auto* const buffer = dynamic_cast<const PackedBuffer*>(at.buffer);
  return buffer == nullptr ? nullptr : buffer->find(at.offset);
}

bool is_placed(const Buffer& buffer, std::size_t offset, const Tensor& tensor) {
  return static_cast<const PackedBuffer&>(buffer).is_placed(offset, tensor);
}

}  // namespace shunt
