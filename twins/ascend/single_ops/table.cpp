// The types of single operators, and how their inputs and attributes become an operator's
// arguments.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "ascend/single_ops/single_op.h"

namespace ascend_twin {
namespace {

using Arguments = std::vector<Argument>;

Argument scalar(double value, bool is_real, std::int64_t integer) {
  Argument argument(value);
  argument.kind = Argument::Kind::kScalar;
  argument.integer = integer;
  argument.type = is_real ? ACL_FLOAT : ACL_INT64;
  return argument;
}
Argument one() {
  return scalar(1, false, 1);
}
Argument array(const std::vector<std::int64_t>& values) {
  Argument argument(0);
  argument.kind = Argument::Kind::kIntegers;
  argument.integers = values;
  return argument;
}

/// An input that a kernel reads from device memory.
Status add_input(const SingleOp& use, std::size_t position, Arguments* arguments) {
  if (!use.has_input(position))
    return not_built(use, "input " + std::to_string(position) + " is left out");
  if (use.constants[position].is_host) {
    return refuse(ACL_ERROR_FEATURE_UNSUPPORTED, use.type + ": input " + std::to_string(position) +
                                                     " is in host memory, the twin's is not");
  }
  arguments->push_back(Argument::of(use.inputs[position]));
  return ACL_SUCCESS;
}
void add_output(const SingleOp& use, Arguments* arguments) {
  arguments->push_back(Argument::of(use.outputs[0]));
}

/// An input on whose value the result's shape or the kernel depends.
Status constant_of(const SingleOp& use, std::size_t position, const Constant** constant) {
  if (!use.has_input(position) || !use.constants[position].is_host)
    return not_built(use, "input " + std::to_string(position) + " is no constant of the host");
  *constant = &use.constants[position];
  return ACL_SUCCESS;
}
Status constant_scalar(const SingleOp& use, std::size_t position, Arguments* arguments) {
  const Constant* constant = nullptr;
  ASCEND_TWIN_TRY(constant_of(use, position, &constant));
  if (constant->reals.size() != 1)
    return not_built(use, "input " + std::to_string(position) + " is not one number");
  arguments->push_back(
      scalar(constant->reals[0], is_float(use.inputs[position].type), constant->integers[0]));
  return ACL_SUCCESS;
}

Status inputs_and_output(const SingleOp& use, Arguments* arguments) {
  for (std::size_t i = 0; i < use.inputs.size(); ++i) ASCEND_TWIN_TRY(add_input(use, i, arguments));
  add_output(use, arguments);
  return ACL_SUCCESS;
}

/// aclnnAdd and aclnnSub have a factor.
Status with_alpha(const SingleOp& use, Arguments* arguments) {
  ASCEND_TWIN_TRY(inputs_and_output(use, arguments));
  arguments->insert(arguments->end() - 1, one());
  return ACL_SUCCESS;
}

Status cast(const SingleOp& use, Arguments* arguments) {
  ASCEND_TWIN_TRY(inputs_and_output(use, arguments));
  const std::int64_t type = integer_attribute(use, "dst_type", -1);
  if (type != use.outputs[0].type)
    return not_built(use, "dst_type " + std::to_string(type) + " is not that of the result");
  arguments->insert(arguments->end() - 1, Argument(type));
  return ACL_SUCCESS;
}

Status muls(const SingleOp& use, Arguments* arguments) {
  ASCEND_TWIN_TRY(inputs_and_output(use, arguments));
  if (use.attributes.count("value") == 0) return not_built(use, "no attribute \"value\"");
  const double value = real_attribute(use, "value", 0);
  // An integer tensor keeps its type: the kernel has no result of another.
  const bool is_real = is_float(use.inputs[0].type);
  const auto integer =
      std::isnan(value) ? 0 : static_cast<std::int64_t>(std::clamp(value, -0x1p62, 0x1p62));
  arguments->insert(arguments->end() - 1,
                    scalar(is_real ? value : static_cast<double>(integer), is_real, integer));
  return ACL_SUCCESS;
}

Status softmax(const SingleOp& use, Arguments* arguments) {
  ASCEND_TWIN_TRY(inputs_and_output(use, arguments));
  std::vector<std::int64_t> axes = list_attribute(use, "axes");
  if (axes.empty()) axes = {-1};
  if (axes.size() != 1) {
    return refuse(ACL_ERROR_FEATURE_UNSUPPORTED,
                  "SoftmaxV2 over " + std::to_string(axes.size()) + " dimensions at once");
  }
  arguments->insert(arguments->end() - 1, Argument(axes[0]));
  return ACL_SUCCESS;
}

Status transpose(const SingleOp& use, Arguments* arguments) {
  const Constant* dimensions = nullptr;
  ASCEND_TWIN_TRY(constant_of(use, 1, &dimensions));
  ASCEND_TWIN_TRY(add_input(use, 0, arguments));
  arguments->push_back(array(dimensions->integers));
  add_output(use, arguments);
  return ACL_SUCCESS;
}

Status gather(const SingleOp& use, Arguments* arguments) {
  const Constant* axis = nullptr;
  ASCEND_TWIN_TRY(constant_of(use, 2, &axis));
  if (axis->integers.size() != 1) return not_built(use, "not one axis");
  if (integer_attribute(use, "batch_dims", 0) != 0)
    return refuse(ACL_ERROR_FEATURE_UNSUPPORTED, "GatherV2 with batch_dims");
  ASCEND_TWIN_TRY(add_input(use, 0, arguments));
  arguments->emplace_back(axis->integers[0]);
  ASCEND_TWIN_TRY(add_input(use, 1, arguments));
  add_output(use, arguments);
  return ACL_SUCCESS;
}

Status concat(const SingleOp& use, Arguments* arguments) {
  Argument list(0);
  list.kind = Argument::Kind::kList;
  list.views = use.inputs;
  for (const Constant& constant : use.constants) {
    if (constant.is_host) return not_built(use, "an input is in host memory");
  }
  if (use.attributes.count("concat_dim") == 0) return not_built(use, "no attribute concat_dim");
  arguments->push_back(std::move(list));
  arguments->emplace_back(integer_attribute(use, "concat_dim", 0));
  add_output(use, arguments);
  return ACL_SUCCESS;
}

Status fill(const SingleOp& use, Arguments* arguments) {
  const Constant* dimensions = nullptr;
  ASCEND_TWIN_TRY(constant_of(use, 0, &dimensions));
  if (dimensions->integers != use.outputs[0].shape) {
    return not_built(use, "the result is " + text_of(use.outputs[0].shape) + ", not " +
                              text_of(dimensions->integers));
  }
  add_output(use, arguments);
  return constant_scalar(use, 1, arguments);
}

Status range(const SingleOp& use, Arguments* arguments) {
  for (std::size_t i = 0; i < 3; ++i) ASCEND_TWIN_TRY(constant_scalar(use, i, arguments));
  add_output(use, arguments);
  return ACL_SUCCESS;
}

Status swish(const SingleOp& use, Arguments* arguments) {
  if (real_attribute(use, "scale", 1) != 1)
    return refuse(ACL_ERROR_FEATURE_UNSUPPORTED, "Swish with another scale than 1");
  return inputs_and_output(use, arguments);
}

Status triangle(const SingleOp& use, Arguments* arguments) {
  ASCEND_TWIN_TRY(inputs_and_output(use, arguments));
  arguments->insert(arguments->end() - 1, Argument(integer_attribute(use, "diagonal", 0)));
  return ACL_SUCCESS;
}

View transposed(View view) {
  if (view.rank() < 2) return view;
  std::swap(view.shape[view.rank() - 1], view.shape[view.rank() - 2]);
  std::swap(view.strides[view.rank() - 1], view.strides[view.rank() - 2]);
  return view;
}

Status product(const SingleOp& use, const char* first, const char* second, Arguments* arguments) {
  if (use.has_input(3)) return not_built(use, "offset_w is for integers");
  for (std::size_t i = 0; i < 2; ++i) {
    if (!use.has_input(i)) return not_built(use, "no input " + std::to_string(i));
    ASCEND_TWIN_TRY(add_input(use, i, arguments));
    View& view = arguments->back().views.front();
    if (bool_attribute(use, i == 0 ? first : second, false)) view = transposed(view);
  }
  if (use.has_input(2)) {
    ASCEND_TWIN_TRY(add_input(use, 2, arguments));
  } else {
    arguments->emplace_back(static_cast<const aclTensor*>(nullptr));
  }
  add_output(use, arguments);
  arguments->emplace_back(0);  // the kernel's check fills it in from the options
  return ACL_SUCCESS;
}
Status matmul(const SingleOp& use, Arguments* arguments) {
  return product(use, "transpose_x1", "transpose_x2", arguments);
}
Status batch_matmul(const SingleOp& use, Arguments* arguments) {
  return product(use, "adj_x1", "adj_x2", arguments);
}

constexpr std::size_t kAny = 1000;

constexpr SingleOpRow kRows[] = {
    {"MatMul", "MatMulV2", 2, 3, matmul},
    {"MatMulV2", "MatMulV2", 2, 4, matmul},
    {"BatchMatMul", "MatMulV2", 2, 2, batch_matmul},
    {"BatchMatMulV2", "MatMulV2", 2, 4, batch_matmul},
    {"Cast", "Cast", 1, 1, cast},
    {"Add", "Add", 2, 2, with_alpha},
    {"Sub", "Sub", 2, 2, with_alpha},
    {"Mul", "Mul", 2, 2, inputs_and_output},
    {"RealDiv", "Div", 2, 2, inputs_and_output},
    {"Maximum", "Maximum", 2, 2, inputs_and_output},
    {"Minimum", "Minimum", 2, 2, inputs_and_output},
    {"Muls", "Muls", 1, 1, muls},
    {"SoftmaxV2", "Softmax", 1, 1, softmax},
    {"Transpose", "Permute", 2, 2, transpose},
    {"GatherV2", "GatherV2", 3, 3, gather},
    {"ConcatD", "Cat", 1, kAny, concat},
    {"Fill", "InplaceFillScalar", 2, 2, fill},
    {"Range", "Arange", 3, 3, range},
    {"Tril", "Tril", 1, 1, triangle},
    {"Triu", "Triu", 1, 1, triangle},
    {"Swish", "Silu", 1, 1, swish},
    {"Gelu", "Gelu", 1, 1, inputs_and_output},
    {"Sigmoid", "Sigmoid", 1, 1, inputs_and_output},
    {"Relu", "Relu", 1, 1, inputs_and_output},
    {"Tanh", "Tanh", 1, 1, inputs_and_output},
    {"Sqrt", "Sqrt", 1, 1, inputs_and_output},
    {"Rsqrt", "Rsqrt", 1, 1, inputs_and_output},
    {"Exp", "Exp", 1, 1, inputs_and_output},
    {"Log", "Log", 1, 1, inputs_and_output},
    {"Sin", "Sin", 1, 1, inputs_and_output},
    {"Cos", "Cos", 1, 1, inputs_and_output},
    {"Neg", "Neg", 1, 1, inputs_and_output},
    {"Abs", "Abs", 1, 1, inputs_and_output},
};

template <class Kind>
const Kind* attribute(const SingleOp& use, const char* name) {
  const auto found = use.attributes.find(name);
  return found == use.attributes.end() ? nullptr : std::get_if<Kind>(&found->second);
}

}  // namespace

const SingleOpRow* find_row(std::string_view type) {
  const auto* const found = std::find_if(std::begin(kRows), std::end(kRows),
                                         [&](const SingleOpRow& row) { return row.type == type; });
  return found == std::end(kRows) ? nullptr : found;
}

bool bool_attribute(const SingleOp& use, const char* name, bool otherwise) {
  const bool* const value = attribute<bool>(use, name);
  return value == nullptr ? otherwise : *value;
}
std::int64_t integer_attribute(const SingleOp& use, const char* name, std::int64_t otherwise) {
  const std::int64_t* const value = attribute<std::int64_t>(use, name);
  return value == nullptr ? otherwise : *value;
}
double real_attribute(const SingleOp& use, const char* name, double otherwise) {
  const double* const value = attribute<double>(use, name);
  return value == nullptr ? otherwise : *value;
}
std::vector<std::int64_t> list_attribute(const SingleOp& use, const char* name) {
  const auto* const value = attribute<std::vector<std::int64_t>>(use, name);
  return value == nullptr ? std::vector<std::int64_t>{} : *value;
}

}  // namespace ascend_twin
