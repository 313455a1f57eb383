// Copies a piece of a row between any two types that an op accepts, with any strides.
#pragma once

#include "backends/cpu/kernels/convert.h"
#include "backends/cpu/kernels/rows.h"

namespace shunt::cpu {

/// Bytes of scratch that write_f32() and copy_piece() need for `count` elements: twice as 8-byte
/// elements, once as F32.
constexpr std::size_t copy_scratch_bytes(std::int64_t count) {
  return static_cast<std::size_t>(count) * (8 + 8 + sizeof(float));
}

/// Converts F32 to elements [first, first + count) of a row; `scratch` has room for as many
/// elements of its type.
inline void write_f32(const float* from, const TensorArg& to, std::byte* row, std::int64_t first,
                      std::int64_t count, std::byte* scratch) {
  std::byte* at = element(to, row, first);
  if (has_plain_rows(to)) return simd::encode(to.level, from, to.dtype, at, count);
  const std::size_t width = trait(to.dtype).block_bytes;
  simd::encode(to.level, from, to.dtype, scratch, count);
  copy_elements(scratch, static_cast<std::int64_t>(width), at, to.strides[0], width, count);
}

/// Copies `count` elements of a row, from `from_first` on, to another row, from `to_first` on (both
/// the start of a block), converted if types differ.
inline void copy_run(const TensorArg& from, std::byte* from_row, std::int64_t from_first,
                     const TensorArg& to, std::byte* to_row, std::int64_t to_first,
                     std::int64_t count, std::byte* scratch) {
  const std::byte* source = element(from, from_row, from_first);
  std::byte* target = element(to, to_row, to_first);
  const DTypeTrait& type = trait(from.dtype);
  if (from.dtype != to.dtype) {
    if (const Convert convert = direct_conversion(from.dtype, to.dtype)) {
      return convert(source, from.strides[0], target, to.strides[0], count);
    }
    auto* values = as_f32(scratch);
    std::byte* rest = scratch + static_cast<std::size_t>(count) * sizeof(float);
    write_f32(view_f32(from, from_row, from_first, count, values), to, to_row, to_first, count,
              rest);
  } else if (has_plain_rows(from) && has_plain_rows(to)) {
    std::memcpy(target, source,
                static_cast<std::size_t>(count / type.block_elements) * type.block_bytes);
  } else {
    copy_elements(source, from.strides[0], target, to.strides[0], type.block_bytes, count);
  }
}

/// Copies elements [first, first + count) of one row to those of another.
inline void copy_piece(const TensorArg& from, std::byte* from_row, const TensorArg& to,
                       std::byte* to_row, std::int64_t first, std::int64_t count,
                       std::byte* scratch) {
  copy_run(from, from_row, first, to, to_row, first, count, scratch);
}

/// Copies `from` to the result, piece by piece.
class CopyKernel : public PieceKernel {
 public:
  std::size_t worker_scratch(const NodeView&, const CpuTarget&) const final {
    return copy_scratch_bytes(kPiece);
  }

 protected:
  static void copy(const TensorArg& from, const TensorArg& to, std::int64_t begin, std::int64_t end,
                   std::byte* scratch) {
    for_each_piece(to, begin, end, [&](const RowIndex& at, std::int64_t first, std::int64_t count) {
      copy_piece(from, row_data(from, at), to, row_data(to, at), first, count, scratch);
    });
  }
};

}  // namespace shunt::cpu
