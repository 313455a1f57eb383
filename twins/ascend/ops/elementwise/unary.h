// Operators of one tensor and up to three numbers. One check and one function serve all; an
// operator adds its formula.
#pragma once

#include <cstdint>

#include "ascend/ops/op.h"

namespace ascend_twin {

/// `p` has the scalars and numbers of the signature in order. An optional first one that is null
/// is minus infinity, a second one infinity.
struct Formula {
  double (*real)(double x, const double* p);
  std::int64_t (*whole)(std::int64_t x, const std::int64_t* p) = nullptr;  ///< null: F32 instead
  bool yields_bool = false;
  Status (*also)(const Call& call) = nullptr;  ///< further checks
};

struct UnaryOp : Op {
  Formula formula{};
};

Status check_unary(Call& call);
Status run_unary(Kernel& kernel);
std::uint64_t unary_workspace(const Call& call);

constexpr UnaryOp unary_op(const char* name, const char* roles, const Formula& formula) {
  UnaryOp op{};
  op.name = name;
  op.roles = roles;
  op.check = check_unary;
  op.run = run_unary;
  op.workspace = unary_workspace;
  op.formula = formula;
  return op;
}

// clang-format off
#define ASCEND_UNARY_OP(name, roles, formula, arguments, ...)                            \
  namespace ascend_twin {                                                                        \
  namespace {                                                                                    \
  namespace unary_rows {                                                                         \
  constexpr UnaryOp k##name = unary_op(#name, roles, formula);                           \
  }                                                                                              \
  }                                                                                              \
  }                                                                                              \
  ASCEND_OP(name, ascend_twin::unary_rows::k##name, arguments, __VA_ARGS__)
// clang-format on
#define ASCEND_UNARY(name, formula) \
  ASCEND_UNARY_OP(name, "io", formula, (self, out), const aclTensor* self, aclTensor* out)
#define ASCEND_UNARY_IN_PLACE(name, formula) \
  ASCEND_UNARY_OP(name, "x", formula, (selfRef), aclTensor* selfRef)

}  // namespace ascend_twin
