#include "layouts.h"

#include <algorithm>

#include "call.h"
#include "sticks.h"

namespace zdnn_twin {
namespace {

constexpr std::uint32_t kGate = 64;  // a gate's columns begin at a multiple of this

bool is_bidirectional(zdnn_data_layouts layout) {
  return layout == ZDNN_BIDIR_FICO || layout == ZDNN_BIDIR_ZRH;
}

std::uint64_t ceil_gate(std::uint64_t x) {
  return ceil_to(x, kGate);
}

// Beyond any machine's limit where it doesn't fit.
std::uint32_t as_dim(std::uint64_t x) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(x, 0xFFFFFFFF));
}

void set_dims(zdnn_tensor_desc& out, std::uint32_t d4, std::uint32_t d3, std::uint32_t d2,
              std::uint32_t d1) {
  out.dim4 = d4;
  out.dim3 = d3;
  out.dim2 = d2;
  out.dim1 = d1;
}

// The table of zdnn_generate_transformed_desc's documentation.
zdnn_status plain_dims(const zdnn_tensor_desc& pre, zdnn_tensor_desc& out) {
  switch (pre.layout) {
    case ZDNN_1D:
      set_dims(out, 1, 1, 1, pre.dim1);
      return ZDNN_OK;
    case ZDNN_2D:
      set_dims(out, 1, 1, pre.dim2, pre.dim1);
      return ZDNN_OK;
    case ZDNN_2DS:
      set_dims(out, pre.dim2, 1, 1, pre.dim1);
      return ZDNN_OK;
    case ZDNN_3D:
      set_dims(out, 1, pre.dim3, pre.dim2, pre.dim1);
      return ZDNN_OK;
    case ZDNN_3DS:
      set_dims(out, pre.dim3, 1, pre.dim2, pre.dim1);
      return ZDNN_OK;
    case ZDNN_4D:
    case ZDNN_NHWC:
    case ZDNN_HWCK:
      set_dims(out, pre.dim4, pre.dim3, pre.dim2, pre.dim1);
      return ZDNN_OK;
    case ZDNN_NCHW:
      set_dims(out, pre.dim4, pre.dim2, pre.dim1, pre.dim3);
      return ZDNN_OK;
    case ZDNN_4DS:
      set_dims(out, pre.dim4, 1, pre.dim2,
               pre.dim3 == 1 ? pre.dim1 : as_dim(pre.dim3 * ceil_gate(pre.dim1)));
      return ZDNN_OK;
    default:
      return refuse(ZDNN_INVALID_LAYOUT, "this is not a layout of host data");
  }
}

// Weights (3DS) or biases (2DS) of gates side by side.
zdnn_status concatenated_dims(const zdnn_tensor_desc& pre, zdnn_data_layouts layout,
                              zdnn_tensor_desc& out) {
  const std::uint32_t columns = as_dim(gates_of(layout) * ceil_gate(pre.dim1));
  if (pre.layout == ZDNN_2DS) {
    set_dims(out, pre.dim2, 1, 1, columns);
  } else if (pre.layout == ZDNN_3DS) {
    if (is_bidirectional(layout) && pre.dim2 % 2 != 0)
      return refuse(ZDNN_INVALID_SHAPE, "rows for two directions must be even");
    const std::uint32_t rows =
        is_bidirectional(layout) ? as_dim(2 * ceil_gate(pre.dim2 / 2)) : pre.dim2;
    set_dims(out, pre.dim3, 1, rows, columns);
  } else {
    return refuse(ZDNN_INVALID_LAYOUT, "only 2DS and 3DS tensors are concatenated");
  }
  return ZDNN_OK;
}

bool is_host_float(zdnn_data_types type) {
  return type == FP32 || type == FP16 || type == BFLOAT;
}

}  // namespace

int dimensions_of(zdnn_data_layouts layout) {
  switch (layout) {
    case ZDNN_1D:
      return 1;
    case ZDNN_2D:
    case ZDNN_2DS:
      return 2;
    case ZDNN_3D:
    case ZDNN_3DS:
      return 3;
    case ZDNN_4D:
    case ZDNN_4DS:
    case ZDNN_NHWC:
    case ZDNN_NCHW:
    case ZDNN_HWCK:
      return 4;
    default:
      return 0;
  }
}

std::uint32_t gates_of(zdnn_data_layouts layout) {
  if (layout == ZDNN_FICO || layout == ZDNN_BIDIR_FICO) return 4;
  return layout == ZDNN_ZRH || layout == ZDNN_BIDIR_ZRH ? 3 : 1;
}

std::uint32_t host_type_bytes(zdnn_data_types type) {
  switch (type) {
    case INT8:
      return 1;
    case BFLOAT:
    case FP16:
      return 2;
    case INT32:
    case FP32:
      return 4;
    default:
      return 0;
  }
}

zdnn_status transformed_desc(const zdnn_tensor_desc& pre, zdnn_tensor_desc& out) {
  ZDNN_TWIN_TRY(plain_dims(pre, out));
  const bool kernel = pre.layout == ZDNN_HWCK;
  out.layout = kernel ? ZDNN_HWCK : ZDNN_NHWC;
  out.format = kernel ? ZDNN_FORMAT_4DKERNEL : ZDNN_FORMAT_4DFEATURE;
  if (!is_host_float(pre.type) && pre.type != INT32)
    return refuse(ZDNN_INVALID_TYPE, "a type of host data is needed: FP32, FP16, BFLOAT or INT32");
  out.type = pre.type == INT32 ? ZDNN_BINARY_INT32 : ZDNN_DLFLOAT16;
  return ZDNN_OK;
}

