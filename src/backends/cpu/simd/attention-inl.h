// From scores to weights, for all kinds of products that give scores. Included once for each
// target, see attention.cpp.
#if defined(SHUNT_CPU_SIMD_ATTENTION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHUNT_CPU_SIMD_ATTENTION_INL_H
#undef SHUNT_CPU_SIMD_ATTENTION_INL_H
#else
#define SHUNT_CPU_SIMD_ATTENTION_INL_H
#endif

#include <limits>
#include <type_traits>

#include "backends/cpu/simd/attention_block.h"
#include "backends/cpu/simd/exp-inl.h"
#include "backends/cpu/simd/loops-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

/// f(how many), as a constant: at most four.
template <class F>
HWY_INLINE void with_vectors(std::size_t n, const F& f) {
  if (n >= 4) return f(std::integral_constant<int, 4>());
  if (n == 3) return f(std::integral_constant<int, 3>());
  if (n == 2) return f(std::integral_constant<int, 2>());
  f(std::integral_constant<int, 1>());
}

/// 2^x for x of at most 0, or slightly more: 2^floor(x) times a polynomial in the rest (Remez, of a
/// relative error of 1.3e-8). 0 below -126 where that would be subnormal (but not in AVX-512).
HWY_INLINE V exp2_vector(V x) {
  const D d;
#if HWY_TARGET <= HWY_AVX3
  const V r{_mm512_reduce_ps(x.raw, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
#else
  const V clamped = hn::Max(x, hn::Set(d, -126.0F));
  const V n = hn::Floor(clamped);
  const V r = hn::Sub(clamped, n);
#endif
  V p = hn::Set(d, 0.000216129149F);
  p = hn::MulAdd(p, r, hn::Set(d, 0.0012467847F));
  p = hn::MulAdd(p, r, hn::Set(d, 0.00967545155F));
  p = hn::MulAdd(p, r, hn::Set(d, 0.0554852821F));
  p = hn::MulAdd(p, r, hn::Set(d, 0.240229309F));
  p = hn::MulAdd(p, r, hn::Set(d, 0.693147063F));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F));
#if HWY_TARGET <= HWY_AVX3
  return V{_mm512_scalef_ps(p.raw, x.raw)};
#else
  const V y = hn::Mul(p, power_of_two(d, hn::ConvertTo(hn::RebindToSigned<D>(), n)));
  const V normal = hn::IfThenElseZero(hn::Ge(x, hn::Set(d, -126.0F)), y);
  return hn::IfThenElse(hn::IsNaN(x), x, normal);
#endif
}

/// tanh(x) = t / (t + 2) with t = exp(2x) - 1, which keeps its digits near 0: with 2x = n ln 2 + r,
/// t = 2^n (exp(r) - 1) + (2^n - 1).
HWY_INLINE V tanh_vector(V x) {
  const D d;
  const V doubled = hn::Max(hn::Min(hn::Add(x, x), hn::Set(d, 20.0F)), hn::Set(d, -20.0F));
  const V n = hn::Round(hn::Mul(doubled, hn::Set(d, 1.44269504F)));
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), doubled);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), r);
  V p = hn::Set(d, 1.0F / 5040);
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 720));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 120));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 24));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 6));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5F));
  p = hn::MulAdd(hn::Mul(r, r), p, r);
  const V power = power_of_two(d, hn::ConvertTo(hn::RebindToSigned<D>(), n));
  const V t = hn::MulAdd(power, p, hn::Sub(power, hn::Set(d, 1.0F)));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Div(t, hn::Add(t, hn::Set(d, 2.0F))));
}

/// The largest lane, in all lanes: any, if one is not a number.
HWY_INLINE V largest_lane(V v) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  // MaxOfLanes takes nothing below the smallest finite number for the largest.
  HWY_ALIGN float lanes[kLanes];
  hn::Store(v, D(), lanes);
  float largest = lanes[0];
  for (const float lane : lanes) largest = lane > largest ? lane : largest;
  return hn::Set(D(), largest);
#else
  return hn::MaxOfLanes(D(), v);
#endif
}

