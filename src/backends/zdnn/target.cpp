#include "backends/zdnn/target.h"

#include "shunt/message.h"

namespace shunt::zdnn {

namespace {

/// The capability table. Codes and formats of parameter blocks are those of the Principles of
/// Operation (NNPA); format 1 came with z17. A feature that takes several functions of the library
/// has a row for each; the first that is missing says why.
struct MachineRow {
  Feature feature;
  int code;
  int format;
  const char* (*name)();
  bool (*bound)(const Symbols& symbols);
};

template <auto Function>
constexpr MachineRow machine_row(Feature feature, int code, int format = 0) {
  return {feature, code, format, name_of<Function>,
          [](const Symbols& symbols) { return symbols.*Function != nullptr; }};
}

constexpr std::array kMachineTable = {
    machine_row<&Symbols::add>(Feature::kAdd, 16),
    machine_row<&Symbols::sub>(Feature::kSub, 17),
    machine_row<&Symbols::mul>(Feature::kMul, 18),
    machine_row<&Symbols::div>(Feature::kDiv, 19),
    machine_row<&Symbols::exp>(Feature::kExp, 33),
    machine_row<&Symbols::log>(Feature::kLog, 32),
    machine_row<&Symbols::relu>(Feature::kRelu, 49),
    machine_row<&Symbols::tanh>(Feature::kTanh, 50),
    machine_row<&Symbols::sigmoid>(Feature::kSigmoid, 51),
    machine_row<&Symbols::softmax>(Feature::kSoftmax, 52),
    machine_row<&Symbols::matmul_op>(Feature::kMatmul, 113),
    machine_row<&Symbols::matmul_bcast_op>(Feature::kMatmulShared, 114),
    machine_row<&Symbols::matmul_transpose_op>(Feature::kMatmulTransposed, 113, 1),
    machine_row<&Symbols::matmul_transpose_op>(Feature::kMatmulTransposed, 114, 1),
    machine_row<&Symbols::batchnorm>(Feature::kBatchnorm, 64),
    machine_row<&Symbols::sqrt>(Feature::kSqrt, 34, 1),
    machine_row<&Symbols::invsqrt>(Feature::kInvsqrt, 35, 1),
    machine_row<&Symbols::quantized_matmul_op>(Feature::kQuantizedMatmul, 113, 1),
    machine_row<&Symbols::getrange_ztensor>(Feature::kQuantizedMatmul, 113, 1),
    machine_row<&Symbols::transform_quantized_ztensor>(Feature::kQuantizedMatmul, 113, 1),
    machine_row<&Symbols::generate_quantized_transformed_desc>(Feature::kQuantizedMatmul, 113, 1),
};

}  // namespace

Result<std::unique_ptr<Machine>> Machine::create(const Symbols& symbols, OutOfRange out_of_range) {
  const std::string version = symbols.get_library_version_str();
  if (!symbols.is_nnpa_installed()) {
    return fail(ErrorCode::kUnsupported,
                "libzdnn {} was found, but no integrated accelerator for AI is visible on this "
                "machine (NNPA: z16 and later)",
                version);
  }
  std::unique_ptr<Machine> machine(new Machine(symbols));
  machine->out_of_range_ = out_of_range;
  const bool newer = symbols.is_nnpa_parmblk_fmt_installed(1, 1);
  for (const MachineRow& row : kMachineTable) {
    std::string& why = machine->missing_[static_cast<std::size_t>(row.feature)];
    if (!why.empty()) continue;
    if (!row.bound(symbols)) {
      why = fmt::format("libzdnn {} has no {}", version, row.name());
    } else if (!symbols.is_nnpa_function_installed(1, row.code)) {
      why = fmt::format("{}: this machine does not have function {}{}", row.name(), row.code,
                        row.format == 1 ? ", which came with z17" : "");
    } else if (row.format == 1 && !newer) {
      why = fmt::format("{}: this machine lacks parameter block format 1, which came with z17",
                        row.name());
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
    return fail(ErrorCode::kUnsupported, "libzdnn {} reports a maximum of 0 elements in a tensor",
                version);
  }
  machine->twin_ = is_version_of_twin(version);
  machine->description_ = fmt::format("integrated accelerator for AI of a {}, libzdnn {}",
                                      newer ? "z17 or later" : "z16", version);
  return machine;
}

}  // namespace shunt::zdnn
