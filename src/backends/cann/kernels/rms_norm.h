#pragma once

#include <optional>

#include "backends/cann/calls.h"

namespace shunt::cann {

/// y = x / sqrt(mean(x^2) + eps) along dimension 0, times `scale`, [size of a row], if it is given.
void rms_norm(Calls& calls, const View& x, const std::optional<View>& scale, float eps,
              const View& y);
/// sum = a + b, then rms_norm() of it. All have one type.
void add_rms_norm(Calls& calls, const View& a, const View& b, const View& scale, float eps,
                  const View& sum, const View& y);

}  // namespace shunt::cann
