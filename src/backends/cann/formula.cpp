#include "backends/cann/formula.h"

#include <limits>
#include <numeric>

namespace shunt::cann {

namespace {

View::Dims sizes_of_rows(const View& x) {
  View::Dims sizes = x.sizes();
  sizes[0] = 1;
  return sizes;
}

}  // namespace

View Formula::result(const To& to, View::Dims sizes) {
  return to ? *to : calls_.temporary(DataType::kFloat, std::move(sizes));
}

View Formula::apply(const VendorOp<In, Out>& op, const View& x, const To& to) {
  const View y = result(to, x.sizes());
  calls_(op, x, y);
  return y;
}

View Formula::add(const View& a, const View& b, const To& to) {
  return add_times(a, b, 1, to);
}

View Formula::sub(const View& a, const View& b, const To& to) {
  const View y = result(to, a.sizes());
  calls_(kSub, a, b, 1.0F, y);
  return y;
}

View Formula::mul(const View& a, const View& b, const To& to) {
  const View y = result(to, a.sizes());
  calls_(kMul, a, b, y);
  return y;
}

View Formula::div(const View& a, const View& b, const To& to) {
  const View y = result(to, a.sizes());
  calls_(kDiv, a, b, y);
  return y;
}

View Formula::add_times(const View& a, const View& b, float factor, const To& to) {
  const View y = result(to, a.sizes());
  calls_(kAdd, a, b, factor, y);
  return y;
}

View Formula::plus(const View& x, float number, const To& to) {
  const View y = result(to, x.sizes());
  calls_(kAdds, x, number, 1.0F, y);
  return y;
}

View Formula::times(const View& x, float number, const To& to) {
  const View y = result(to, x.sizes());
  calls_(kMuls, x, number, y);
  return y;
}

View Formula::at_least(const View& x, float low, const To& to) {
  const View y = result(to, x.sizes());
  calls_(kClamp, x, Scalar(low), std::nullopt, y);
  return y;
}

View Formula::between(const View& x, float low, float high, const To& to) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto lowest = low == -kInfinity ? std::nullopt : std::optional<Scalar>(low);
  const auto highest = high == kInfinity ? std::nullopt : std::optional<Scalar>(high);
  const View y = result(to, x.sizes());
  if (lowest || highest) {
    calls_(kClamp, x, lowest, highest, y);
  } else {
    calls_.copy(y, x);
  }
  return y;
}

View Formula::row_sums(const View& x, const To& to) {
  const View y = result(to, sizes_of_rows(x));
  calls_(kReduceSum, x, {x.vendor_dim(0)}, true, DataType::kFloat, y);
  return y;
}

View Formula::row_means(const View& x, const To& to) {
  const View y = result(to, sizes_of_rows(x));
  calls_(kMean, x, {x.vendor_dim(0)}, true, DataType::kFloat, y);
  return y;
}

View Formula::row_peaks(const View& x, const To& to) {
  const View y = result(to, sizes_of_rows(x));
  calls_(kAmax, x, {x.vendor_dim(0)}, true, y);
  return y;
}

View Formula::deviation(const View& square, float eps) {
  if (eps > 0) return apply(kSqrt, plus(square, eps));
  return at_least(apply(kSqrt, square), std::numeric_limits<float>::min());
}

View Formula::total(const View& x, const To& to) {
  std::vector<std::int64_t> all(x.rank());
  std::iota(all.begin(), all.end(), 0);
  const View y = result(to, View::Dims(x.rank(), 1));
  calls_(kReduceSum, x, all, true, DataType::kFloat, y);
  return y;
}

View as_f32(Calls& calls, const View& view) {
  return calls.contiguous(calls.cast(view, DataType::kFloat));
}

}  // namespace shunt::cann
