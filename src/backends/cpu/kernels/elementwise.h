// The two kinds of kernels that compute an F32 result element by element from F32 sources.
#pragma once

#include "backends/cpu/kernels/rows.h"

namespace shunt::cpu {

/// Items are pieces of rows of the result; the result may take the place of source 0.
class ElementwiseKernel : public AnyCaseKernel {
 public:
  std::int64_t items(const Call& call, int) const final { return piece_count(call.result); }
  std::int64_t grain(const Call& call, int) const final {
    return grain_for(std::min(kPiece, call.result.sizes[0]));
  }
  int in_place_source() const final { return 0; }
  /// Room for a piece of each of two sources.
  std::size_t worker_scratch(const NodeView&) const final {
    return 2 * static_cast<std::size_t>(kPiece) * sizeof(float);
  }

 protected:
  /// Calls f(x, y, count) for pieces [begin, end) of source 0 and the result.
  template <class F>
  static void unary(const Call& call, std::int64_t begin, std::int64_t end, std::byte* scratch,
                    F f) {
    const TensorArg& x = call.sources[0];
    for_each_piece(call.result, begin, end,
                   [&](const RowIndex& at, std::int64_t first, std::int64_t count) {
                     float* y = as_f32(row_data(call.result, at)) + first;
                     f(view_f32(x, row_data(x, at), first, count, as_f32(scratch)), y, count);
                   });
  }

  /// The same with source 1, of the same shape: f(a, b, y, count).
  template <class F>
  static void binary(const Call& call, std::int64_t begin, std::int64_t end, std::byte* scratch,
                     F f) {
    const TensorArg& a = call.sources[0];
    const TensorArg& b = call.sources[1];
    for_each_piece(
        call.result, begin, end, [&](const RowIndex& at, std::int64_t first, std::int64_t count) {
          float* y = as_f32(row_data(call.result, at)) + first;
          const float* pa = view_f32(a, row_data(a, at), first, count, as_f32(scratch));
          const float* pb = view_f32(b, row_data(b, at), first, count, as_f32(scratch) + kPiece);
          f(pa, pb, y, count);
        });
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
          float* y = as_f32(row_data(call.result, at)) + first;
          const float* pa = view_f32(a, row_data(a, at), first, count, room_a);
          std::byte* row = b.row(at.i1 % b.sizes[1], at.i2 % b.sizes[2], at.i3 % b.sizes[3]);
          if (period == a.sizes[0]) {
            f(pa, view_f32(b, row, first, count, room_b), y, count);
          } else if (period == 1) {
            f(pa, *as_f32(row), y, count);
          } else {
            repeat(b, row, first, count, room_b);
            f(pa, static_cast<const float*>(room_b), y, count);
          }
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
