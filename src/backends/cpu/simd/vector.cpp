#include "backends/cpu/simd/vector.h"

#include <limits>

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/vector.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for each target.
#include "backends/cpu/simd/dispatch.h"
#include "backends/cpu/simd/exp-inl.h"
#include "backends/cpu/simd/loops-inl.h"
#include "backends/cpu/simd/sigmoid-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

void Add(const float* a, const float* b, float* y, std::int64_t n) {
  map(
      y, n, [](V va, V vb) HWY_ATTR { return hn::Add(va, vb); }, a, b);
}

void AddScalar(const float* a, float b, float* y, std::int64_t n) {
  const V vb = hn::Set(D(), b);
  map(
      y, n, [vb](V va) HWY_ATTR { return hn::Add(va, vb); }, a);
}

void Sub(const float* a, const float* b, float* y, std::int64_t n) {
  map(
      y, n, [](V va, V vb) HWY_ATTR { return hn::Sub(va, vb); }, a, b);
}

void SubScalar(const float* a, float b, float* y, std::int64_t n) {
  const V vb = hn::Set(D(), b);
  map(
      y, n, [vb](V va) HWY_ATTR { return hn::Sub(va, vb); }, a);
}

void Mul(const float* a, const float* b, float* y, std::int64_t n) {
  map(
      y, n, [](V va, V vb) HWY_ATTR { return hn::Mul(va, vb); }, a, b);
}

void MulScalar(const float* a, float b, float* y, std::int64_t n) {
  const V vb = hn::Set(D(), b);
  map(
      y, n, [vb](V va) HWY_ATTR { return hn::Mul(va, vb); }, a);
}

void Div(const float* a, const float* b, float* y, std::int64_t n) {
  map(
      y, n, [](V va, V vb) HWY_ATTR { return hn::Div(va, vb); }, a, b);
}

void DivScalar(const float* a, float b, float* y, std::int64_t n) {
  const V vb = hn::Set(D(), b);
  map(
      y, n, [vb](V va) HWY_ATTR { return hn::Div(va, vb); }, a);
}

void Scale(const float* x, float scale, float bias, float* y, std::int64_t n) {
  const V vs = hn::Set(D(), scale);
  const V vb = hn::Set(D(), bias);
  map(
      y, n, [vs, vb](V vx) HWY_ATTR { return hn::MulAdd(vx, vs, vb); }, x);
}

void ScaleAdd(const float* x, float scale, const float* addend, float* y, std::int64_t n) {
  const V vs = hn::Set(D(), scale);
  map(
      y, n, [vs](V vx, V va) HWY_ATTR { return hn::MulAdd(vx, vs, va); }, x, addend);
}

void Sigmoid(const float* x, float* y, std::int64_t n) {
  map(
      y, n,
      [](V vx) HWY_ATTR {
        const V one = hn::Set(D(), 1.0F);
        return hn::IfThenElse(hn::IsNaN(vx), vx, sigmoid_times(vx, one, one));
      },
      x);
}

void Silu(const float* x, float* y, std::int64_t n) {
  map(
      y, n, [](V vx) HWY_ATTR { return sigmoid_times(vx, vx, hn::Set(D(), 1.0F)); }, x);
}

void Gelu(const float* x, float* y, std::int64_t n) {
  map(
      y, n, [](V vx) HWY_ATTR { return sigmoid_times(gelu_argument(vx), vx, hn::Set(D(), 1.0F)); },
      x);
}

void GeluQuick(const float* x, float* y, std::int64_t n) {
  map(
      y, n,
      [](V vx) HWY_ATTR {
        const D d;
        return sigmoid_times(hn::Mul(vx, hn::Set(d, 1.702F)), vx, hn::Set(d, 1.0F));
      },
      x);
}

void Exp(const float* x, float* y, std::int64_t n) {
  map(
      y, n, [](V vx) HWY_ATTR { return exp_vector(D(), vx); }, x);
}

float ExpShifted(const float* x, float shift, float* y, std::int64_t n) {
  const D d;
  const V vs = hn::Set(d, shift);
  const auto count = static_cast<std::size_t>(n);
  V sum = hn::Zero(d);
  V sum2 = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const V a = exp_vector(d, hn::Sub(hn::LoadU(d, x + i), vs));
    const V b = exp_vector(d, hn::Sub(hn::LoadU(d, x + i + kLanes), vs));
    hn::StoreU(a, d, y + i);
    hn::StoreU(b, d, y + i + kLanes);
    sum = hn::Add(sum, a);
    sum2 = hn::Add(sum2, b);
  }
  for (; i < count; i += kLanes) {
    const std::size_t here = count - i < kLanes ? count - i : kLanes;
    const V vx = load_first(d, x + i, here, -std::numeric_limits<float>::infinity());
    const V a = exp_vector(d, hn::Sub(vx, vs));
    store_first(d, a, y + i, here);
    // Lanes past the end are 0, unless the shift is not finite.
    sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, here), a));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, sum2)));
}

