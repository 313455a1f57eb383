// The common code of kernels that go over rows: numbering rows and pieces of them, and reading them
// as F32 whatever their type and strides.
#pragma once

#include <algorithm>
#include <cstring>

#include "backends/cpu/interleaved.h"
#include "backends/cpu/kernel.h"
#include "backends/cpu/simd/convert.h"
#include "base/ceil_div.h"
#include "tensor/formats/half.h"

namespace shunt::cpu {

/// Base of all CPU kernels: the CPU computes every node that an op accepts.
class AnyCaseKernel : public CpuKernel {
 public:
  Support supports(const NodeView&, const CpuTarget&) const final { return Support::yes(); }
};

/// Items that together have about as many elements as are worth taking at once.
constexpr std::int64_t grain_for(std::int64_t elements_per_item) {
  constexpr std::int64_t kElements = 16384;
  return std::max<std::int64_t>(1, kElements / std::max<std::int64_t>(1, elements_per_item));
}

/// Base of kernels whose items are the rows of the result.
class RowKernel : public AnyCaseKernel {
 public:
  std::int64_t items(const Call& call, int) const final { return call.result.rows(); }
  std::int64_t grain(const Call& call, int) const final { return grain_for(call.result.sizes[0]); }
};

struct RowIndex {
  std::int64_t i1 = 0;
  std::int64_t i2 = 0;
  std::int64_t i3 = 0;
};

inline RowIndex row_index(const Sizes& sizes, std::int64_t row) {
  return {row % sizes[1], row / sizes[1] % sizes[2], row / (sizes[1] * sizes[2])};
}

inline std::byte* row_data(const TensorArg& tensor, const RowIndex& at) {
  return tensor.row(at.i1, at.i2, at.i3);
}

/// Calls f(index) for rows [begin, end) of a tensor of `sizes`.
template <class F>
void for_each_row(const Sizes& sizes, std::int64_t begin, std::int64_t end, F f) {
  if (begin >= end) return;
  RowIndex at = row_index(sizes, begin);
  for (std::int64_t row = begin; row < end; ++row) {
    f(at);
    if (++at.i1 < sizes[1]) continue;
    at.i1 = 0;
    if (++at.i2 < sizes[2]) continue;
    at.i2 = 0;
    ++at.i3;
  }
}

/// Rows are cut into pieces of this number of elements (whole blocks of every type), so that a
/// tensor of one long row has items for several threads.
inline constexpr std::int64_t kPiece = 4096;

inline std::int64_t piece_count(const TensorArg& tensor) {
  return tensor.rows() * ceil_div(tensor.sizes[0], kPiece);
}

/// Base of kernels whose items are the pieces of the result.
class PieceKernel : public AnyCaseKernel {
 public:
  std::int64_t items(const Call& call, int) const final { return piece_count(call.result); }
  std::int64_t grain(const Call& call, int) const final {
    return grain_for(std::min(kPiece, call.result.sizes[0]));
  }
};

/// Calls f(index of the row, first element, count) for pieces [begin, end).
template <class F>
void for_each_piece(const TensorArg& tensor, std::int64_t begin, std::int64_t end, F f) {
  if (begin >= end) return;
  const std::int64_t pieces = ceil_div(tensor.sizes[0], kPiece);
  std::int64_t piece = begin;
  for_each_row(tensor.sizes, begin / pieces, ceil_div(end, pieces), [&](const RowIndex& at) {
    do {
      const std::int64_t first = piece % pieces * kPiece;
      f(at, first, std::min(kPiece, tensor.sizes[0] - first));
      ++piece;
    } while (piece < end && piece % pieces != 0);
  });
}

inline bool has_plain_rows(const TensorArg& tensor) {
  return !tensor.interleaved &&
         tensor.strides[0] == static_cast<std::int64_t>(trait(tensor.dtype).block_bytes);
}

/// Where element `first` (the start of a block) of a row is.
inline std::byte* element(const TensorArg& tensor, std::byte* row, std::int64_t first) {
  return row + first / trait(tensor.dtype).block_elements * tensor.strides[0];
}

/// Copies `count` elements of a plain type between any strides.
inline void copy_elements(const std::byte* from, std::int64_t from_stride, std::byte* to,
                          std::int64_t to_stride, std::size_t element_bytes, std::int64_t count) {
  const auto copy = [&](auto width) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(to + i * to_stride, from + i * from_stride, width);
    }
  };
  switch (element_bytes) {
    case 1:
      return copy(std::integral_constant<std::size_t, 1>());
    case 2:
      return copy(std::integral_constant<std::size_t, 2>());
    case 4:
      return copy(std::integral_constant<std::size_t, 4>());
    default:
      return copy(std::integral_constant<std::size_t, 8>());
  }
}

