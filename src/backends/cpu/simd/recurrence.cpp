#include "backends/cpu/simd/recurrence.h"

#include <algorithm>

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/recurrence.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for each target.
#include "backends/cpu/simd/dispatch.h"
#include "backends/cpu/simd/loops-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

void SumOfProducts(const float* const* a, const float* const* b, std::size_t count, float* y,
                   std::size_t n) {
  const D d;
  std::size_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const std::size_t j = i + kLanes;
    V s0 = hn::Mul(hn::LoadU(d, a[0] + i), hn::LoadU(d, b[0] + i));
    V s1 = hn::Mul(hn::LoadU(d, a[0] + j), hn::LoadU(d, b[0] + j));
    for (std::size_t k = 1; k < count; ++k) {
      s0 = hn::MulAdd(hn::LoadU(d, a[k] + i), hn::LoadU(d, b[k] + i), s0);
      s1 = hn::MulAdd(hn::LoadU(d, a[k] + j), hn::LoadU(d, b[k] + j), s1);
    }
    hn::StoreU(s0, d, y + i);
    hn::StoreU(s1, d, y + j);
  }
  for (; i < n; i += kLanes) {
    const std::size_t rest = std::min(kLanes, n - i);
    V sum = hn::Mul(load_first(d, a[0] + i, rest), load_first(d, b[0] + i, rest));
    for (std::size_t k = 1; k < count; ++k)
      sum = hn::MulAdd(load_first(d, a[k] + i, rest), load_first(d, b[k] + i, rest), sum);
    store_first(d, sum, y + i, rest);
  }
}

/// state = f(state, rows...); returns the sum of read * state, in two sums that are joined at the
/// end.
template <class F, class... Rows>
HWY_INLINE float update(float* state, const float* read, std::int64_t n, const F& f,
                        const Rows*... rows) {
  const D d;
  const auto count = static_cast<std::size_t>(n);
  V s0 = hn::Zero(d);
  V s1 = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const std::size_t j = i + kLanes;
    const V a = f(hn::LoadU(d, state + i), hn::LoadU(d, rows + i)...);
    const V b = f(hn::LoadU(d, state + j), hn::LoadU(d, rows + j)...);
    hn::StoreU(a, d, state + i);
    hn::StoreU(b, d, state + j);
    s0 = hn::MulAdd(hn::LoadU(d, read + i), a, s0);
    s1 = hn::MulAdd(hn::LoadU(d, read + j), b, s1);
  }
  for (; i + kLanes <= count; i += kLanes) {
    const V a = f(hn::LoadU(d, state + i), hn::LoadU(d, rows + i)...);
    hn::StoreU(a, d, state + i);
    s0 = hn::MulAdd(hn::LoadU(d, read + i), a, s0);
  }
  if (i < count) {
    const std::size_t rest = count - i;
    const V a = f(load_first(d, state + i, rest), load_first(d, rows + i, rest)...);
    store_first(d, a, state + i, rest);
    // Lanes past the end may hold anything once factors are not finite.
    const V product = hn::Mul(load_first(d, read + i, rest), a);
    s1 = hn::Add(hn::IfThenElseZero(hn::FirstN(d, rest), product), s1);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
}

float UpdateAndRead(float* state, const float* keep, const float* add, float factor,
                    const float* read, std::int64_t n) {
  const V vf = hn::Set(D(), factor);
  return update(
      state, read, n, [vf](V s, V k, V a) HWY_ATTR { return hn::MulAdd(k, s, hn::Mul(a, vf)); },
      keep, add);
}

float UpdateAndReadScalar(float* state, float keep, const float* add, float factor,
                          const float* read, std::int64_t n) {
  const V vk = hn::Set(D(), keep);
  const V vf = hn::Set(D(), factor);
  return update(
      state, read, n, [vk, vf](V s, V a) HWY_ATTR { return hn::MulAdd(vk, s, hn::Mul(a, vf)); },
      add);
}

float UpdateAndReadTwo(float* state, const float* keep, const float* add, float factor,
                       const float* add2, float factor2, const float* read, std::int64_t n) {
  const V vf = hn::Set(D(), factor);
  const V vf2 = hn::Set(D(), factor2);
  return update(
      state, read, n,
      [vf, vf2](V s, V k, V a, V a2)
          HWY_ATTR { return hn::MulAdd(k, s, hn::MulAdd(a, vf, hn::Mul(a2, vf2))); },
      keep, add, add2);
}

void ReadAndUpdate(float* state, const RowUpdate& u, const float* v, float* y, std::int64_t n) {
  const D d;
  const V read_keep = hn::Set(d, u.read * u.read_keep);
  const V read_add = hn::Set(d, u.read * u.read_add);
  const V keep = hn::Set(d, u.keep);
  const V add = hn::Set(d, u.add);
  const auto count = static_cast<std::size_t>(n);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const V vs = hn::LoadU(d, state + i);
    const V vv = hn::LoadU(d, v + i);
    const V vy = hn::MulAdd(read_keep, vs, hn::LoadU(d, y + i));
    hn::StoreU(hn::MulAdd(read_add, vv, vy), d, y + i);
    hn::StoreU(hn::MulAdd(keep, vs, hn::Mul(add, vv)), d, state + i);
  }
  if (i < count) {
    const std::size_t rest = count - i;
    const V vs = load_first(d, state + i, rest);
    const V vv = load_first(d, v + i, rest);
    const V vy = hn::MulAdd(read_keep, vs, load_first(d, y + i, rest));
    store_first(d, hn::MulAdd(read_add, vv, vy), y + i, rest);
    store_first(d, hn::MulAdd(keep, vs, hn::Mul(add, vv)), state + i, rest);
  }
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shunt::cpu::simd {

HWY_EXPORT(SumOfProducts);
HWY_EXPORT(UpdateAndRead);
HWY_EXPORT(UpdateAndReadScalar);
HWY_EXPORT(UpdateAndReadTwo);
HWY_EXPORT(ReadAndUpdate);

void sum_of_products(Level level, const float* const* a, const float* const* b, std::int64_t count,
                     float* y, std::int64_t n) {
  SHUNT_DISPATCH(level, SumOfProducts)
  (a, b, static_cast<std::size_t>(count), y, static_cast<std::size_t>(n));
}
float update_and_read(Level level, float* state, const float* keep, const float* add, float factor,
                      const float* read, std::int64_t n) {
  return SHUNT_DISPATCH(level, UpdateAndRead)(state, keep, add, factor, read, n);
}
float update_and_read(Level level, float* state, float keep, const float* add, float factor,
                      const float* read, std::int64_t n) {
  return SHUNT_DISPATCH(level, UpdateAndReadScalar)(state, keep, add, factor, read, n);
}
float update_and_read(Level level, float* state, const float* keep, const float* add, float factor,
                      const float* add2, float factor2, const float* read, std::int64_t n) {
  return SHUNT_DISPATCH(level, UpdateAndReadTwo)(state, keep, add, factor, add2, factor2, read, n);
}
void read_and_update(Level level, float* state, const RowUpdate& update, const float* v, float* y,
                     std::int64_t n) {
  SHUNT_DISPATCH(level, ReadAndUpdate)(state, update, v, y, n);
}

}  // namespace shunt::cpu::simd
#endif  // HWY_ONCE
