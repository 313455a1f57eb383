// The kinds of kernels that compute a result element by element in F32, whatever the types of the
// result and of its sources are. A piece of a source that is not F32 is read as F32 into scratch,
// computed there, and rounded once. F32 data is neither read nor written twice.
#pragma once

#include "backends/cpu/kernels/rows.h"

namespace shunt::cpu {

/// Items are pieces of rows of the result, which is contiguous and of source 0's type; it may take
/// the place of source 0.
class ElementwiseKernel : public PieceKernel {
 public:
  int in_place_source() const final { return 0; }
  /// Room for a piece of each of two sources, of which that of the first is also the result's.
  std::size_t worker_scratch(const NodeView&, const CpuTarget&) const final {
    return 2 * static_cast<std::size_t>(kPiece) * sizeof(float);
  }

 protected:
  /// Calls f(x, y, count) for pieces [begin, end) of source 0 and the result.
  template <class F>
  static void unary(const Call& call, std::int64_t begin, std::int64_t end, std::byte* scratch,
                    F f) {
    const TensorArg& x = call.sources[0];
    float* room = as_f32(scratch);
    for_each_piece(call.result, begin, end,
                   [&](const RowIndex& at, std::int64_t first, std::int64_t count) {
                     const float* px = view_f32(x, row_data(x, at), first, count, room);
                     compute_f32(call.result, row_data(call.result, at), first, count, room,
                                 [&](float* y) { f(px, y, count); });
                   });
  }

  /// The same with a second source, whose row row_of(index of a row of the result) is as long: f(a,
  /// b, y, count). A row for which that is null is left out.
  template <class F, class RowOf>
  static void binary(const TensorArg& a, const TensorArg& b, const TensorArg& result,
                     std::int64_t begin, std::int64_t end, std::byte* scratch, RowOf row_of, F f) {
    float* room_a = as_f32(scratch);
    float* room_b = room_a + kPiece;
    for_each_piece(result, begin, end,
                   [&](const RowIndex& at, std::int64_t first, std::int64_t count) {
                     std::byte* row = row_of(at);
                     if (row == nullptr) return;
                     const float* pa = view_f32(a, row_data(a, at), first, count, room_a);
                     const float* pb = view_f32(b, row, first, count, room_b);
                     compute_f32(result, row_data(result, at), first, count, room_a,
                                 [&](float* y) { f(pa, pb, y, count); });
                   });
  }

  /// The same of sources 0 and 1, which are of the same shape.
  template <class F>
  static void binary(const Call& call, std::int64_t begin, std::int64_t end, std::byte* scratch,
                     F f) {
    const TensorArg& b = call.sources[1];
    binary(
        call.sources[0], b, call.result, begin, end, scratch,
        [&](const RowIndex& at) { return row_data(b, at); }, f);
  }

  /// The same with a source 1 that is repeated along each dimension where it is smaller. f also
  /// takes a single number as b, for rows of one element.
  template <class F>
  static void broadcast(const Call& call, std::int64_t begin, std::int64_t end, std::byte* scratch,
                        F f) {
    const TensorArg& a = call.sources[0];
    const TensorArg& b = call.sources[1];
    const std::int64_t period = b.sizes[0];
    float* room_a = as_f32(scratch);
    float* room_b = room_a + kPiece;
    for_each_piece(
        call.result, begin, end, [&](const RowIndex& at, std::int64_t first, std::int64_t count) {
          const float* pa = view_f32(a, row_data(a, at), first, count, room_a);
          std::byte* row = b.row(at.i1 % b.sizes[1], at.i2 % b.sizes[2], at.i3 % b.sizes[3]);
          compute_f32(call.result, row_data(call.result, at), first, count, room_a, [&](float* y) {
            if (period == a.sizes[0]) {
              f(pa, view_f32(b, row, first, count, room_b), y, count);
            } else if (period == 1) {
              f(pa, *view_f32(b, row, 0, 1, room_b), y, count);
            } else {
              repeat(b, row, first, count, room_b);
              f(pa, static_cast<const float*>(room_b), y, count);
            }
          });
        });
  }

 private:
  /// Elements first % period, ... of a row, starting again at each end.
  static void repeat(const TensorArg& b, std::byte* row, std::int64_t first, std::int64_t count,
                     float* to) {
    const std::int64_t period = b.sizes[0];
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t from = (first + done) % period;
      const std::int64_t here = std::min(period - from, count - done);
      read_f32(b, row, from, here, to + done);
      done += here;
    }
  }
};

}  // namespace shunt::cpu
