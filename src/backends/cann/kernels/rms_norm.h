#pragma once

#include <optional>

#include "backends/cann/kernel.h"

namespace shunt::cann {

/// y = x / sqrt(mean(x^2) + eps) along dimension 0, times `scale`, [size of a row], if it is given.
/// The parameters are those of an rms_norm node.
void rms_norm(Calls& calls, const Operands& node, const View& x, const std::optional<View>& scale,
              const View& y);
/// sum = a + b, then rms_norm() of it. All have one type.
void add_rms_norm(Calls& calls, const Operands& node, const View& a, const View& b,
                  const View& scale, const View& sum, const View& y);

}  // namespace shunt::cann