/// `count` elements from `first` (the start of a block) of an interleaved row, in the layout of a
/// plain one.
inline void separate(const TensorArg& tensor, const std::byte* row, std::int64_t first,
                     std::int64_t count, std::byte* to) {
  const std::int64_t number = (row - tensor.data) / tensor.strides[1];
  const std::byte* group = tensor.data + number / kGroupRows * kGroupRows * tensor.strides[1];
  separate_row(tensor.dtype, group, number % kGroupRows, first, count, to);
}

/// `count` elements from `first` (the start of a block) of a row to F32 in `to`.
inline void read_f32(const TensorArg& tensor, std::byte* row, std::int64_t first,
                     std::int64_t count, float* to) {
  if (tensor.interleaved) {
    constexpr std::int64_t kHere = 256;
    alignas(64) std::byte plain[kHere * sizeof(float)];
    for (std::int64_t i = 0; i < count; i += kHere) {
      const std::int64_t here = std::min(kHere, count - i);
      separate(tensor, row, first + i, here, plain);
      simd::decode(tensor.level, tensor.dtype, plain, to + i, here);
    }
    return;
  }
  const std::byte* from = element(tensor, row, first);
  if (has_plain_rows(tensor)) return simd::decode(tensor.level, tensor.dtype, from, to, count);
  const DTypeTrait& type = trait(tensor.dtype);
  if (tensor.dtype == DType::kF32) {
    return copy_elements(from, tensor.strides[0], reinterpret_cast<std::byte*>(to), sizeof(float),
                         sizeof(float), count);
  }
  // Blocks of 64 bytes at most: gathered, then decoded at once.
  alignas(8) std::byte packed[64];
  const auto width = static_cast<std::int64_t>(type.block_bytes);
  const std::int64_t batch = static_cast<std::int64_t>(sizeof packed) / width;
  for (std::int64_t i = 0; i < count; i += batch) {
    const std::int64_t here = std::min(batch, count - i);
    copy_elements(from + i * tensor.strides[0], tensor.strides[0], packed, width, type.block_bytes,
                  here);
    simd::decode(tensor.level, tensor.dtype, packed, to + i, here);
  }
}

/// The same, in place if they are F32 in a row, else in `scratch`.
inline const float* view_f32(const TensorArg& tensor, std::byte* row, std::int64_t first,
                             std::int64_t count, float* scratch) {
  if (tensor.dtype == DType::kF32 && has_plain_rows(tensor)) {
    return reinterpret_cast<const float*>(element(tensor, row, first));
  }
  read_f32(tensor, row, first, count, scratch);
  return scratch;
}

/// Bytes of scratch that view_f32 needs for `count` elements of a source.
inline std::size_t view_f32_bytes(const Tensor& tensor, std::int64_t count) {
  const bool plain = tensor.dtype == DType::kF32 && tensor.stride(0) == sizeof(float);
  return plain ? 0 : static_cast<std::size_t>(count) * sizeof(float);
}

inline float* as_f32(std::byte* data) {
  return reinterpret_cast<float*>(data);
}

/// Calls f(y) to compute `count` elements of F32 for a row of a result, from `first` on. If the
/// result is F32, y is their place in it. Otherwise y is `room`, from where they are rounded to the
/// result's type. So `room` may be the memory that the sources were read into, if f can work in
/// place.
template <class F>
void compute_f32(const TensorArg& result, std::byte* row, std::int64_t first, std::int64_t count,
                 float* room, F f) {
  std::byte* to = element(result, row, first);
  if (result.dtype == DType::kF32) return f(as_f32(to));
  f(room);
  simd::encode(result.level, room, result.dtype, to, count);
}

/// Bytes of scratch that compute_f32 needs for `count` elements, if no source has been read into
/// it.
inline std::size_t compute_f32_bytes(const Tensor& result, std::int64_t count) {
  return result.dtype == DType::kF32 ? 0 : static_cast<std::size_t>(count) * sizeof(float);
}

/// An element of F32, F16 or BF16.
inline float load_f32(DType dtype, const std::byte* at) {
  if (dtype == DType::kF32) {
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::uint16_t half = 0;
  std::memcpy(&half, at, sizeof half);
  return dtype == DType::kF16 ? formats::f16_to_f32(half) : formats::bf16_to_f32(half);
}

/// One number of an F32 source.
inline float number(const TensorArg& tensor, std::int64_t i0, std::int64_t i1 = 0,
                    std::int64_t i2 = 0, std::int64_t i3 = 0) {
  return *as_f32(tensor.row(i1, i2, i3) + i0 * tensor.strides[0]);
}

}  // namespace shunt::cpu
