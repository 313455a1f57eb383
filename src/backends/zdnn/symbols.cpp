#include "backends/zdnn/symbols.h"

#include <array>

#include "base/fail.h"

namespace shunt::zdnn {

namespace {

/// One row a function: its name, and how it gets into the struct.
struct Row {
  const char* name;
  void (*set)(Symbols& symbols, void* address);
  bool optional = false;
};

template <auto Member>
void set(Symbols& symbols, void* address) {
  auto& function = symbols.*Member;
  function = reinterpret_cast<std::decay_t<decltype(function)>>(address);
}

constexpr std::array kRows = {
    Row{"zdnn_is_nnpa_installed", set<&Symbols::is_nnpa_installed>},
    Row{"zdnn_is_nnpa_function_installed", set<&Symbols::is_nnpa_function_installed>},
    Row{"zdnn_is_nnpa_parmblk_fmt_installed", set<&Symbols::is_nnpa_parmblk_fmt_installed>},
    Row{"zdnn_is_nnpa_datatype_installed", set<&Symbols::is_nnpa_datatype_installed>},
    Row{"zdnn_is_nnpa_layout_fmt_installed", set<&Symbols::is_nnpa_layout_fmt_installed>},
    Row{"zdnn_get_nnpa_max_dim_idx_size", set<&Symbols::get_nnpa_max_dim_idx_size>},
    Row{"zdnn_get_nnpa_max_tensor_size", set<&Symbols::get_nnpa_max_tensor_size>},
    Row{"zdnn_get_library_version_str", set<&Symbols::get_library_version_str>},
    Row{"zdnn_get_status_message", set<&Symbols::get_status_message>},
    Row{"zdnn_generate_transformed_desc", set<&Symbols::generate_transformed_desc>},
    Row{"zdnn_transform_ztensor", set<&Symbols::transform_ztensor>},
    Row{"zdnn_transform_origtensor", set<&Symbols::transform_origtensor>},
    Row{"zdnn_add", set<&Symbols::add>},
    Row{"zdnn_sub", set<&Symbols::sub>},
    Row{"zdnn_mul", set<&Symbols::mul>},
    Row{"zdnn_div", set<&Symbols::div>},
    Row{"zdnn_exp", set<&Symbols::exp>},
    Row{"zdnn_log", set<&Symbols::log>},
    Row{"zdnn_relu", set<&Symbols::relu>},
    Row{"zdnn_tanh", set<&Symbols::tanh>},
    Row{"zdnn_sigmoid", set<&Symbols::sigmoid>},
    Row{"zdnn_softmax", set<&Symbols::softmax>},
    Row{"zdnn_matmul_op", set<&Symbols::matmul_op>},
    Row{"zdnn_matmul_bcast_op", set<&Symbols::matmul_bcast_op>},
    Row{"zdnn_batchnorm", set<&Symbols::batchnorm>},
    Row{"zdnn_matmul_transpose_op", set<&Symbols::matmul_transpose_op>, true},
    Row{"zdnn_get_max_for_dim", set<&Symbols::get_max_for_dim>, true},
    Row{"zdnn_sqrt", set<&Symbols::sqrt>, true},
    Row{"zdnn_invsqrt", set<&Symbols::invsqrt>, true},
    Row{"zdnn_generate_quantized_transformed_desc",
        set<&Symbols::generate_quantized_transformed_desc>, true},
    Row{"zdnn_transform_quantized_ztensor", set<&Symbols::transform_quantized_ztensor>, true},
    Row{"zdnn_getrange_ztensor", set<&Symbols::getrange_ztensor>, true},
    Row{"zdnn_quantized_matmul_op", set<&Symbols::quantized_matmul_op>, true},
};

}  // namespace

Result<Symbols> bind_symbols(const std::function<void*(const char* name)>& find) {
  Symbols symbols;
  for (const Row& row : kRows) {
    void* const address = find(row.name);
    if (address == nullptr && !row.optional) {
      return fail(ErrorCode::kNotFound, "it has no {}, which version 1.0 has", row.name);
    }
    row.set(symbols, address);
  }
  return symbols;
}

}  // namespace shunt::zdnn
