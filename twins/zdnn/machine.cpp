#include "machine.h"

#include "settings.h"

namespace zdnn_twin {
namespace {

constexpr std::uint32_t kV10 = 0x00010000;
constexpr std::uint32_t kV11 = 0x00010100;

// In the order of ZDNN_TWIN_PROFILE's values.
constexpr Machine kMachines[] = {
    {"z16",
     true,
     kV10,
     0x8000,
     0xC0000000,
     0x6000,
     32768,
     {},
     std::uint64_t{1} << 32,
     {true, false}},
    {"z17",
     true,
     kV11,
     0x82A0,
     0xE0000001,
     0x6000,
     32768,
     {2097152, 1048576, 32768, 32768},
     std::uint64_t{1} << 32,
     {true, true}},
    {"none", false, 0, 0, 0, 0, 0, {}, 0, {}},
};

constexpr Function kFunctions[] = {
    {NNPA_QAF, "QAF", kV10},
    {NNPA_ADD, "ADD", kV10},
    {NNPA_SUB, "SUB", kV10},
    {NNPA_MUL, "MUL", kV10},
    {NNPA_DIV, "DIV", kV10},
    {NNPA_MIN, "MIN", kV10},
    {NNPA_MAX, "MAX", kV10},
    {NNPA_LOG, "LOG", kV10},
    {NNPA_EXP, "EXP", kV10},
    {NNPA_SQRT, "SQRT", kV11},
    {NNPA_INVSQRT, "INVSQRT", kV11},
    {NNPA_RELU, "RELU", kV10},
    {NNPA_TANH, "TANH", kV10},
    {NNPA_SIGMOID, "SIGMOID", kV10},
    {NNPA_SOFTMAX, "SOFTMAX", kV10},
    {NNPA_GELU, "GELU", kV11},
    {NNPA_BATCHNORMALIZATION, "BATCHNORMALIZATION", kV10},
    {NNPA_MOMENTS, "MOMENTS", kV11},
    {NNPA_LAYERNORM, "LAYERNORM", kV11},
    {NNPA_NORM, "NORM", kV11},
    {NNPA_MAXPOOL2D, "MAXPOOL2D", kV10},
    {NNPA_AVGPOOL2D, "AVGPOOL2D", kV10},
    {NNPA_CONVOLUTION, "CONVOLUTION", kV10},
    {NNPA_MATMUL_OP, "MATMUL_OP", kV10},
    {NNPA_MATMUL_OP_BCAST23, "MATMUL_OP_BCAST23", kV10},
    {NNPA_MATMUL_OP_BCAST1, "MATMUL_OP_BCAST1", kV11},
    {NNPA_TRANSFORM, "TRANSFORM", kV11},
    {NNPA_REDUCE, "REDUCE", kV11},
};

}  // namespace

const Machine& machine() {
  return kMachines[setting(Setting::kProfile)];
}

std::span<const Function> functions() {
  return kFunctions;
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
