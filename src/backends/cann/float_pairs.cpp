#include "backends/cann/float_pairs.h"

namespace shunt::cann {

namespace {

/// F32 arithmetic of views of the same sizes.
class Arithmetic {
 public:
  explicit Arithmetic(Calls& calls) : calls_(calls) {}

  View times(const View& a, const View& b) const {
    const View made = calls_.temporary(DataType::kFloat, a.sizes());
    calls_(kMul, a, b, made);
    return made;
  }
  View minus(const View& a, const View& b) const {
    const View made = calls_.temporary(DataType::kFloat, a.sizes());
    calls_(kSub, a, b, 1.0F, made);
    return made;
  }
  View over(const View& a, const View& b) const {
    const View made = calls_.temporary(DataType::kFloat, a.sizes());
    calls_(kDiv, a, b, made);
    return made;
  }

  /// The upper 12 bits of the numbers, and the others (Dekker 1971, Veltkamp 1968).
  FloatPair halves(const View& numbers) const {
    constexpr float kShift = 4097;  // 2^12 + 1
    const View shifted = calls_.temporary(DataType::kFloat, numbers.sizes());
    calls_(kMuls, numbers, kShift, shifted);
    const View high = minus(shifted, minus(shifted, numbers));
    return {high, minus(numbers, high)};
  }

  /// a b - product, exactly, where `product` is a b rounded (Dekker 1971).
  View error_of(const View& product, const FloatPair& a, const FloatPair& b) const {
    View rest = minus(product, times(a.high, b.high));
    rest = minus(rest, times(a.low, b.high));
    rest = minus(rest, times(a.high, b.low));
    return minus(times(a.low, b.low), rest);
  }

 private:
  Calls& calls_;
};

}  // namespace

FloatPair divide(Calls& calls, const FloatPair& numbers, const View& divisors) {
  const Arithmetic of(calls);
  const View high = of.over(numbers.high, divisors);
  const View product = of.times(high, divisors);
  const View error = of.error_of(product, of.halves(high), of.halves(divisors));
  const View rest = of.minus(of.minus(numbers.high, product), error);
  calls(kInplaceAdd, rest, numbers.low, 1.0F);
  return {high, of.over(rest, divisors)};
}

}  // namespace shunt::cann