float Dot(const float* a, const float* b, std::int64_t n) {
  return accumulate(
      n, [](V sum, V va, V vb) HWY_ATTR { return hn::MulAdd(va, vb, sum); }, a, b);
}

float Sum(const float* x, std::int64_t n) {
  return accumulate(
      n, [](V sum, V vx) HWY_ATTR { return hn::Add(vx, sum); }, x);
}

float SumSquares(const float* x, std::int64_t n) {
  return accumulate(
      n, [](V sum, V vx) HWY_ATTR { return hn::MulAdd(vx, vx, sum); }, x);
}

float Max(const float* x, std::int64_t n) {
  const D d;
  const auto count = static_cast<std::size_t>(n);
  const float lowest = -std::numeric_limits<float>::infinity();
  V largest = hn::Set(d, lowest);
  V nan = hn::Zero(d);  // becomes not-a-number, and stays it, where an element is
  std::size_t i = 0;
  for (; i < count; i += kLanes) {
    const V v = i + kLanes <= count ? hn::LoadU(d, x + i) : load_first(d, x + i, count - i, lowest);
    nan = hn::IfThenElse(hn::IsNaN(v), v, nan);
    largest = hn::Max(v, largest);
  }
  const float any_nan = hn::GetLane(hn::SumOfLanes(d, nan));
  if (any_nan != 0.0F) return any_nan;
  // Not MaxOfLanes, which in HWY_EMU128 takes nothing below the smallest finite number for the
  // largest.
  HWY_ALIGN float lanes[kLanes];
  hn::Store(largest, d, lanes);
  float result = lanes[0];
  for (const float lane : lanes) result = lane > result ? lane : result;
  return result;
}

std::int64_t Find(const float* x, float value, std::int64_t n) {
  const D d;
  const V wanted = hn::Set(d, value);
  std::int64_t i = 0;
  for (; i + static_cast<std::int64_t>(kLanes) <= n; i += kLanes) {
    const std::intptr_t lane = hn::FindFirstTrue(d, hn::Eq(hn::LoadU(d, x + i), wanted));
    if (lane >= 0) return i + lane;
  }
  while (i < n && x[i] != value) ++i;
  return i;
}

void Rotate(const float* u, const float* v, const float* cosines, const float* sines, float* yu,
            float* yv, std::int64_t n) {
  const D d;
  const auto count = static_cast<std::size_t>(n);
  for (std::size_t i = 0; i < count; i += kLanes) {
    const std::size_t here = count - i < kLanes ? count - i : kLanes;
    const bool whole = here == kLanes;
    const V vu = whole ? hn::LoadU(d, u + i) : load_first(d, u + i, here);
    const V vv = whole ? hn::LoadU(d, v + i) : load_first(d, v + i, here);
    const V vc = whole ? hn::LoadU(d, cosines + i) : load_first(d, cosines + i, here);
    const V vs = whole ? hn::LoadU(d, sines + i) : load_first(d, sines + i, here);
    const V ru = hn::NegMulAdd(vv, vs, hn::Mul(vu, vc));
    const V rv = hn::MulAdd(vv, vc, hn::Mul(vu, vs));
    if (whole) {
      hn::StoreU(ru, d, yu + i);
      hn::StoreU(rv, d, yv + i);
    } else {
      store_first(d, ru, yu + i, here);
      store_first(d, rv, yv + i, here);
    }
  }
}