zdnn_status quantized_desc(const zdnn_tensor_desc& pre, zdnn_quantized_transform_types kind,
                           zdnn_tensor_desc& out) {
  zdnn_tensor_desc result = out;
  if (pre.layout == ZDNN_4DS || pre.layout == ZDNN_NCHW || pre.layout == ZDNN_HWCK)
    return refuse(ZDNN_INVALID_LAYOUT, "this layout can't be quantised");
  if (!is_host_float(pre.type) && pre.type != INT8)
    return refuse(ZDNN_INVALID_TYPE, "FP32, FP16, BFLOAT or INT8 is needed");
  ZDNN_TWIN_TRY(plain_dims(pre, result));
  result.layout = ZDNN_NHWC;
  result.format = kind == QUANTIZED_WEIGHTS_INT8 ? ZDNN_FORMAT_4DWEIGHTS : ZDNN_FORMAT_4DFEATURE;
  result.type = kind == QUANTIZED_DLFLOAT16 ? ZDNN_DLFLOAT16 : ZDNN_BINARY_INT8;
  if (kind > QUANTIZED_WEIGHTS_INT8)
    return refuse(ZDNN_INVALID_TRANSFORM_TYPE, "there are kinds 0, 1 and 2");
  out = result;
  return ZDNN_OK;
}

zdnn_status concatenated_desc(const zdnn_tensor_desc& pre, zdnn_concat_info info,
                              zdnn_tensor_desc& out) {
  zdnn_tensor_desc result = out;
  if (!is_host_float(pre.type)) return refuse(ZDNN_INVALID_TYPE, "FP32, FP16 or BFLOAT is needed");
  const bool gru = CONCAT_RNN_TYPE(info) == RNN_TYPE_GRU;
  if (!gru && CONCAT_RNN_TYPE(info) != RNN_TYPE_LSTM)
    return refuse(ZDNN_INVALID_CONCAT_INFO, "neither LSTM nor GRU");
  const auto usage = CONCAT_USAGE(info);
  const bool weights = usage == USAGE_WEIGHTS || usage == USAGE_HIDDEN_WEIGHTS;
  if (!weights && usage != USAGE_BIASES && usage != USAGE_HIDDEN_BIASES)
    return refuse(ZDNN_INVALID_CONCAT_INFO, "neither weights nor biases");
  const auto previous = CONCAT_PREV_LAYER(info);
  if (previous != PREV_LAYER_UNI && previous != PREV_LAYER_BIDIR)
    return refuse(ZDNN_INVALID_CONCAT_INFO, "the previous layer is of no known kind");
  if (pre.layout != (weights ? ZDNN_3DS : ZDNN_2DS))
    return refuse(ZDNN_INVALID_LAYOUT, "weights are 3DS, biases 2DS");
  // Only the input's weights see both directions of a layer before.
  const bool both = previous == PREV_LAYER_BIDIR && usage == USAGE_WEIGHTS;
  result.layout = gru ? (both ? ZDNN_BIDIR_ZRH : ZDNN_ZRH) : (both ? ZDNN_BIDIR_FICO : ZDNN_FICO);
  ZDNN_TWIN_TRY(concatenated_dims(pre, result.layout, result));
  result.format = ZDNN_FORMAT_4DFEATURE;
  result.type = ZDNN_DLFLOAT16;
  out = result;
  return ZDNN_OK;
}

zdnn_status dims_like(const zdnn_tensor_desc& pre, const zdnn_tensor_desc& transformed,
                      zdnn_tensor_desc& out) {
  out = transformed;
  const bool concatenated = gates_of(transformed.layout) > 1;
  return concatenated ? concatenated_dims(pre, transformed.layout, out) : plain_dims(pre, out);
}

HostShape host_shape(const zdnn_tensor_desc& pre) {
  const int count = dimensions_of(pre.layout);
  return {count >= 4 ? pre.dim4 : 1, count >= 3 ? pre.dim3 : 1, count >= 2 ? pre.dim2 : 1,
          pre.dim1};
}

Place place_of_row(const zdnn_tensor_desc& pre, zdnn_data_layouts transformed_layout,
                   std::uint32_t gate, std::uint64_t outer, std::uint64_t middle,
                   std::uint64_t inner) {
  const std::uint64_t column = gate * ceil_gate(pre.dim1);
  switch (pre.layout) {
    case ZDNN_2DS:
      return {inner, 0, 0, column};
    case ZDNN_3DS: {
      const std::uint64_t half = pre.dim2 / 2;
      const bool second = is_bidirectional(transformed_layout) && inner >= half;
      return {middle, 0, second ? ceil_to(half, kGate) + inner - half : inner, column};
    }
    case ZDNN_4DS:
      return {outer, 0, inner, middle * ceil_gate(pre.dim1)};
    case ZDNN_NCHW:
      return {outer, inner, 0, middle, true};
    default:
      return {outer, middle, inner, 0};
  }
}

}  // namespace zdnn_twin
