// Functions that kernels compose of several operators, in F32.
#pragma once

#include <optional>
#include <vector>

#include "backends/cann/calls.h"

namespace shunt::cann {

/// Each call is an operator. Its result is `to`, or an F32 temporary. Where an operator takes two
/// tensors, the second is broadcast to the sizes of the first.
class Formula {
 public:
  using To = std::optional<View>;
  explicit Formula(Calls& calls) : calls_(calls) {}

  View apply(const VendorOp<In, Out>& op, const View& x, const To& to = {});
  View add(const View& a, const View& b, const To& to = {});
  View sub(const View& a, const View& b, const To& to = {});
  View mul(const View& a, const View& b, const To& to = {});
  View div(const View& a, const View& b, const To& to = {});
  /// a + factor * b
  View add_times(const View& a, const View& b, float factor, const To& to = {});
  View plus(const View& x, float number, const To& to = {});
  View times(const View& x, float number, const To& to = {});
  View at_least(const View& x, float low, const To& to = {});
  /// min(max(x, low), high), where a bound that is infinite bounds nothing.
  View between(const View& x, float low, float high, const To& to = {});
  // Along dimension 0, of which one element stays.
  View row_sums(const View& x, const To& to = {});
  View row_means(const View& x, const To& to = {});
  View row_peaks(const View& x, const To& to = {});
  /// sqrt(square + eps), but above 0 without eps: zeros that are divided by it stay zeros.
  View deviation(const View& square, float eps);
  /// The sum of all, in a view with as many dimensions, all of size 1.
  View total(const View& x, const To& to = {});

 private:
  View result(const To& to, View::Dims sizes);

  Calls& calls_;
};

/// The elements of a view in F32 and without gaps: itself, if it is so.
View as_f32(Calls& calls, const View& view);

/// Calls compute(y), which fills y in F32. `result` is y, or has its elements converted.
template <class Compute>
void fill_f32(Calls& calls, const View& result, Compute compute) {
  if (result.type() == DataType::kFloat) return compute(result);
  const View y = calls.temporary(DataType::kFloat, result.sizes());
  compute(y);
  calls.copy(result, y);
}

}  // namespace shunt::cann