void RotateAdjacent(const float* x, const float* cosines, const float* sines, float* y,
                    std::int64_t n) {
  const D d;
  const auto count = static_cast<std::size_t>(n);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    V u;
    V v;
    hn::LoadInterleaved2(d, x + 2 * i, u, v);
    const V vc = hn::LoadU(d, cosines + i);
    const V vs = hn::LoadU(d, sines + i);
    const V ru = hn::NegMulAdd(v, vs, hn::Mul(u, vc));
    const V rv = hn::MulAdd(v, vc, hn::Mul(u, vs));
    hn::StoreInterleaved2(ru, rv, d, y + 2 * i);
  }
  for (; i < count; ++i) {
    const float u = x[2 * i];
    const float v = x[2 * i + 1];
    y[2 * i] = u * cosines[i] - v * sines[i];
    y[2 * i + 1] = u * sines[i] + v * cosines[i];
  }
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shunt::cpu::simd {

HWY_EXPORT(Add);
HWY_EXPORT(AddScalar);
HWY_EXPORT(Sub);
HWY_EXPORT(SubScalar);
HWY_EXPORT(Mul);
HWY_EXPORT(MulScalar);
HWY_EXPORT(Div);
HWY_EXPORT(DivScalar);
HWY_EXPORT(Scale);
HWY_EXPORT(ScaleAdd);
HWY_EXPORT(Sigmoid);
HWY_EXPORT(Silu);
HWY_EXPORT(Gelu);
HWY_EXPORT(GeluQuick);
HWY_EXPORT(Exp);
HWY_EXPORT(ExpShifted);
HWY_EXPORT(Dot);
HWY_EXPORT(Sum);
HWY_EXPORT(SumSquares);
HWY_EXPORT(Max);
HWY_EXPORT(Find);
HWY_EXPORT(Rotate);
HWY_EXPORT(RotateAdjacent);

void add(Level level, const float* a, const float* b, float* y, std::int64_t n) {
  SHUNT_DISPATCH(level, Add)(a, b, y, n);
}
void add(Level level, const float* a, float b, float* y, std::int64_t n) {
  SHUNT_DISPATCH(level, AddScalar)(a, b, y, n);
}
void sub(Level level, const float* a, const float* b, float* y, std::int64_t n) {
  SHUNT_DISPATCH(level, Sub)(a, b, y, n);
}
void sub(Level level, const float* a, float b, float* y, std::int64_t n) {
  SHUNT_DISPATCH(level, SubScalar)(a, b, y, n);
}
void mul(Level level, const float* a, const float* b, float* y, std::int64_t n) {
  SHUNT_DISPATCH(level, Mul)(a, b, y, n);
}
void mul(Level level, const float* a, float b, float* y, std::int64_t n) {
  SHUNT_DISPATCH(level, MulScalar)(a, b, y, n);
}
void div(Level level, const float* a, const float* b, float* y, std::int64_t n) {
  SHUNT_DISPATCH(level, Div)(a, b, y, n);
}
void div(Level level, const float* a, float b, float* y, std::int64_t n) {
  SHUNT_DISPATCH(level, DivScalar)(a, b, y, n);
}
void scale(Level level, const float* x, float scale, float bias, float* y, std::int64_t n) {
  SHUNT_DISPATCH(level, Scale)(x, scale, bias, y, n);
}
void scale_add(Level level, const float* x, float scale, const float* addend, float* y,
               std::int64_t n) {
  SHUNT_DISPATCH(level, ScaleAdd)(x, scale, addend, y, n);
}
void sigmoid(Level level, const float* x, float* y, std::int64_t n) {
  SHUNT_DISPATCH(level, Sigmoid)(x, y, n);
}
void silu(Level level, const float* x, float* y, std::int64_t n) {
  SHUNT_DISPATCH(level, Silu)(x, y, n);
}
void gelu(Level level, const float* x, float* y, std::int64_t n) {
  SHUNT_DISPATCH(level, Gelu)(x, y, n);
}
void gelu_quick(Level level, const float* x, float* y, std::int64_t n) {
  SHUNT_DISPATCH(level, GeluQuick)(x, y, n);
}
void exp(Level level, const float* x, float* y, std::int64_t n) {
  SHUNT_DISPATCH(level, Exp)(x, y, n);
}
float exp_shifted(Level level, const float* x, float shift, float* y, std::int64_t n) {
  return SHUNT_DISPATCH(level, ExpShifted)(x, shift, y, n);
}
float dot(Level level, const float* a, const float* b, std::int64_t n) {
  return SHUNT_DISPATCH(level, Dot)(a, b, n);
}
float sum(Level level, const float* x, std::int64_t n) {
  return SHUNT_DISPATCH(level, Sum)(x, n);
}
float sum_squares(Level level, const float* x, std::int64_t n) {
  return SHUNT_DISPATCH(level, SumSquares)(x, n);
}
float max(Level level, const float* x, std::int64_t n) {
  return SHUNT_DISPATCH(level, Max)(x, n);
}
std::int64_t find(Level level, const float* x, float value, std::int64_t n) {
  return SHUNT_DISPATCH(level, Find)(x, value, n);
}
void rotate(Level level, const float* u, const float* v, const float* cosines, const float* sines,
            float* yu, float* yv, std::int64_t n) {
  SHUNT_DISPATCH(level, Rotate)(u, v, cosines, sines, yu, yv, n);
}
void rotate_adjacent(Level level, const float* x, const float* cosines, const float* sines,
                     float* y, std::int64_t n) {
  SHUNT_DISPATCH(level, RotateAdjacent)(x, cosines, sines, y, n);
}

}  // namespace shunt::cpu::simd
#endif  // HWY_ONCE
