#include "backends/cpu/weight_memory.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/interleaved.h"
#include "backends/cpu/simd/float_lanes.h"
#include "backends/cpu/simd/int8_lanes.h"
#include "base/ceil_div.h"

namespace shunt::cpu {

namespace {

/// Bytes that a thread rearranges before it takes more.
constexpr std::size_t kTaken = std::size_t{1} << 18;

class InterleavedMatrix final : public PackedTensor {
 public:
  InterleavedMatrix(const Tensor& tensor, std::byte* data, std::shared_ptr<CpuThreads> threads)
      : dtype_(tensor.dtype),
        k_(tensor.size(0)),
        bytes_(interleaved_bytes(tensor)),
        group_bytes_(static_cast<std::size_t>(interleaved_row_bytes(dtype_, k_) * kGroupRows)),
        data_(data),
        threads_(std::move(threads)) {
    const std::int64_t rows = tensor.size(1) * tensor.size(2) * tensor.size(3);
    if (rows % kGroupRows == 0) return;
    // Rows that fill up a last group.
    std::memset(data_ + bytes_ - group_bytes_, 0, group_bytes_);
  }
  std::size_t plain_bytes() const override { return bytes_; }

  Status write(std::size_t offset, std::span<const std::byte> from) override {
    return each_part(
        offset, from.size(), [&](std::size_t at, std::size_t byte) { data_[at] = from[byte]; },
        [&](std::size_t group, std::size_t first) {
          interleave_rows(dtype_, k_, from.data() + first, data_ + group);
        });
  }
  Status read(std::size_t offset, std::span<std::byte> to) override {
    return each_part(
        offset, to.size(), [&](std::size_t at, std::size_t byte) { to[byte] = data_[at]; },
        [&](std::size_t group, std::size_t first) {
          separate_rows(dtype_, k_, data_ + group, to.data() + first);
        });
  }

 private:
  /// For a range of plain bytes from `offset` on. Calls piece(at, first) for byte number `first` of
  /// the range, which is at `at`, and whole(at, first) for whole groups. The calls are on the
  /// threads if they are many and no run has the threads, else on the calling thread.
  template <class Piece, class Whole>
  Status each_part(std::size_t offset, std::size_t bytes, const Piece& piece,
                   const Whole& whole) const {
    const std::size_t end = offset + bytes;
    const std::size_t size = group_bytes_;
    std::size_t at = offset;
    const auto bytewise = [&](std::size_t until) {
      for (; at < until; ++at) {
        const std::size_t group = at / size * size;
        piece(group + interleaved_at(dtype_, k_, at - group), at - offset);
      }
    };
    if (at % size != 0) bytewise(std::min(end, at + size - at % size));
    const std::size_t groups = (end - at) / size;
    const std::size_t step = std::max<std::size_t>(kTaken / size, 1);
    const std::int64_t steps =
        ceil_div(static_cast<std::int64_t>(groups), static_cast<std::int64_t>(step));
    const auto take = [&](std::int64_t item, std::byte*) {
      const std::size_t from = static_cast<std::size_t>(item) * step;
      for (std::size_t g = from; g < std::min(from + step, groups); ++g) {
        whole(at + g * size, at + g * size - offset);
      }
    };
    Pool& pool = *threads_->pool;
    std::unique_lock<std::mutex> lock;
    // A function that a run calls has only its own thread; other runs are not waited for.
    if (steps > 1 && !pool.at_work()) lock = pool.try_lock();
    if (lock.owns_lock()) {
      for_each_item_locked(pool, steps, take);
    } else {
      for (std::int64_t item = 0; item < steps; ++item) take(item, nullptr);
    }
    at += groups * size;
    bytewise(end);
    return ok();
  }

  DType dtype_;
  std::int64_t k_;
  std::size_t bytes_;
  std::size_t group_bytes_;
  std::byte* data_;
  std::shared_ptr<CpuThreads> threads_;
};

}  // namespace

bool InterleavedMemory::packs(const Tensor& tensor) const {
  return can_interleave(tensor);
}

std::size_t InterleavedMemory::packed_bytes(const Tensor& tensor) const {
  return interleaved_bytes(tensor);
}

std::unique_ptr<PackedTensor> InterleavedMemory::place(const Tensor& tensor, Buffer& bytes,
                                                       std::size_t offset) const {
  return std::make_unique<InterleavedMatrix>(tensor, bytes.host_data() + offset, threads_);
}

bool is_interleaved_memory(const BufferType* type) {
  return dynamic_cast<const InterleavedMemory*>(type) != nullptr;
}

bool multiplies_interleaved(simd::Level level, DType type) {
  return simd::has_lanes(level, type) || simd::has_float_lanes(level, type);
}

bool is_interleaved(const SegmentView& segment, NodeId id) {
  const NodeId owner = segment.graph.node(id).storage;
  return !segment.memory.empty() && is_interleaved_memory(segment.memory[owner]) &&
         can_interleave(segment.graph.node(owner).result);
}

bool is_interleaved(const NodeView& node, std::size_t source) {
  return is_interleaved_memory(node.source_memory(source)) && can_interleave(node.owner(source));
}

}  // namespace shunt::cpu
