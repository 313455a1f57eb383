// The facts about a device that kernels need.
#pragma once

#include "backends/cann/acl.h"
#include "backends/cann/chip.h"

namespace shunt::cann {

class DeviceContext;

struct CannTarget {
  const Chip* chip = nullptr;
  const DeviceContext* context = nullptr;
  /// The numbers in which products of F32 may be computed ("cann.matmul").
  CubeMath f32_products = CubeMath::kKeep;
  /// Whether attention may be one operator, in F16 ("cann.attention").
  bool fuses_attention = true;
};

}  // namespace shunt::cann
