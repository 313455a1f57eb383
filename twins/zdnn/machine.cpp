#include "machine.h"

#include "settings.h"

namespace zdnn_twin {
namespace {

constexpr std::uint32_t kV10 = 0x00010000;
constexpr std::uint32_t kV11 = 0x00010100;

constexpr Machine kZ16{.installed = true,
                       .api_version = kV10,
                       .data_types = QUERY_DATATYPE_INTERNAL1,
                       .layouts = QUERY_LAYOUTFMT_4DFEATURE | QUERY_LAYOUTFMT_4DKERNEL,
                       .conversions = QUERY_BFPFMT_TINY | QUERY_BFPFMT_SHORT,
                       .max_dim_idx_size = 32768,
                       .max_for_dim = {},
                       .max_tensor_size = std::uint64_t{1} << 32,
                       .formats = {true, false}};

constexpr Machine kZ17{.installed = true,
                       .api_version = kV11,
                       .data_types = QUERY_DATATYPE_INTERNAL1 | QUERY_DATATYPE_BINARY_FP32 |
                                     QUERY_DATATYPE_BINARY_INT8 | QUERY_DATATYPE_BINARY_INT32,
                       .layouts = QUERY_LAYOUTFMT_4DFEATURE | QUERY_LAYOUTFMT_4DKERNEL |
                                  QUERY_LAYOUTFMT_4DWEIGHTS | QUERY_LAYOUTFMT_4DGENERIC,
                       .conversions = QUERY_BFPFMT_TINY | QUERY_BFPFMT_SHORT,
                       .max_dim_idx_size = 32768,
                       .max_for_dim = {2097152, 1048576, 32768, 32768},
                       .max_tensor_size = std::uint64_t{1} << 32,
                       .formats = {true, true}};

constexpr Machine kNone = {};

constexpr Machine kMachines[] = {kZ16, kZ17, kNone};  // in the order of ZDNN_TWIN_PROFILE's values

// A function of the machine, and the API version that it came with. A function that the twin does
// not implement is not in the table, so that neither the query nor a call finds it.
struct Function {
  nnpa_function_code code;
  std::uint32_t since;
};
constexpr Function kFunctions[] = {
    {NNPA_QAF, kV10},
    {NNPA_ADD, kV10},
    {NNPA_SUB, kV10},
    {NNPA_MUL, kV10},
    {NNPA_DIV, kV10},
    {NNPA_MIN, kV10},
    {NNPA_MAX, kV10},
    {NNPA_LOG, kV10},
    {NNPA_EXP, kV10},
    {NNPA_SQRT, kV11},
    {NNPA_INVSQRT, kV11},
    {NNPA_RELU, kV10},
    {NNPA_TANH, kV10},
    {NNPA_SIGMOID, kV10},
    {NNPA_SOFTMAX, kV10},
    {NNPA_GELU, kV11},
    {NNPA_BATCHNORMALIZATION, kV10},
    {NNPA_MOMENTS, kV11},
    {NNPA_LAYERNORM, kV11},
    {NNPA_NORM, kV11},
    {NNPA_MAXPOOL2D, kV10},
    {NNPA_AVGPOOL2D, kV10},
    {NNPA_LSTMACT, kV10},
    {NNPA_GRUACT, kV10},
    {NNPA_CONVOLUTION, kV10},
    {NNPA_MATMUL_OP, kV10},
    {NNPA_MATMUL_OP_BCAST23, kV10},
    {NNPA_MATMUL_OP_BCAST1, kV11},
    {NNPA_TRANSFORM, kV11},
    {NNPA_REDUCE, kV11},
};

}  // namespace

const Machine& machine() {
  return kMachines[setting(Setting::kProfile)];
}

bool function_installed(std::uint32_t code) {
  for (const Function& function : kFunctions)
    if (function.code == code) return function.since <= machine().api_version;
  return false;
}

bool format_usable(int format) {
  if (format < 0 || format > 1 || !machine().formats[format]) return false;
  return format == 0 || kLibraryVersion >= kV11;
}

std::uint32_t max_for_dim(int dim) {
  const std::uint32_t own = kLibraryVersion >= kV11 ? machine().max_for_dim[dim - 1] : 0;
  return own != 0 ? own : machine().max_dim_idx_size;
}

}  // namespace zdnn_twin
