#include "layouts.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "call.h"
#include "sticks.h"

namespace zdnn_twin {
namespace {

constexpr std::uint32_t kGate = 64;  // a gate's columns begin at a multiple of this

// A host layout: how many dimensions it has, and which of them (dim1 to dim4) becomes dim4, dim3,
// dim2, dim1 of the transformed tensor; 0 is none. As zdnn_generate_transformed_desc's
// documentation has it. 4DS comes from recurrent networks: dim3, the directions, is put beside
// dim1.
struct HostLayout {
  zdnn_data_layouts layout;
  int dimensions;
  std::array<int, 4> sources;
};
constexpr HostLayout kHostLayouts[] = {
    {ZDNN_1D, 1, {0, 0, 0, 1}},   {ZDNN_2D, 2, {0, 0, 2, 1}},   {ZDNN_2DS, 2, {2, 0, 0, 1}},
    {ZDNN_3D, 3, {0, 3, 2, 1}},   {ZDNN_3DS, 3, {3, 0, 2, 1}},  {ZDNN_4D, 4, {4, 3, 2, 1}},
    {ZDNN_4DS, 4, {4, 0, 2, 1}},  {ZDNN_NHWC, 4, {4, 3, 2, 1}}, {ZDNN_NCHW, 4, {4, 2, 1, 3}},
    {ZDNN_HWCK, 4, {4, 3, 2, 1}},
};

const HostLayout* find(zdnn_data_layouts layout) {
  for (const HostLayout& candidate : kHostLayouts)
    if (candidate.layout == layout) return &candidate;
  return nullptr;
}

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

zdnn_status plain_dims(const zdnn_tensor_desc& pre, zdnn_tensor_desc& out) {
  const HostLayout* layout = find(pre.layout);
  if (layout == nullptr) return refuse(ZDNN_INVALID_LAYOUT, "this is not a layout of host data");
  const std::uint32_t host[] = {1, pre.dim1, pre.dim2, pre.dim3, pre.dim4};
  const auto dim = [&](std::size_t i) { return host[layout->sources[i]]; };
  out.dim4 = dim(0);
  out.dim3 = dim(1);
  out.dim2 = dim(2);
  out.dim1 = dim(3);
  if (pre.layout == ZDNN_4DS && pre.dim3 != 1) out.dim1 = as_dim(pre.dim3 * ceil_gate(pre.dim1));
  return ZDNN_OK;
}

// Weights (3DS) or biases (2DS) of gates side by side.
zdnn_status concatenated_dims(const zdnn_tensor_desc& pre, zdnn_data_layouts layout,
                              zdnn_tensor_desc& out) {
  if (pre.layout != ZDNN_2DS && pre.layout != ZDNN_3DS)
    return refuse(ZDNN_INVALID_LAYOUT, "only 2DS and 3DS tensors are concatenated");
  ZDNN_TWIN_TRY(plain_dims(pre, out));
  out.dim1 = as_dim(gates_of(layout) * ceil_gate(pre.dim1));
  if (pre.layout == ZDNN_2DS || !is_bidirectional(layout)) return ZDNN_OK;
  if (pre.dim2 % 2 != 0) return refuse(ZDNN_INVALID_SHAPE, "rows for two directions must be even");
  out.dim2 = as_dim(2 * ceil_gate(pre.dim2 / 2));
  return ZDNN_OK;
}

bool is_host_float(zdnn_data_types type) {
  return type == FP32 || type == FP16 || type == BFLOAT;
}

}  // namespace

int dimensions_of(zdnn_data_layouts layout) {
  const HostLayout* found = find(layout);
  return found == nullptr ? 0 : found->dimensions;
}

std::uint32_t gates_of(zdnn_data_layouts layout) {
  if (layout == ZDNN_FICO || layout == ZDNN_BIDIR_FICO) return 4;
  return layout == ZDNN_ZRH || layout == ZDNN_BIDIR_ZRH ? 3 : 1;
}

bool is_host_type(zdnn_data_types type) {
  return is_host_float(type) || type == INT8 || type == INT32;
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
  const std::array<int, 4>& sources = find(pre.layout)->sources;
  const std::uint64_t host[] = {0, 0, inner, middle, outer};  // a row begins at 0
  Place at{host[sources[0]], host[sources[1]], host[sources[2]], host[sources[3]], sources[2] == 1};
  if (pre.layout == ZDNN_4DS) at.e1 += middle * ceil_gate(pre.dim1);
  if (gate > 0) at.e1 += gate * ceil_gate(pre.dim1);
  const std::uint64_t half = pre.dim2 / 2;
  if (pre.layout == ZDNN_3DS && is_bidirectional(transformed_layout) && inner >= half)
    at.e2 = ceil_gate(half) + inner - half;
  return at;
}

}  // namespace zdnn_twin
