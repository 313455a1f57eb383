#include "cuda/instructions/directed.h"

#include <bit>
#include <utility>

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

__extension__ using Significand = unsigned __int128;

/// (negative ? -1 : 1) * significand * 2^exponent. Bit 0 of the significand may be sticky.
struct Exact {
  bool negative = false;
  int exponent = 0;
  Significand significand = 0;
};

template <class T>
struct Layout;
template <>
struct Layout<float> {
  using Bits = std::uint32_t;
  static constexpr int kFraction = 23;
  static constexpr int kBias = 127;
};
template <>
struct Layout<double> {
  using Bits = std::uint64_t;
  static constexpr int kFraction = 52;
  static constexpr int kBias = 1023;
};

template <class T>
constexpr auto kInfinityBits = static_cast<typename Layout<T>::Bits>(
    static_cast<typename Layout<T>::Bits>(2 * Layout<T>::kBias + 1) << Layout<T>::kFraction);

template <class T>
constexpr auto kSignBit = static_cast<typename Layout<T>::Bits>(typename Layout<T>::Bits{1}
                                                                << (sizeof(T) * 8 - 1));

template <class T>
T make(bool negative, typename Layout<T>::Bits magnitude) {
  return std::bit_cast<T>(
      static_cast<typename Layout<T>::Bits>(magnitude | (negative ? kSignBit<T> : 0)));
}

template <class T>
bool is_negative(T value) {
  return (std::bit_cast<typename Layout<T>::Bits>(value) & kSignBit<T>) != 0;
}
template <class T>
bool is_infinite(T value) {
  return (std::bit_cast<typename Layout<T>::Bits>(value) & ~kSignBit<T>) == kInfinityBits<T>;
}

template <class T>
Exact exact(T value) {
  using L = Layout<T>;
  const auto bits = std::bit_cast<typename L::Bits>(value);
  const auto magnitude = bits & static_cast<typename L::Bits>(~kSignBit<T>);
  const int field = static_cast<int>(magnitude >> L::kFraction);
  auto significand =
      static_cast<std::uint64_t>(magnitude & ((typename L::Bits{1} << L::kFraction) - 1));
  if (field != 0) significand |= std::uint64_t{1} << L::kFraction;
  return {is_negative(value), (field == 0 ? 1 : field) - L::kBias - L::kFraction, significand};
}

int width(Significand value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  return high != 0 ? 64 + static_cast<int>(std::bit_width(high))
                   : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value)));
}

/// Shifts right; bits that are lost set bit 0.
Significand shift_right_sticky(Significand value, int count) {
  if (count <= 0) return value;
  if (count >= 128) return value != 0 ? 1 : 0;
  const Significand lost = value & ((Significand{1} << count) - 1);
  return (value >> count) | (lost != 0 ? 1 : 0);
}

/// The leading bit becomes bit 125. Not for zero.
Exact normalized(Exact value) {
  const int shift = 126 - width(value.significand);
  value.significand =
      shift >= 0 ? value.significand << shift : shift_right_sticky(value.significand, -shift);
  value.exponent -= shift;
  return value;
}

bool rounds_away(Rounding rounding, bool negative) {
  return rounding == (negative ? Rounding::kDown : Rounding::kUp);
}

template <class T>
T overflow(bool negative, Rounding rounding) {
  const bool to_infinity = rounds_away(rounding, negative);
  return make<T>(negative,
                 static_cast<typename Layout<T>::Bits>(kInfinityBits<T> - (to_infinity ? 0 : 1)));
}

template <class T>
T rounded(Exact value, Rounding rounding) {
  using L = Layout<T>;
  if (value.significand == 0) return make<T>(value.negative, 0);
  value = normalized(value);
  // The exponent of the unit in the last place, not below that of subnormals.
  int unit = value.exponent + 125 - L::kFraction;
  constexpr int kLeast = 1 - L::kBias - L::kFraction;
  if (unit < kLeast) unit = kLeast;
  if (unit > L::kBias - L::kFraction) return overflow<T>(value.negative, rounding);
  // One more bit than the result, sticky.
  const Significand kept = shift_right_sticky(value.significand, unit - 1 - value.exponent);
  auto magnitude = static_cast<std::uint64_t>(kept >> 1);
  if ((kept & 1) != 0 && rounds_away(rounding, value.negative)) ++magnitude;
  // A normal number's leading bit adds one to the exponent field of its unit.
  const auto field = static_cast<std::uint64_t>(unit - kLeast);
  const auto bits = static_cast<typename L::Bits>((field << L::kFraction) + magnitude);
  if (bits >= kInfinityBits<T>) return overflow<T>(value.negative, rounding);
  return make<T>(value.negative, bits);
}

