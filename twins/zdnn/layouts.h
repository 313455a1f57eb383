// How the host's layouts become the machine's dimensions, and where each row of host data goes.
#pragma once

#include <cstdint>

#include "include/zdnn.h"

namespace zdnn_twin {

/// Dimensions that a host layout has; 0 for one that only transformed tensors have.
int dimensions_of(zdnn_data_layouts layout);

/// Gates that are concatenated in a transformed tensor: 4 (FICO), 3 (ZRH), 1 for all others.
std::uint32_t gates_of(zdnn_data_layouts transformed_layout);

bool is_host_type(zdnn_data_types type);

/// The answer of zdnn_generate_transformed_desc(). If only the type is wrong, only the type is left
/// alone.
zdnn_status transformed_desc(const zdnn_tensor_desc& pre, zdnn_tensor_desc& out);
/// These write `out` only if all is well.
zdnn_status quantized_desc(const zdnn_tensor_desc& pre, zdnn_quantized_transform_types kind,
                           zdnn_tensor_desc& out);
zdnn_status concatenated_desc(const zdnn_tensor_desc& pre, zdnn_concat_info info,
                              zdnn_tensor_desc& out);

/// `transformed` with the dimensions that such a descriptor has for the host's.
zdnn_status dims_like(const zdnn_tensor_desc& pre, const zdnn_tensor_desc& transformed,
                      zdnn_tensor_desc& out);

/// Host data as rows: dense, four dimensions, outermost first, 1 where the layout has fewer; a row
/// is the innermost.
struct HostShape {
  std::uint32_t outer, middle, inner, row;
};
HostShape host_shape(const zdnn_tensor_desc& pre);

/// Where a row of host data begins in a transformed tensor, and which way it runs.
struct Place {
  std::uint64_t e4, e3, e2, e1;
  bool along_dim2;  // else along dim1
};
Place place_of_row(const zdnn_tensor_desc& pre, zdnn_data_layouts transformed_layout,
                   std::uint32_t gate, std::uint64_t outer, std::uint64_t middle,
                   std::uint64_t inner);

}  // namespace zdnn_twin
