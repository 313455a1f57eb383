// Arguments, their binding to roles, and the checks that operators share.
#include <algorithm>

#include "ascend/ops/op.h"

namespace ascend_twin {
namespace {

void take_view(Argument& argument, const std::shared_ptr<aclTensor>& tensor) {
  if (tensor == nullptr) {
    argument.text = "destroyed";
  } else {
    argument.views.push_back(tensor->view);
  }
}

Status invalid(const std::string& reason) {
  return refuse(ACLNN_ERR_PARAM_INVALID, reason);
}

}  // namespace

Argument::Argument(const aclTensor* tensor)
    : kind(Kind::kTensor), handle(tensor), is_null(tensor == nullptr) {
  if (!is_null) take_view(*this, descriptors().tensors.find(tensor));
}

Argument::Argument(const aclTensorList* list)
    : kind(Kind::kList), handle(list), is_null(list == nullptr) {
  if (is_null) return;
  const auto found = descriptors().tensor_lists.find(list);
  if (found == nullptr) {
    text = "destroyed";
    return;
  }
  for (const auto& member : found->members) take_view(*this, member);
}

Argument::Argument(const aclScalar* scalar)
    : kind(Kind::kScalar), handle(scalar), is_null(scalar == nullptr) {
  if (is_null) return;
  const auto found = descriptors().scalars.find(scalar);
  if (found == nullptr) {
    text = "destroyed";
    return;
  }
  real = found->real;
  integer = found->integer;
  type = found->type;
}

Argument::Argument(const aclIntArray* array)
    : kind(Kind::kIntegers), handle(array), is_null(array == nullptr) {
  if (is_null) return;
  const auto found = descriptors().int_arrays.find(array);
  if (found == nullptr) {
    text = "destroyed";
    return;
  }
  integers = found->values;
}

Argument Argument::of(const View& view) {
  Argument argument(0);
  argument.kind = Kind::kTensor;
  argument.views.push_back(view);
  return argument;
}

Call::Call(const Op& op, std::vector<Argument> arguments)
    : op_(&op), arguments_(std::move(arguments)) {
  for (const char* letter = op.roles; *letter != '\0'; ++letter) {
    if (*letter == '?') {
      optional_.back() = true;
    } else {
      roles_.push_back(*letter);
      optional_.push_back(false);
    }
  }
}

std::string Call::describe(std::size_t position) const {
  std::string text = std::string("aclnn") + op_->name + ": argument " + std::to_string(position);
  const Argument& argument = arguments_[position];
  if (argument.views.empty()) return text;
  return text + " is " + name_of(argument.views[0].type) + " " + text_of(argument.views[0].shape);
}

Status need_type(const Call& call, std::size_t position, std::initializer_list<aclDataType> types) {
  const aclDataType type = call.view(position).type;
  if (std::find(types.begin(), types.end(), type) != types.end()) return ACL_SUCCESS;
  return invalid(call.describe(position) + ", a type that is not allowed");
}

Status need_same_type(const Call& call, std::size_t a, std::size_t b) {
  if (call.view(a).type == call.view(b).type) return ACL_SUCCESS;
  return invalid(call.describe(b) + ", not " + name_of(call.view(a).type));
}

Status need_shape(const Call& call, std::size_t position, const Shape& shape) {
  if (call.view(position).shape == shape) return ACL_SUCCESS;
  return invalid(call.describe(position) + ", not " + text_of(shape));
}

Status need_rank(const Call& call, std::size_t position, std::size_t least, std::size_t most) {
  const std::size_t rank = call.view(position).rank();
  if (rank >= least && rank <= most) return ACL_SUCCESS;
  return invalid(call.describe(position) + ", of " + std::to_string(rank) + " dimensions");
}

Status need_castable(const Call& call, aclDataType from, std::size_t position) {
  if (!is_float(from) || is_float(call.view(position).type)) return ACL_SUCCESS;
  return invalid(call.describe(position) + ", which no float becomes");
}

}  // namespace ascend_twin
