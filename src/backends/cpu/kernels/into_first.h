// Kernels that change the elements of their first source in place, each by the elements of other
// sources in the same place.
#pragma once

#include <array>

#include "backends/cpu/kernels/copy.h"

namespace shunt::cpu {

/// Items are pieces of rows of the result, which is F32, F16 or BF16, of any strides.
class IntoFirstKernel : public PieceKernel {
 public:
  std::size_t worker_scratch(const NodeView&, const CpuTarget&) const final {
    return (2 + kMostRead) * static_cast<std::size_t>(kPiece) * sizeof(float);
  }

 protected:
  static constexpr std::size_t kMostRead = 2;

  /// Calls f(y, rows of sources 1 to `read`, room for a piece, count) for pieces [begin, end); f
  /// changes y.
  template <class F>
  static void update(const Call& call, std::size_t read, std::int64_t begin, std::int64_t end,
                     std::byte* scratch, F f) {
    const TensorArg& result = call.result;
    float* rooms = as_f32(scratch);
    for_each_piece(result, begin, end,
                   [&](const RowIndex& at, std::int64_t first, std::int64_t count) {
                     std::byte* to = element(result, row_data(result, at), first);
                     const bool plain = result.dtype == DType::kF32 && has_plain_rows(result);
                     float* y = plain ? as_f32(to) : rooms + kPiece;
                     if (!plain) read_f32(result, row_data(result, at), first, count, y);
                     std::array<const float*, kMostRead> rows = {};
                     for (std::size_t i = 0; i < read; ++i) {
                       const TensorArg& source = call.sources[1 + i];
                       rows[i] = view_f32(source, row_data(source, at), first, count,
                                          rooms + static_cast<std::int64_t>(2 + i) * kPiece);
                     }
                     f(y, rows, rooms, count);
                     if (plain) return;
                     write_f32(y, result, row_data(result, at), first, count, scratch);
                   });
  }
};

}  // namespace shunt::cpu