Exact product(const Exact& a, const Exact& b) {
  return {a.negative != b.negative, a.exponent + b.exponent, a.significand * b.significand};
}

Exact sum(Exact a, Exact b, Rounding rounding) {
  if (a.significand == 0 && b.significand == 0) {
    if (a.negative != b.negative) a.negative = rounding == Rounding::kDown;
    return a;
  }
  if (a.significand == 0) return b;
  if (b.significand == 0) return a;
  a = normalized(a);
  b = normalized(b);
  if (a.exponent < b.exponent) std::swap(a, b);
  b.significand = shift_right_sticky(b.significand, a.exponent - b.exponent);
  if (a.negative == b.negative) {
    a.significand += b.significand;
    return a;
  }
  if (a.significand == b.significand) return {rounding == Rounding::kDown, 0, 0};
  if (a.significand < b.significand) {
    a.significand = b.significand - a.significand;
    a.negative = b.negative;
  } else {
    a.significand -= b.significand;
  }
  return a;
}

}  // namespace

template <class T>
T fma_rounded(T a, T b, T c, Rounding rounding) {
  if (is_infinite(a) || is_infinite(b) || is_infinite(c)) {
    return is_infinite(a) || is_infinite(b) ? a * b + c : c;
  }
  return rounded<T>(sum(product(exact(a), exact(b)), exact(c), rounding), rounding);
}

template <class T>
T divide_rounded(T a, T b, Rounding rounding) {
  if (a == 0 || b == 0 || is_infinite(a) || is_infinite(b)) return a / b;
  const Exact over = exact(a);
  const Exact under = exact(b);
  const Significand numerator = over.significand << (126 - width(over.significand));
  const auto denominator = static_cast<std::uint64_t>(under.significand);
  const Significand quotient = numerator / denominator;  // 73 bits at least
  const bool inexact = numerator % denominator != 0;
  return rounded<T>({over.negative != under.negative,
                     over.exponent - (126 - width(over.significand)) - under.exponent,
                     quotient | (inexact ? 1 : 0)},
                    rounding);
}

template <class T>
T sqrt_rounded(T a, Rounding rounding) {
  if (a == 0 || (is_infinite(a) && !is_negative(a))) return a;
  if (is_negative(a))
    return std::bit_cast<T>(static_cast<typename Layout<T>::Bits>(
        kInfinityBits<T> | kSignBit<T> |
        (typename Layout<T>::Bits{1} << (Layout<T>::kFraction - 1))));
  Exact value = exact(a);
  int shift = 124 - width(value.significand);
  if (((value.exponent - shift) & 1) != 0) ++shift;
  Significand rest = value.significand << shift;
  Significand root = 0;  // of 62 bits, digit by digit
  for (Significand bit = Significand{1} << 124; bit != 0; bit >>= 2) {
    const bool fits = rest >= root + bit;
    if (fits) rest -= root + bit;
    root = (root >> 1) + (fits ? bit : 0);
  }
  return rounded<T>({false, (value.exponent - shift) / 2, root | (rest != 0 ? 1 : 0)}, rounding);
}

template <class T>
T rounded_from(bool negative, std::uint64_t significand, int exponent, Rounding rounding) {
  return rounded<T>({negative, exponent, significand}, rounding);
}

template float fma_rounded(float, float, float, Rounding);
template double fma_rounded(double, double, double, Rounding);
template float divide_rounded(float, float, Rounding);
template double divide_rounded(double, double, Rounding);
template float sqrt_rounded(float, Rounding);
template double sqrt_rounded(double, Rounding);
template float rounded_from(bool, std::uint64_t, int, Rounding);
template double rounded_from(bool, std::uint64_t, int, Rounding);

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
