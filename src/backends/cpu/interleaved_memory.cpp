#include "backends/cpu/interleaved_memory.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "backends/cpu/interleaved.h"
#include "backends/cpu/simd/float_lanes.h"
#include "backends/cpu/simd/int8_lanes.h"
#include "base/cpu_topology.h"
#include "base/fail.h"
#include "device/range.h"

namespace shunt::cpu {

namespace {

/// A matrix in a buffer.
struct Matrix {
  std::size_t begin = 0;
  std::size_t end = 0;
  DType dtype = DType::kF32;
  std::int64_t k = 0;
  std::int64_t rows = 0;
  std::size_t group_bytes = 0;
};

std::int64_t rows_of(const Tensor& tensor) {
  return tensor.size(1) * tensor.size(2) * tensor.size(3);
}

/// Pieces of at least so many bytes are worth a thread.
constexpr std::size_t kWorthAThread = std::size_t{1} << 20;

/// Calls work(first, last) for parts of [0, count), some on threads of their own. If there are none
/// to be had, fewer do it.
template <class Work>
void share_out(std::size_t count, std::size_t threads, const Work& work) {
  std::vector<std::jthread> others;
  std::size_t begin = 0;
  for (std::size_t i = 0; i + 1 < threads; ++i) {
    const std::size_t end = begin + (count - begin) / (threads - i);
    try {
      others.emplace_back([&work, begin, end] { work(begin, end); });
    } catch (const std::exception&) {
      break;
    }
    begin = end;
  }
  work(begin, count);
}

class InterleavedBuffer final : public Buffer {
 public:
  InterleavedBuffer(std::unique_ptr<Buffer> plain, std::vector<Matrix> matrices)
      : plain_(std::move(plain)),
        matrices_(std::move(matrices)),
        threads_(static_cast<std::size_t>(read_cpu_topology().default_threads())) {}
  const BufferType& type() const override { return interleaved_memory(); }
  std::size_t size() const override { return plain_->size(); }
  std::byte* data() { return plain_->host_data(); }
  bool lies_as_expected(std::size_t offset, const Tensor& tensor) const {
    const std::size_t end = offset + type().size_of(tensor);
    const auto at = std::ranges::upper_bound(matrices_, offset, {}, &Matrix::end);
    const bool in_none = at == matrices_.end() || at->begin >= end;
    if (in_none || !can_interleave(tensor)) return in_none && !can_interleave(tensor);
    return at->begin == offset && at->end == end && at->dtype == tensor.dtype &&
           at->k == tensor.size(0) && at->rows == rows_of(tensor);
  }

  Status write(std::size_t offset, std::span<const std::byte> from) override {
    SHUNT_TRY(check_range(*this, offset, from.size()));
    const std::byte* const start = from.data();
    each_part(
        offset, from.size(),
        [&](std::size_t at, std::size_t first, std::size_t bytes) {
          std::memcpy(data() + at, start + first, bytes);
        },
        [&](const Matrix& matrix, std::size_t group, std::size_t first) {
          interleave_rows(matrix.dtype, matrix.k, start + first, data() + group);
        });
    return ok();
  }

  Status read(std::size_t offset, std::span<std::byte> to) override {
    SHUNT_TRY(check_range(*this, offset, to.size()));
    std::byte* const start = to.data();
    each_part(
        offset, to.size(),
        [&](std::size_t at, std::size_t first, std::size_t bytes) {
          std::memcpy(start + first, data() + at, bytes);
        },
        [&](const Matrix& matrix, std::size_t group, std::size_t first) {
          separate_rows(matrix.dtype, matrix.k, data() + group, start + first);
        });
    return ok();
  }

 private:
  /// For a range of plain bytes from `offset` on: calls piece(at, first, bytes) for bytes from
  /// number `first` of the range on that lie together at `at`, and whole(matrix, at, first) for
  /// whole groups, on several threads where they are many.
  template <class Piece, class Whole>
  void each_part(std::size_t offset, std::size_t bytes, const Piece& piece,
                 const Whole& whole) const {
    const std::size_t end = offset + bytes;
    auto next = std::ranges::upper_bound(matrices_, offset, {}, &Matrix::end);
    for (std::size_t at = offset; at < end;) {
      if (next == matrices_.end() || at < next->begin) {
        const std::size_t border = next == matrices_.end() ? end : std::min(end, next->begin);
        piece(at, at - offset, border - at);
        at = border;
        continue;
      }
      const Matrix& matrix = *next;
      const std::size_t border = std::min(end, matrix.end);
      const std::size_t size = matrix.group_bytes;
      const auto bytewise = [&](std::size_t until) {
        for (; at < until; ++at) {
          const std::size_t group = (at - matrix.begin) / size * size + matrix.begin;
          piece(group + interleaved_at(matrix.dtype, matrix.k, at - group), at - offset, 1);
        }
      };
      if (const std::size_t into = (at - matrix.begin) % size; into != 0) {
        bytewise(std::min(border, at + size - into));
      }
      const std::size_t groups = (border - at) / size;
      share_out(groups, std::min(threads_, groups * size / kWorthAThread + 1),
                [&](std::size_t from, std::size_t to) {
                  for (std::size_t g = from; g < to; ++g) {
                    whole(matrix, at + g * size, at + g * size - offset);
                  }
                });
      at += groups * size;
      bytewise(border);
      ++next;
    }
  }

