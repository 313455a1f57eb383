// Functions of mathematics, element by element.
#include "ascend/numbers/functions.h"

#include <cmath>

#include "ascend/include/acl/aclnn_elementwise.h"
#include "ascend/ops/elementwise/unary.h"
#include "common/reals.h"

namespace ascend_twin {
namespace {

namespace functions {
using Whole = std::int64_t;

/// A function without parameters as a formula's.
template <double (*kFunction)(double)>
double plain(double x, const double* /*p*/) {
  return kFunction(x);
}

// Integers wrap around.
Whole negative(Whole x, const Whole* /*p*/) {
  return static_cast<Whole>(-static_cast<std::uint64_t>(x));
}
Whole sign(Whole x, const Whole* /*p*/) {
  return Whole{x > 0} - Whole{x < 0};
}

constexpr Formula kNeg{[](double x, const double*) { return -x; }, negative};
constexpr Formula kAbs{[](double x, const double*) { return std::fabs(x); },
                       [](Whole x, const Whole* p) { return x < 0 ? negative(x, p) : x; }};
constexpr Formula kSign{[](double x, const double*) { return x > 0   ? 1.0
                                                             : x < 0 ? -1.0
                                                                     : 0.0; },
                        sign};
constexpr Formula kSqrt{[](double x, const double*) { return std::sqrt(x); }};
constexpr Formula kRsqrt{[](double x, const double*) { return 1 / std::sqrt(x); }};
constexpr Formula kReciprocal{[](double x, const double*) { return 1 / x; }};
constexpr Formula kExp{plain<twin::exp_of>};
constexpr Formula kExpm1{plain<expm1_of>};
constexpr Formula kLog{plain<twin::log_of>};
constexpr Formula kLog1p{plain<log1p_of>};
constexpr Formula kSin{plain<sin_of>};
constexpr Formula kCos{plain<cos_of>};
constexpr Formula kTanh{plain<twin::tanh_of>};
constexpr Formula kErf{plain<erf_of>};
constexpr Formula kFloor{[](double x, const double*) { return std::floor(x); }};
constexpr Formula kCeil{[](double x, const double*) { return std::ceil(x); }};
constexpr Formula kRound{plain<twin::round_half_even>};
constexpr Formula kTrunc{[](double x, const double*) { return std::trunc(x); }};
constexpr Formula kLogicalNot{[](double x, const double*) { return x == 0 ? 1.0 : 0.0; },
                              [](Whole x, const Whole*) { return Whole{x == 0}; }, true};

}  // namespace functions

}  // namespace
}  // namespace ascend_twin

ASCEND_UNARY(Neg, functions::kNeg)
ASCEND_UNARY(Abs, functions::kAbs)
ASCEND_UNARY(Sign, functions::kSign)
ASCEND_UNARY(Sqrt, functions::kSqrt)
ASCEND_UNARY(Rsqrt, functions::kRsqrt)
ASCEND_UNARY(Reciprocal, functions::kReciprocal)
ASCEND_UNARY(Exp, functions::kExp)
ASCEND_UNARY_IN_PLACE(InplaceExp, functions::kExp)
ASCEND_UNARY(Expm1, functions::kExpm1)
ASCEND_UNARY(Log, functions::kLog)
ASCEND_UNARY(Log1p, functions::kLog1p)
ASCEND_UNARY(Sin, functions::kSin)
ASCEND_UNARY_IN_PLACE(InplaceSin, functions::kSin)
ASCEND_UNARY(Cos, functions::kCos)
ASCEND_UNARY_IN_PLACE(InplaceCos, functions::kCos)
ASCEND_UNARY(Tanh, functions::kTanh)
ASCEND_UNARY(Erf, functions::kErf)
ASCEND_UNARY(Floor, functions::kFloor)
ASCEND_UNARY(Ceil, functions::kCeil)
ASCEND_UNARY(Round, functions::kRound)
ASCEND_UNARY(Trunc, functions::kTrunc)
ASCEND_UNARY(LogicalNot, functions::kLogicalNot)
