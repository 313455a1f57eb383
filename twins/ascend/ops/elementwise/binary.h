// Operators of two operands, tensors or scalars. One check and one function serve all; an operator
// adds its arithmetic.
#pragma once

#include <cstdint>

#include "ascend/ops/op.h"

namespace ascend_twin {

struct Arithmetic {
  double (*real)(double a, double b);
  std::int64_t (*whole)(std::int64_t a, std::int64_t b) = nullptr;  ///< null: integers become F32
  bool compares = false;  ///< the result is BOOL, cast to the type of `out`
};

struct BinaryOp : Op {
  Arithmetic arithmetic{};
};

Status check_binary(Call& call);
Status run_binary(Kernel& kernel);
std::uint64_t binary_workspace(const Call& call);

/// Roles: the two operands, then a scalar `alpha` that the second is multiplied by, then `out`. In
/// place ('x') the first operand is written.
constexpr BinaryOp binary_op(const char* name, const char* roles, const Arithmetic& arithmetic) {
  BinaryOp op{};
  op.name = name;
  op.roles = roles;
  op.check = check_binary;
  op.run = run_binary;
  op.workspace = binary_workspace;
  op.typed_by = roles[0] == 's' ? 1 : 0;
  op.arithmetic = arithmetic;
  return op;
}

// clang-format off
#define ASCEND_BINARY_OP(name, roles, arithmetic, arguments, ...)                         \
  namespace ascend_twin {                                                                        \
  namespace {                                                                                    \
  namespace binary_rows {                                                                        \
  constexpr BinaryOp k##name = binary_op(#name, roles, arithmetic);                      \
  }                                                                                              \
  }                                                                                              \
  }                                                                                              \
  ASCEND_OP(name, ascend_twin::binary_rows::k##name, arguments, __VA_ARGS__)
// clang-format on
// A macro for each form of signature.
#define ASCEND_TENSORS(name, arithmetic)                                               \
  ASCEND_BINARY_OP(name, "iio", arithmetic, (self, other, out), const aclTensor* self, \
                   const aclTensor* other, aclTensor* out)
#define ASCEND_TENSORS_IN_PLACE(name, arithmetic)                                \
  ASCEND_BINARY_OP(name, "xi", arithmetic, (selfRef, other), aclTensor* selfRef, \
                   const aclTensor* other)
#define ASCEND_SCALAR(name, arithmetic)                                                \
  ASCEND_BINARY_OP(name, "iso", arithmetic, (self, other, out), const aclTensor* self, \
                   const aclScalar* other, aclTensor* out)
#define ASCEND_SCALAR_IN_PLACE(name, arithmetic)                                 \
  ASCEND_BINARY_OP(name, "xs", arithmetic, (selfRef, other), aclTensor* selfRef, \
                   const aclScalar* other)

}  // namespace ascend_twin