  std::unique_ptr<Buffer> plain_;
  std::vector<Matrix> matrices_;  // by place
  std::size_t threads_;
};

class InterleavedMemory final : public BufferType {
 public:
  std::string_view name() const override { return "host, 16 rows interleaved"; }
  std::size_t alignment() const override { return host_memory().alignment(); }
  std::size_t max_size() const override { return host_memory().max_size(); }
  bool host_accessible() const override { return false; }
  std::span<const Layout> layouts() const override { return kLayouts; }
  std::size_t size_of(const Tensor& tensor) const override {
    return can_interleave(tensor) ? interleaved_bytes(tensor) : BufferType::size_of(tensor);
  }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override {
    return allocate_for(bytes, {});
  }
  Result<std::unique_ptr<Buffer>> allocate_for(std::size_t bytes,
                                               std::span<const PlacedTensor> tensors) override {
    std::vector<Matrix> matrices;  // those that are none have no groups
    for (const PlacedTensor& placed : tensors) {
      const std::size_t size = size_of(placed.tensor);
      if (placed.offset > bytes || size > bytes - placed.offset) {
        return invalid("a tensor of {} bytes at {} is not inside a buffer of {} bytes", size,
                       placed.offset, bytes);
      }
      if (size == 0) continue;
      Matrix matrix{placed.offset, placed.offset + size, placed.tensor.dtype, 0, 0, 0};
      if (can_interleave(placed.tensor)) {
        matrix.k = placed.tensor.size(0);
        matrix.rows = rows_of(placed.tensor);
        const std::int64_t row = interleaved_row_bytes(matrix.dtype, matrix.k);
        matrix.group_bytes = static_cast<std::size_t>(row * kGroupRows);
      }
      matrices.push_back(matrix);
    }
    std::ranges::sort(matrices, {}, &Matrix::begin);
    for (std::size_t i = 1; i < matrices.size(); ++i) {
      if (matrices[i].begin < matrices[i - 1].end) {
        return invalid("two tensors of a buffer overlap at byte {}", matrices[i].begin);
      }
    }
    std::erase_if(matrices, [](const Matrix& matrix) { return matrix.group_bytes == 0; });
    SHUNT_ASSIGN(auto plain, host_memory().allocate(bytes));
    for (const Matrix& matrix : matrices) {  // rows that fill up a last group
      if (matrix.rows % kGroupRows == 0) continue;
      std::memset(plain->host_data() + (matrix.end - matrix.group_bytes), 0, matrix.group_bytes);
    }
    return std::make_unique<InterleavedBuffer>(std::move(plain), std::move(matrices));
  }

 private:
  inline static const std::array<Layout, 2> kLayouts = {
      Layout{}, Layout{LayoutKind::kRepacked, true, "16 rows interleaved"}};
};

}  // namespace

BufferType& interleaved_memory() {
  static InterleavedMemory type;  // holds nothing: the same for everybody, for ever
  return type;
}

bool has_lanes(DType type) {
  return simd::has_lanes(type) || simd::has_float_lanes(type);
}

bool is_interleaved(const SegmentView& segment, NodeId id) {
  const NodeId owner = segment.graph.node(id).storage;
  return !segment.memory.empty() && segment.memory[owner] == &interleaved_memory() &&
         can_interleave(segment.graph.node(owner).result);
}

bool is_interleaved(const NodeView& node, std::size_t source) {
  return node.source_memory(source) == &interleaved_memory() && can_interleave(node.owner(source));
}

std::byte* interleaved_data(Buffer& buffer) {
  return static_cast<InterleavedBuffer&>(buffer).data();
}

bool lies_as_expected(const Buffer& buffer, std::size_t offset, const Tensor& tensor) {
  return static_cast<const InterleavedBuffer&>(buffer).lies_as_expected(offset, tensor);
}

}  // namespace shunt::cpu