/// Caps, mask and end of row r, where there are such.
inline void finish_scores(const QueryRows& rows, std::size_t r, std::size_t seen, float* row) {
  const D d;
  const std::size_t last = (seen - 1) / kLanes * kLanes;
  if (rows.softcap != 0) {
    const V cap = hn::Set(d, rows.softcap);
    const V scale = hn::Set(d, rows.softcap * 1.44269504F);
    for (std::size_t n = 0; n <= last; n += kLanes) {
      hn::Store(hn::Mul(scale, tanh_vector(hn::Div(hn::Load(d, row + n), cap))), d, row + n);
    }
  }
  if (rows.mask[r] != nullptr) {
    const V slope = hn::Set(d, rows.slopes[r]);
    for (std::size_t n = 0; n <= last; n += kLanes) {
      const V mask = hn::LoadU(d, rows.mask[r] + n);
      hn::Store(hn::MulAdd(mask, slope, hn::Load(d, row + n)), d, row + n);
    }
  }
  if (const std::size_t rest = seen - last; rest < kLanes) {
    const V none = hn::Set(d, -std::numeric_limits<float>::infinity());
    hn::Store(hn::IfThenElse(hn::FirstN(d, rest), hn::Load(d, row + last), none), d, row + last);
  }
}

/// Room for a number of each row, by vectors.
inline constexpr std::size_t kFactors = (kTileRows + kLanes - 1) / kLanes * kLanes;

/// A score that is not a number need not be seen here: its weight will not be a number either.
HWY_INLINE float largest_score(std::size_t vectors, const float* row) {
  V top = hn::Load(D(), row);
  for (std::size_t n = 1; n < vectors; ++n) top = hn::Max(hn::Load(D(), row + n * kLanes), top);
  return hn::GetLane(largest_lane(top));
}

/// A row's scores become weights, whose sums are returned.
HWY_INLINE V weigh_row(std::size_t vectors, float shift, float* row) {
  const D d;
  const V shifts = hn::Set(d, shift);
  V sum = hn::Zero(d);
  for (std::size_t n = 0; n < vectors; ++n) {
    const V weight = exp2_vector(hn::Sub(hn::Load(d, row + n * kLanes), shifts));
    hn::Store(weight, d, row + n * kLanes);
    sum = hn::Add(sum, weight);
  }
  return sum;
}

/// Turns products of q and k, [count][kKeyBlock], into weights. `factors[r]` is the factor that
/// makes the gathered sums of row r fit these weights. Sums of weights are brought up to date. All
/// rows take each step together, so that none waits for the one before. There is no branch, as the
/// largest score of a stretch's first blocks may be in any of them.
inline HWY_NOINLINE void weigh(const QueryRows& rows, std::size_t seen, std::size_t dv,
                               float* scores, float* factors) {
  constexpr auto kKeys = static_cast<std::size_t>(kKeyBlock);
  constexpr std::size_t kAll = kKeys / kLanes;
  constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
  const D d;
  const auto count = static_cast<std::size_t>(rows.count);
  const auto stride = static_cast<std::size_t>(rows.gathered_stride);
  const std::size_t vectors = (seen + kLanes - 1) / kLanes;
  float* tails = rows.gathered + dv;
  float shifts[kTileRows];
  HWY_ALIGN float changes[kFactors] = {};
  for (std::size_t r = 0; r < count; ++r) {
    float* row = scores + r * kKeys;
    if (seen < kKeys || rows.softcap != 0 || rows.mask[r] != nullptr) {
      finish_scores(rows, r, seen, row);
    }
    const float here = vectors == kAll ? largest_score(kAll, row) : largest_score(vectors, row);
    float& largest = tails[r * stride + kWeightSums];
    const float now = largest > here ? largest : here;
    // While all scores are minus infinity, weights are 0.
    shifts[r] = now == kMinusInfinity ? 0.0F : now;
    changes[r] = largest - shifts[r];
    largest = now;
  }
  V sums[kTileRows];
  for (std::size_t r = 0; r < count; ++r) {
    float* row = scores + r * kKeys;
    sums[r] =
        vectors == kAll ? weigh_row(kAll, shifts[r], row) : weigh_row(vectors, shifts[r], row);
  }
  for (std::size_t r = 0; r < kFactors; r += kLanes) {
    hn::Store(exp2_vector(hn::Load(d, changes + r)), d, factors + r);
  }
  for (std::size_t r = 0; r < count; ++r) {
    float* tail = tails + r * stride;
    hn::StoreU(hn::MulAdd(hn::LoadU(d, tail), hn::Set(d, factors[r]), sums[r]), d, tail);
  }
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SHUNT_CPU_SIMD_ATTENTION_INL_H
