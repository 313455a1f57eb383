// redux.sync: one value of the lanes that the mask names.
#include "cuda/instructions/reductions.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cuda/instructions/float_values.h"
#include "cuda/instructions/together.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

template <class T>
T add(T a, T b) {
  return static_cast<T>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}
template <class T>
T least(T a, T b) {
  return std::min(a, b);
}
template <class T>
T most(T a, T b) {
  return std::max(a, b);
}
std::uint32_t both(std::uint32_t a, std::uint32_t b) {
  return a & b;
}
std::uint32_t either(std::uint32_t a, std::uint32_t b) {
  return a | b;
}
std::uint32_t exclusive(std::uint32_t a, std::uint32_t b) {
  return a ^ b;
}

/// args: d, a, membermask.
template <class T, T (*kCombine)(T, T)>
Next reduce(Warp& warp, const Op& op, LaneMask lanes, LaneMask) {
  const T* a = lanes_of<T>(warp, op.args[1]);
  T value = a[first_lane(lanes)];
  for (LaneMask rest = lanes & (lanes - 1); rest != 0; rest &= rest - 1) {
    value = kCombine(value, a[first_lane(rest)]);
  }
  each_lane(lanes_of<T>(warp, op.args[0]), lanes, [&](unsigned) { return value; });
  return Next::kOn;
}

/// extra of the forms for f32.
enum ReductionFlag : std::uint32_t { kMaximum = 1, kAbsolute = 2, kNan = 4 };

/// -0 is less than +0; a NaN counts only with .NaN.
float better(float a, float b, std::uint32_t flags) {
  if (std::isnan(a)) return (flags & kNan) != 0 ? a : b;
  if (std::isnan(b)) return (flags & kNan) != 0 ? b : a;
  const bool a_is_less = a < b || (a == b && std::signbit(a));
  return a_is_less == ((flags & kMaximum) == 0) ? a : b;
}

Next reduce_floats(Warp& warp, const Op& op, LaneMask lanes, LaneMask) {
  const float* a = lanes_of<float>(warp, op.args[1]);
  const auto item = [&](unsigned lane) {
    return (op.extra & kAbsolute) != 0 ? std::fabs(a[lane]) : a[lane];
  };
  float value = item(first_lane(lanes));
  for (LaneMask rest = lanes & (lanes - 1); rest != 0; rest &= rest - 1) {
    value = better(value, item(first_lane(rest)), op.extra);
  }
  if (std::isnan(value)) value = std::bit_cast<float>(kFloatNan);
  each_lane(lanes_of<float>(warp, op.args[0]), lanes, [&](unsigned) { return value; });
  return Next::kOn;
}

template <TogetherBody kBody>
Next redux(Warp& warp, const Op& op, LaneMask active) {
  return together<kBody>(warp, op, active, op.args[2]);
}

constexpr Handler kUnsigned[] = {redux<reduce<std::uint32_t, add<std::uint32_t>>>,
                                 redux<reduce<std::uint32_t, least<std::uint32_t>>>,
                                 redux<reduce<std::uint32_t, most<std::uint32_t>>>};
constexpr Handler kSigned[] = {redux<reduce<std::int32_t, add<std::int32_t>>>,
                               redux<reduce<std::int32_t, least<std::int32_t>>>,
                               redux<reduce<std::int32_t, most<std::int32_t>>>};
constexpr Handler kBitwise[] = {redux<reduce<std::uint32_t, both>>,
                                redux<reduce<std::uint32_t, either>>,
                                redux<reduce<std::uint32_t, exclusive>>};

bool emit_redux(Binder& b, Handler run, std::uint32_t flags) {
  if (!b.expect_operands(3, 3)) return false;
  const Arg d = b.destination(0, ptx::Type::kB32);
  const Arg a = b.source(1, ptx::Type::kB32);
  const Arg mask = b.source(2, ptx::Type::kB32);
  if (b.failed()) return false;
  b.emit(run, OpKind::kWarp, {d, a, mask}).extra = flags;
  return b.finish();
}

bool bind_float(Binder& b, std::size_t operation, std::uint32_t flags) {
  if (!b.need({8, 6}, 100) || !b.need_specific_target()) return false;
  if (operation != 1 && operation != 2) return b.fail("f32 has .min and .max only");
  return emit_redux(b, redux<reduce_floats>, flags | (operation == 2 ? kMaximum : 0u));
}

}  // namespace

bool bind_redux(Binder& b) {
  if (!b.take("sync")) return b.fail("expected .sync");
  const auto operation = b.take_one_of({"add", "min", "max", "and", "or", "xor"});
  if (!operation) return b.fail("expected .add, .min, .max, .and, .or or .xor");
  if (*operation >= 3) {
    if (b.take_type({ptx::Type::kB32}) == ptx::Type::kNone) return false;
    return emit_redux(b, kBitwise[*operation - 3], 0);
  }
  const std::uint32_t flags = (b.take("abs") ? kAbsolute : 0u) | (b.take("NaN") ? kNan : 0u);
  const ptx::Type type = b.take_type({ptx::Type::kU32, ptx::Type::kS32, ptx::Type::kF32});
  if (type == ptx::Type::kNone) return false;
  if (type == ptx::Type::kF32) return bind_float(b, *operation, flags);
  if (flags != 0) return b.fail(".abs and .NaN are for f32");
  return emit_redux(b, (type == ptx::Type::kU32 ? kUnsigned : kSigned)[*operation], 0);
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
