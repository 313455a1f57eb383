#include "backends/zdnn/machine.h"

#include "base/fail.h"

namespace shunt::zdnn {

namespace {

/// The capability table. Codes and formats of parameter blocks are those of the Principles of
/// Operation (NNPA); format 1 came with z17. What takes several functions of the library has a row
/// for each; the first that is missing says why.
struct Row {
  Feature feature;
  const char* name;
  int code;
  int format;
  bool (*bound)(const Symbols& symbols);
};

template <auto Member>
bool bound(const Symbols& symbols) {
  return symbols.*Member != nullptr;
}

constexpr std::array kRows = {
    Row{Feature::kAdd, "zdnn_add", 16, 0, bound<&Symbols::add>},
    Row{Feature::kSub, "zdnn_sub", 17, 0, bound<&Symbols::sub>},
    Row{Feature::kMul, "zdnn_mul", 18, 0, bound<&Symbols::mul>},
    Row{Feature::kDiv, "zdnn_div", 19, 0, bound<&Symbols::div>},
    Row{Feature::kExp, "zdnn_exp", 33, 0, bound<&Symbols::exp>},
    Row{Feature::kLog, "zdnn_log", 32, 0, bound<&Symbols::log>},
    Row{Feature::kRelu, "zdnn_relu", 49, 0, bound<&Symbols::relu>},
    Row{Feature::kTanh, "zdnn_tanh", 50, 0, bound<&Symbols::tanh>},
    Row{Feature::kSigmoid, "zdnn_sigmoid", 51, 0, bound<&Symbols::sigmoid>},
    Row{Feature::kSoftmax, "zdnn_softmax", 52, 0, bound<&Symbols::softmax>},
    Row{Feature::kMatmul, "zdnn_matmul_op", 113, 0, bound<&Symbols::matmul_op>},
    Row{Feature::kMatmulShared, "zdnn_matmul_bcast_op", 114, 0, bound<&Symbols::matmul_bcast_op>},
    Row{Feature::kMatmulTransposed, "zdnn_matmul_transpose_op", 113, 1,
        bound<&Symbols::matmul_transpose_op>},
    Row{Feature::kMatmulTransposed, "zdnn_matmul_transpose_op", 114, 1,
        bound<&Symbols::matmul_transpose_op>},
    Row{Feature::kBatchnorm, "zdnn_batchnorm", 64, 0, bound<&Symbols::batchnorm>},
    Row{Feature::kSqrt, "zdnn_sqrt", 34, 1, bound<&Symbols::sqrt>},
    Row{Feature::kInvsqrt, "zdnn_invsqrt", 35, 1, bound<&Symbols::invsqrt>},
    Row{Feature::kQuantizedMatmul, "zdnn_quantized_matmul_op", 113, 1,
        bound<&Symbols::quantized_matmul_op>},
    Row{Feature::kQuantizedMatmul, "zdnn_getrange_ztensor", 113, 1,
        bound<&Symbols::getrange_ztensor>},
    Row{Feature::kQuantizedMatmul, "zdnn_transform_quantized_ztensor", 113, 1,
        bound<&Symbols::transform_quantized_ztensor>},
    Row{Feature::kQuantizedMatmul, "zdnn_generate_quantized_transformed_desc", 113, 1,
        bound<&Symbols::generate_quantized_transformed_desc>},
};

}  // namespace

Result<std::unique_ptr<Machine>> Machine::create(const Symbols& symbols, OutOfRange out_of_range) {
  const std::string version = symbols.get_library_version_str();
  if (!symbols.is_nnpa_installed()) {
    return fail(ErrorCode::kUnsupported,
                "libzdnn {} is there, but this machine, or what it lets this system see, has no "
                "integrated accelerator for AI (NNPA: z16 and later)",
                version);
  }
  std::unique_ptr<Machine> machine(new Machine(symbols));
  machine->out_of_range_ = out_of_range;
  const bool newer = symbols.is_nnpa_parmblk_fmt_installed(1, 1);
  for (const Row& row : kRows) {
    std::string& why = machine->missing_[static_cast<std::size_t>(row.feature)];
    if (!why.empty()) continue;
    if (!row.bound(symbols)) {
      why = fmt::format("libzdnn {} has no {}", version, row.name);
    } else if (!symbols.is_nnpa_function_installed(1, row.code)) {
      why = fmt::format("{}: this machine does not have function {}{}", row.name, row.code,
                        row.format == 1 ? ", which came with z17" : "");
    } else if (row.format == 1 && !newer) {
      why = fmt::format("{}: this machine lacks parameter block format 1, which came with z17",
                        row.name);
    }
  }
  std::string& no_int8 = machine->missing_[static_cast<std::size_t>(Feature::kQuantizedMatmul)];
  if (no_int8.empty() && !(symbols.is_nnpa_datatype_installed(kInt8Bit) &&
                           symbols.is_nnpa_layout_fmt_installed(kWeightsBit))) {
    no_int8 = "zdnn_quantized_matmul_op: this machine has no 8-bit weights, which came with z17";
  }
  const std::int64_t any = symbols.get_nnpa_max_dim_idx_size();
  for (int dim = 1; dim <= 4; ++dim) {
    const std::int64_t own = symbols.get_max_for_dim == nullptr
                                 ? 0
                                 : symbols.get_max_for_dim(static_cast<std::uint8_t>(dim));
    machine->max_dim_[static_cast<std::size_t>(dim)] = own > 0 ? own : any;
  }
  machine->max_bytes_ = symbols.get_nnpa_max_tensor_size();
  if (any == 0 || machine->max_bytes_ == 0) {
    return fail(ErrorCode::kUnsupported, "libzdnn {} says that a tensor may have no elements",
                version);
  }
  machine->twin_ = version.find("twin") != std::string::npos;
  machine->description_ = fmt::format("integrated accelerator for AI of a {}, libzdnn {}",
                                      newer ? "z17 or later" : "z16", version);
  return machine;
}

}  // namespace shunt::zdnn
