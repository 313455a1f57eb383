// What the transforms share: walking over host data, and which way a transform goes.
#pragma once

#include "call.h"
#include "checks.h"
#include "counts.h"
#include "faults.h"
#include "layouts.h"
#include "machine.h"
#include "sticks.h"

namespace zdnn_twin {

/// Calls visit(host index, byte in the buffer) for each element of one gate's host data, in its
/// order.
template <class Visit>
void for_each_element(const zdnn_ztensor& tensor, std::uint32_t gate, Visit visit) {
  const zdnn_tensor_desc& pre = *tensor.pre_transformed_desc;
  const zdnn_tensor_desc& transformed = *tensor.transformed_desc;
  const HostShape shape = host_shape(pre);
  const Sticks sticks(transformed);
  std::uint64_t index = 0;
  for (std::uint64_t outer = 0; outer < shape.outer; ++outer) {
    for (std::uint64_t middle = 0; middle < shape.middle; ++middle) {
      for (std::uint64_t inner = 0; inner < shape.inner; ++inner) {
        const Place at = place_of_row(pre, transformed.layout, gate, outer, middle, inner);
        if (at.along_dim2) {
          const std::uint64_t column = sticks.within_row(at.e1);
          for (std::uint64_t i = 0; i < shape.row; ++i)
            visit(index++, sticks.row(at.e4, at.e3, at.e2 + i) + column);
        } else {
          const std::uint64_t row = sticks.row(at.e4, at.e3, at.e2);
          for (std::uint64_t i = 0; i < shape.row; ++i)
            visit(index++, row + sticks.within_row(at.e1 + i));
        }
      }
    }
  }
}

/// Whether the machine's own function (NNPA-TRANSFORM) converts this tensor, to or from FP32; else
/// it is software, and the same numbers may end with another status.
inline bool machine_transforms(const zdnn_ztensor& tensor) {
  const zdnn_tensor_desc& pre = *tensor.pre_transformed_desc;
  const zdnn_tensor_desc& desc = *tensor.transformed_desc;
  constexpr std::uint64_t kWorthIt = 2048;  // elements of a dim4 slice
  return pre.type == FP32 && pre.layout != ZDNN_NCHW && desc.layout == ZDNN_NHWC && desc.dim1 > 2 &&
         std::uint64_t{desc.dim3} * desc.dim2 * desc.dim1 > kWorthIt && format_usable(1) &&
         function_installed(NNPA_TRANSFORM);
}

/// Counts a call to the machine's function; the response code that a fault asked for, if it is due.
inline zdnn_status begin_on_machine(nnpa_function_code code) {
  if (fault_is_due(Setting::kFailHardware)) {
    const auto wanted = static_cast<std::uint32_t>(setting(Setting::kHardwareCode));
    const std::uint32_t status = wanted <= 0xFFFF ? ZDNN_HW_ERROR + wanted : wanted;
    return refuse(static_cast<zdnn_status>(status), "a fault that was asked for");
  }
  count_call(code);
  return ZDNN_OK;
}

inline zdnn_status range_violation(const char* reason) {
  count(ZDNN_TWIN_RANGE_VIOLATIONS);
  return refuse(ZDNN_ELEMENT_RANGE_VIOLATION, reason);
}

}  // namespace zdnn_twin
