// Ops whose elements are those of their source in other places, the same along each dimension for
// all the others, or a constant: repeat, roll, pad, pad_reflect_1d.
#include <limits>

#include "backends/cpu/kernels/constant.h"
#include "backends/cpu/kernels/copy.h"
#include "shunt/ops/data.h"

namespace shunt::cpu {

namespace {

/// `count` elements of the result that come from elements first, first + step, ... of the source.
struct Stretch {
  std::int64_t first = 0;  ///< below 0: from nowhere, they are constant
  std::int64_t step = 1;   ///< 1, 0 or -1
  std::int64_t count = 0;
};

/// Where the result's elements from `i` on come from, along dimension `dim` where the source has n.
using Map = Stretch (*)(const Params& params, std::size_t dim, std::int64_t n, std::int64_t i);

constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

Stretch around(std::int64_t n, std::int64_t i) {
  if (n == 1) return {0, 0, kNoEnd};
  return {i % n, 1, n - i % n};
}

Stretch map_repeat(const Params&, std::size_t, std::int64_t n, std::int64_t i) {
  return around(n, i);
}

Stretch map_roll(const Params& params, std::size_t dim, std::int64_t n, std::int64_t i) {
  const std::int64_t shift = params.get<RollParams>().shift[dim] % n;
  return around(n, shift > 0 ? i + (n - shift) : i - shift);
}

Stretch map_pad(const Params& params, std::size_t dim, std::int64_t n, std::int64_t i) {
  const auto& pad = params.get<PadParams>();
  const std::int64_t before = pad.before[dim];
  if (pad.padding == Padding::kCircular) {
    // i below n + before + after, which is within 63 bits.
    const std::int64_t at = i - before;
    return around(n, at < 0 ? n - 1 - (-1 - at) % n : at);
  }
  if (i < before) return {-1, 0, before - i};
  if (i < before + n) return {i - before, 1, before + n - i};
  return {-1, 0, kNoEnd};
}

Stretch map_reflect(const Params& params, std::size_t dim, std::int64_t n, std::int64_t i) {
  if (dim != 0) return {i, 1, n - i};
  const std::int64_t at = i - params.get<PadReflectParams>().before;
  if (at < 0) return {-at, -1, -at};
  if (at < n) return {at, 1, n - at};
  return {2 * (n - 1) - at, -1, kNoEnd};
}

float no_constant(const Params&) {
  return 0;
}

float pad_value(const Params& params) {
  return params.get<PadParams>().value;
}

class Move final : public PieceKernel {
 public:
  Move(const Op& op, Map map, float (*constant)(const Params&) = no_constant)
      : op_(op), map_(map), constant_(constant) {}
  const Op& op() const override { return op_; }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte*) const override {
    const TensorArg& x = call.sources[0];
    const bool plain = !trait(x.dtype).quantized;
    const Constant constant(plain ? constant_(*call.params) : 0.0F, plain ? x.dtype : DType::kF32);
    for_each_piece(
        call.result, begin, end, [&](const RowIndex& at, std::int64_t first, std::int64_t count) {
          std::byte* to = row_data(call.result, at);
          std::byte* from = source_row(call, at);
          if (from == nullptr) return constant.write(to, first, count);
          for (std::int64_t done = 0; done < count;) {
            const Stretch each = map_(*call.params, 0, x.sizes[0], first + done);
            const std::int64_t here = std::min(each.count, count - done);
            if (each.first < 0) {
              constant.write(to, first + done, here);
            } else if (each.step == 1) {
              copy_run(x, from, each.first, call.result, to, first + done, here, nullptr);
            } else {
              copy_elements(element(x, from, each.first), each.step * x.strides[0],
                            element(call.result, to, first + done), call.result.strides[0],
                            trait(x.dtype).block_bytes, here);
            }
            done += here;
          }
        });
    return Fault::kNone;
  }

 private:
  /// The row that a row of the result is made of; null if all of it is constant.
  std::byte* source_row(const Call& call, const RowIndex& at) const {
    const TensorArg& x = call.sources[0];
    const std::int64_t i1 = map_(*call.params, 1, x.sizes[1], at.i1).first;
    const std::int64_t i2 = map_(*call.params, 2, x.sizes[2], at.i2).first;
    const std::int64_t i3 = map_(*call.params, 3, x.sizes[3], at.i3).first;
    if (i1 < 0 || i2 < 0 || i3 < 0) return nullptr;
    return x.row(i1, i2, i3);
  }

  const Op& op_;
  Map map_;
  float (*constant_)(const Params&);
};

}  // namespace

KernelList move_kernels() {
  static const Move kRepeat(repeat_op(), map_repeat);
  static const Move kRoll(roll_op(), map_roll);
  static const Move kPad(pad_op(), map_pad, pad_value);
  static const Move kReflect(pad_reflect_1d_op(), map_reflect);
  static constexpr const CpuKernel* kKernels[] = {&kRepeat, &kRoll, &kPad, &kReflect};
  return kKernels;
}

}  // namespace shunt::cpu
