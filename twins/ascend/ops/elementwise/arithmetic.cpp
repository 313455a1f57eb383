// Sums, products, quotients, powers and the like of two operands.
#include <cmath>

#include "ascend/include/acl/aclnn_elementwise.h"
#include "ascend/numbers/functions.h"
#include "ascend/ops/elementwise/binary.h"

namespace ascend_twin {
namespace {

namespace arithmetic {
using Whole = std::int64_t;

// Integers wrap around.
Whole product(Whole a, Whole b) {
  return static_cast<Whole>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

Whole whole_power(Whole base, Whole exponent) {
  if (exponent < 0) {  // 1 / base^n, truncated
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  Whole result = 1;
  for (; exponent != 0; exponent /= 2, base = product(base, base)) {
    if (exponent % 2 != 0) result = product(result, base);
  }
  return result;
}

// NaN wins.
double greater(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}
double less(double a, double b) {
  return std::isnan(a) || a < b ? a : b;
}

constexpr Arithmetic kAdd{
    [](double a, double b) { return a + b; },
    [](Whole a, Whole b) {
      return static_cast<Whole>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    }};
constexpr Arithmetic kSub{
    [](double a, double b) { return a - b; },
    [](Whole a, Whole b) {
      return static_cast<Whole>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
    }};
constexpr Arithmetic kMul{[](double a, double b) { return a * b; }, product};
constexpr Arithmetic kDiv{[](double a, double b) { return a / b; }};
constexpr Arithmetic kMaximum{greater, [](Whole a, Whole b) { return a > b ? a : b; }};
constexpr Arithmetic kMinimum{less, [](Whole a, Whole b) { return a < b ? a : b; }};
constexpr Arithmetic kPow{pow_of, whole_power};

}  // namespace arithmetic

}  // namespace
}  // namespace ascend_twin

ASCEND_BINARY_OP(Add, "iiso", arithmetic::kAdd, (self, other, alpha, out), const aclTensor* self,
                 const aclTensor* other, const aclScalar* alpha, aclTensor* out)
ASCEND_BINARY_OP(InplaceAdd, "xis", arithmetic::kAdd, (selfRef, other, alpha),
                 const aclTensor* selfRef, const aclTensor* other, const aclScalar* alpha)
ASCEND_BINARY_OP(Adds, "isso", arithmetic::kAdd, (self, other, alpha, out), const aclTensor* self,
                 const aclScalar* other, const aclScalar* alpha, aclTensor* out)
ASCEND_BINARY_OP(InplaceAdds, "xss", arithmetic::kAdd, (selfRef, other, alpha),
                 const aclTensor* selfRef, const aclScalar* other, const aclScalar* alpha)
ASCEND_BINARY_OP(Sub, "iiso", arithmetic::kSub, (self, other, alpha, out), const aclTensor* self,
                 const aclTensor* other, const aclScalar* alpha, aclTensor* out)
ASCEND_BINARY_OP(InplaceSub, "xis", arithmetic::kSub, (selfRef, other, alpha), aclTensor* selfRef,
                 const aclTensor* other, const aclScalar* alpha)
ASCEND_BINARY_OP(Subs, "isso", arithmetic::kSub, (self, other, alpha, out), const aclTensor* self,
                 const aclScalar* other, const aclScalar* alpha, aclTensor* out)
ASCEND_BINARY_OP(InplaceSubs, "xss", arithmetic::kSub, (selfRef, other, alpha), aclTensor* selfRef,
                 const aclScalar* other, const aclScalar* alpha)
ASCEND_TENSORS(Mul, arithmetic::kMul)
ASCEND_TENSORS_IN_PLACE(InplaceMul, arithmetic::kMul)
ASCEND_SCALAR(Muls, arithmetic::kMul)
ASCEND_SCALAR_IN_PLACE(InplaceMuls, arithmetic::kMul)
ASCEND_TENSORS(Div, arithmetic::kDiv)
ASCEND_TENSORS_IN_PLACE(InplaceDiv, arithmetic::kDiv)
ASCEND_SCALAR(Divs, arithmetic::kDiv)
ASCEND_SCALAR_IN_PLACE(InplaceDivs, arithmetic::kDiv)
ASCEND_TENSORS(Maximum, arithmetic::kMaximum)
ASCEND_TENSORS(Minimum, arithmetic::kMinimum)
ASCEND_TENSORS(PowTensorTensor, arithmetic::kPow)
ASCEND_TENSORS_IN_PLACE(InplacePowTensorTensor, arithmetic::kPow)
ASCEND_SCALAR(PowTensorScalar, arithmetic::kPow)
ASCEND_BINARY_OP(PowScalarTensor, "sio", arithmetic::kPow, (self, exponent, out),
                 const aclScalar* self, const aclTensor* exponent, aclTensor* out)
