#include "backends/cann/split_products.h"

#include <algorithm>

namespace shunt::cann {

namespace {

/// An F16 number has 11 bits. The next 11 bits of an F32 number are an F16 number of their own,
/// which this factor keeps away from numbers too small for F16.
constexpr float kLowScale = 2048;

/// The vendor takes batches whose strides do not decrease outwards, and are above those of the
/// matrices.
bool has_batches_in_order(const View& view) {
  std::int64_t inner = 0;
  for (std::size_t d = 0; d < view.rank(); ++d) {
    if (view.size(d) == 1) continue;
    if (d >= 2 && view.stride(d) < inner) return false;
    inner = d < 2 ? std::max(inner, view.stride(d)) : view.stride(d);
  }
  return true;
}

}  // namespace

bool has_coarse_products(const CannTarget& target) {
  return !target.chip->f32_results ||
         (target.chip->f32_products && target.f32_products != CubeMath::kKeep);
}

Products::Products(Calls& calls, const CannTarget& target, DataType type)
    : calls_(calls), type_(type), narrow_(!target.chip->f32_results) {
  if (type != DataType::kFloat) return;
  if (target.chip->f32_products) {
    math_ = target.f32_products;
  } else {
    type_ = DataType::kFloat16;
    split_ = !narrow_;
  }
}

View Products::in_order(const View& from) const {
  return has_batches_in_order(from) ? from : calls_.contiguous(from);
}

Factor Products::factor(const View& from) const {
  if (!split_ && from.type() == type_) return {in_order(from), std::nullopt};
  const View high = calls_.temporary(type_, from.sizes());
  calls_.copy(high, from);
  if (!split_) return {high, std::nullopt};
  const View low = calls_.temporary(type_, from.sizes());
  low_part(calls_.cast(calls_.contiguous(from), DataType::kFloat), high,
           calls_.temporary(DataType::kFloat, from.sizes()), low);
  return {high, low};
}

Factor Products::factor(const View& from, const View& high, const View& low,
                        const View& spare) const {
  if (from.type() == type_) return {from, std::nullopt};
  const View upper(type_, from.sizes(), high.data());
  calls_(kCast, from, type_, upper);
  if (!split_) return {upper, std::nullopt};
  const View lower(type_, from.sizes(), low.data());
  low_part(from, upper, View(DataType::kFloat, from.sizes(), spare.data()), lower);
  return {upper, lower};
}

void Products::low_part(const View& from, const View& high, const View& spare,
                        const View& low) const {
  calls_(kCast, high, DataType::kFloat, spare);
  calls_(kSub, from, spare, 1.0F, spare);
  calls_(kMuls, spare, kLowScale, low);
}

void Products::multiply(const Factor& a, const Factor& b, const View& out) const {
  multiply(a, b, out, narrow_ || split_ ? calls_.temporary(DataType::kFloat, out.sizes()) : View());
}

void Products::multiply(const Factor& a, const Factor& b, const View& out,
                        const View& spare) const {
  if (narrow_) {
    const View made(DataType::kFloat16, out.sizes(), spare.data());
    calls_(kMatmul, a.high, b.high, made, math_);
    calls_(kCast, made, DataType::kFloat, out);
    return;
  }
  calls_(kMatmul, a.high, b.high, out, math_);
  if (!split_) return;
  const View part(DataType::kFloat, out.sizes(), spare.data());
  calls_(kMatmul, a.high, *b.low, part, math_);
  calls_(kInplaceAdd, out, part, 1 / kLowScale);
  calls_(kMatmul, *a.low, b.high, part, math_);
  calls_(kInplaceAdd, out, part, 1 / kLowScale);
}

}  // namespace shunt::cann
