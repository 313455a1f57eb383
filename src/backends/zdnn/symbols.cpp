#include "backends/zdnn/symbols.h"

#include <array>

namespace shunt::zdnn {

namespace {

constexpr std::array kSymbolTable = {
    symbol<&Symbols::is_nnpa_installed>("zdnn_is_nnpa_installed"),
    symbol<&Symbols::is_nnpa_function_installed>("zdnn_is_nnpa_function_installed"),
    symbol<&Symbols::is_nnpa_parmblk_fmt_installed>("zdnn_is_nnpa_parmblk_fmt_installed"),
    symbol<&Symbols::is_nnpa_datatype_installed>("zdnn_is_nnpa_datatype_installed"),
    symbol<&Symbols::is_nnpa_layout_fmt_installed>("zdnn_is_nnpa_layout_fmt_installed"),
    symbol<&Symbols::get_nnpa_max_dim_idx_size>("zdnn_get_nnpa_max_dim_idx_size"),
    symbol<&Symbols::get_nnpa_max_tensor_size>("zdnn_get_nnpa_max_tensor_size"),
    symbol<&Symbols::get_library_version_str>("zdnn_get_library_version_str"),
    symbol<&Symbols::get_status_message>("zdnn_get_status_message"),
    symbol<&Symbols::generate_transformed_desc>("zdnn_generate_transformed_desc"),
    symbol<&Symbols::transform_ztensor>("zdnn_transform_ztensor"),
    symbol<&Symbols::transform_origtensor>("zdnn_transform_origtensor"),
    symbol<&Symbols::add>("zdnn_add"),
    symbol<&Symbols::sub>("zdnn_sub"),
    symbol<&Symbols::mul>("zdnn_mul"),
    symbol<&Symbols::div>("zdnn_div"),
    symbol<&Symbols::exp>("zdnn_exp"),
    symbol<&Symbols::log>("zdnn_log"),
    symbol<&Symbols::relu>("zdnn_relu"),
    symbol<&Symbols::tanh>("zdnn_tanh"),
    symbol<&Symbols::sigmoid>("zdnn_sigmoid"),
    symbol<&Symbols::softmax>("zdnn_softmax"),
    symbol<&Symbols::matmul_op>("zdnn_matmul_op"),
    symbol<&Symbols::matmul_bcast_op>("zdnn_matmul_bcast_op"),
    symbol<&Symbols::batchnorm>("zdnn_batchnorm"),
    symbol<&Symbols::matmul_transpose_op>("zdnn_matmul_transpose_op", "1.1"),
    symbol<&Symbols::get_max_for_dim>("zdnn_get_max_for_dim", "1.1"),
    symbol<&Symbols::sqrt>("zdnn_sqrt", "1.1"),
    symbol<&Symbols::invsqrt>("zdnn_invsqrt", "1.1"),
    symbol<&Symbols::generate_quantized_transformed_desc>(
        "zdnn_generate_quantized_transformed_desc", "1.1"),
    symbol<&Symbols::transform_quantized_ztensor>("zdnn_transform_quantized_ztensor", "1.1"),
    symbol<&Symbols::getrange_ztensor>("zdnn_getrange_ztensor", "1.1"),
    symbol<&Symbols::quantized_matmul_op>("zdnn_quantized_matmul_op", "1.1"),
};

}  // namespace

std::span<const SymbolRow<Symbols>> symbol_rows() {
  return kSymbolTable;
}

}  // namespace shunt::zdnn
