#include "ascend/ops/elementwise/activations.h"

#include <algorithm>
#include <cmath>

#include "ascend/include/acl/aclnn_elementwise.h"
#include "ascend/numbers/functions.h"
#include "ascend/ops/elementwise/unary.h"
#include "common/reals.h"

namespace ascend_twin {

double silu_of(double x) {
  return x / (1 + twin::exp_of(-x));
}
double gelu_erf_of(double x) {
  return 0.5 * x * (1 + erf_of(x * 0x1.6a09e667f3bcdp-1));
}

namespace {

namespace activations {
using Whole = std::int64_t;

double hard_sigmoid(double x) {
  return std::isnan(x) ? x : std::clamp(x + 3, 0.0, 6.0) / 6;
}

Status check_gelu(const Call& call) {
  constexpr std::size_t kApproximate = 1;
  constexpr std::size_t kOut = 2;
  if (call.integer(kApproximate) != 0 && call.integer(kApproximate) != 1) {
    return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(kApproximate) + " is " +
                                               std::to_string(call.integer(kApproximate)) +
                                               ", neither 0 (erf) nor 1 (tanh)");
  }
  return need_same_type(call, 0, kOut);
}

Status check_bounds(const Call& call) {
  if (call.has(1) || call.has(2)) return ACL_SUCCESS;
  return refuse(ACLNN_ERR_PARAM_NULLPTR, "aclnnClamp: both bounds are null");
}

constexpr Formula kSigmoid{[](double x, const double*) { return twin::sigmoid_of(x); }};
constexpr Formula kRelu{[](double x, const double*) { return x < 0 ? 0 : x; },
                        [](Whole x, const Whole*) { return x < 0 ? 0 : x; }};
constexpr Formula kSilu{[](double x, const double*) { return silu_of(x); }};
constexpr Formula kGelu{[](double x, const double*) { return twin::gelu_of(x); }};
constexpr Formula kGeluV2{
    [](double x, const double* p) { return p[0] == 0 ? gelu_erf_of(x) : twin::gelu_of(x); },
    nullptr, false, check_gelu};
constexpr Formula kHardsigmoid{[](double x, const double*) { return hard_sigmoid(x); }};
constexpr Formula kHardswish{[](double x, const double*) { return x * hard_sigmoid(x); }};
// alpha, scale, inputScale
constexpr Formula kElu{
    [](double x, const double* p) { return x > 0 ? p[1] * x : p[0] * p[1] * expm1_of(x * p[2]); }};
// beta, threshold
constexpr Formula kSoftplus{[](double x, const double* p) {
  return p[0] * x > p[1] ? x : log1p_of(twin::exp_of(p[0] * x)) / p[0];
}};
constexpr Formula kLeakyRelu{[](double x, const double* p) { return x < 0 ? p[0] * x : x; }};
constexpr Formula kClamp{
    [](double x, const double* p) { return std::isnan(x) ? x : std::min(std::max(x, p[0]), p[1]); },
    [](Whole x, const Whole* p) { return std::min(std::max(x, p[0]), p[1]); }, false, check_bounds};
constexpr Formula kClampMin{[](double x, const double* p) { return x < p[0] ? p[0] : x; },
                            [](Whole x, const Whole* p) { return std::max(x, p[0]); }};
constexpr Formula kClampMax{[](double x, const double* p) { return x > p[0] ? p[0] : x; },
                            [](Whole x, const Whole* p) { return std::min(x, p[0]); }};
// threshold, value
constexpr Formula kThreshold{[](double x, const double* p) { return x > p[0] ? x : p[1]; },
                             [](Whole x, const Whole* p) { return x > p[0] ? x : p[1]; }};

}  // namespace activations

}  // namespace
}  // namespace ascend_twin

ASCEND_UNARY(Sigmoid, activations::kSigmoid)
ASCEND_UNARY(Relu, activations::kRelu)
ASCEND_UNARY(Silu, activations::kSilu)
ASCEND_UNARY(Gelu, activations::kGelu)
ASCEND_UNARY(Hardsigmoid, activations::kHardsigmoid)
ASCEND_UNARY(Hardswish, activations::kHardswish)
ASCEND_UNARY_OP(GeluV2, "ino", activations::kGeluV2, (self, approximate, out),
                const aclTensor* self, int64_t approximate, aclTensor* out)
ASCEND_UNARY_OP(Elu, "issso", activations::kElu, (self, alpha, scale, inputScale, out),
                const aclTensor* self, const aclScalar* alpha, const aclScalar* scale,
                const aclScalar* inputScale, aclTensor* out)
ASCEND_UNARY_OP(Softplus, "isso", activations::kSoftplus, (self, beta, threshold, out),
                const aclTensor* self, const aclScalar* beta, const aclScalar* threshold,
                aclTensor* out)
ASCEND_UNARY_OP(LeakyRelu, "iso", activations::kLeakyRelu, (self, negativeSlope, out),
                const aclTensor* self, const aclScalar* negativeSlope, aclTensor* out)
ASCEND_UNARY_OP(Clamp, "is?s?o", activations::kClamp, (self, clipValueMin, clipValueMax, out),
                const aclTensor* self, const aclScalar* clipValueMin, const aclScalar* clipValueMax,
                aclTensor* out)
ASCEND_UNARY_OP(ClampMin, "iso", activations::kClampMin, (self, clipValueMin, out),
                const aclTensor* self, const aclScalar* clipValueMin, aclTensor* out)
ASCEND_UNARY_OP(InplaceClampMax, "xs", activations::kClampMax, (selfRef, clipValueMax),
                aclTensor* selfRef, const aclScalar* clipValueMax)
ASCEND_UNARY_OP(Threshold, "isso", activations::kThreshold, (self, threshold, value, out),
                const aclTensor* self, const aclScalar* threshold, const aclScalar* value,
                aclTensor* out)
ASCEND_UNARY_OP(InplaceThreshold, "xss", activations::kThreshold, (selfRef, threshold, value),
                aclTensor* selfRef, const aclScalar* threshold, const aclScalar* value)
