// The part of IBM's zDNN library that is used, declared as its public documentation has it: version
// 1.0, and the functions of 1.1 below. Bound by name when the library is opened.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend_support/symbol_table.h"

namespace shunt::zdnn {

/// zdnn_status: the class is in the upper half.
enum : std::uint32_t {
  kOk = 0,
  kWarningClass = 0x00020000,
  kAllocationFailure = 0x00100001,
  kConvertFailure = 0x00100003,
};

/// zdnn_data_types, of the host.
enum : std::uint32_t { kHostInt8 = 251, kHostBfloat = 253, kHostFp16 = 254, kHostFp32 = 255 };
/// zdnn_data_layouts.
enum : std::uint32_t { kLayout3ds = 4 };

/// zdnn_quantized_transform_types.
enum : std::uint32_t { kQuantizedWeightsInt8 = 2 };
/// Of the machine's types and layouts, as queries have them.
inline constexpr std::uint16_t kInt8Bit = 0x0080;
inline constexpr std::uint32_t kWeightsBit = 0x20000000;

/// zdnn_tensor_desc; dim4 is outermost.
struct TensorDesc {
  std::uint32_t layout = 0;
  std::uint32_t format = 0;
  std::uint32_t type = 0;
  std::uint32_t dim4 = 0;
  std::uint32_t dim3 = 0;
  std::uint32_t dim2 = 0;
  std::uint32_t dim1 = 0;
};
static_assert(sizeof(TensorDesc) == 28);

/// zdnn_ztensor. It points to its descriptions, which must stay where they are.
struct Ztensor {
  TensorDesc* pre_transformed = nullptr;
  TensorDesc* transformed = nullptr;
  std::uint64_t buffer_size = 0;
  void* buffer = nullptr;
  bool is_transformed = false;
  char reserved[3] = {};
  float rec_scale = 0;
  float offset = 0;
  char reserved2[20] = {};
};
static_assert(sizeof(Ztensor) == 64 && offsetof(Ztensor, is_transformed) == 32);

using Unary = std::uint32_t (*)(const Ztensor*, Ztensor*);
using Binary = std::uint32_t (*)(const Ztensor*, const Ztensor*, Ztensor*);

/// The functions, called as the library calls them without its prefix. Null where a library lacks
/// one of those that came later.
struct Symbols {
  bool (*is_nnpa_installed)() = nullptr;
  bool (*is_nnpa_function_installed)(int, ...) = nullptr;
  bool (*is_nnpa_parmblk_fmt_installed)(int, ...) = nullptr;
  bool (*is_nnpa_datatype_installed)(std::uint16_t) = nullptr;
  bool (*is_nnpa_layout_fmt_installed)(std::uint32_t) = nullptr;
  std::uint32_t (*get_nnpa_max_dim_idx_size)() = nullptr;
  std::uint64_t (*get_nnpa_max_tensor_size)() = nullptr;
  char* (*get_library_version_str)() = nullptr;
  const char* (*get_status_message)(std::uint32_t) = nullptr;
  std::uint32_t (*generate_transformed_desc)(const TensorDesc*, TensorDesc*) = nullptr;
  std::uint32_t (*transform_ztensor)(Ztensor*, ...) = nullptr;
  std::uint32_t (*transform_origtensor)(const Ztensor*, void*) = nullptr;
  Binary add = nullptr;
  Binary sub = nullptr;
  Binary mul = nullptr;
  Binary div = nullptr;
  Unary exp = nullptr;
  Unary log = nullptr;
  std::uint32_t (*relu)(const Ztensor*, const void*, Ztensor*) = nullptr;
  Unary tanh = nullptr;
  Unary sigmoid = nullptr;
  std::uint32_t (*softmax)(const Ztensor*, void*, std::uint32_t, Ztensor*) = nullptr;
  std::uint32_t (*matmul_op)(const Ztensor*, const Ztensor*, const Ztensor*, std::uint32_t,
                             Ztensor*) = nullptr;
  std::uint32_t (*matmul_bcast_op)(const Ztensor*, const Ztensor*, const Ztensor*, std::uint32_t,
                                   Ztensor*) = nullptr;
  std::uint32_t (*batchnorm)(const Ztensor*, const Ztensor*, const Ztensor*, Ztensor*) = nullptr;
  // Since 1.1.
  std::uint32_t (*matmul_transpose_op)(const Ztensor*, const Ztensor*, const Ztensor*, bool, bool,
                                       std::uint32_t, Ztensor*) = nullptr;
  std::uint32_t (*get_max_for_dim)(std::uint8_t) = nullptr;
  Unary sqrt = nullptr;
  std::uint32_t (*invsqrt)(const Ztensor*, float, Ztensor*) = nullptr;
  std::uint32_t (*generate_quantized_transformed_desc)(const TensorDesc*, std::uint32_t,
                                                       TensorDesc*) = nullptr;
  std::uint32_t (*transform_quantized_ztensor)(Ztensor*, bool, std::int8_t, std::int8_t,
                                               const void*) = nullptr;
  std::uint32_t (*getrange_ztensor)(const Ztensor*, float*, float*) = nullptr;
  std::uint32_t (*quantized_matmul_op)(const Ztensor*, const Ztensor*, const Ztensor*,
                                       std::uint32_t, std::int8_t, std::int8_t, bool, bool, bool,
                                       void*, Ztensor*) = nullptr;
};

std::span<const SymbolRow<Symbols>> symbol_rows();
/// The name of a function: for messages.
template <auto Function>
const char* name_of() {
  return shunt::name_of<Function>(symbol_rows());
}

}  // namespace shunt::zdnn
