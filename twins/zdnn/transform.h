// The common parts of the transforms: walking over host data, and which way a transform goes.
#pragma once

#include "call.h"
#include "checks.h"
#include "layouts.h"
#include "machine.h"
#include "machine_call.h"
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

}  // namespace zdnn_twin
