// Comparisons, whose result is 0 or 1.
#include "ascend/include/acl/aclnn_elementwise.h"
#include "ascend/ops/elementwise/binary.h"

namespace ascend_twin {
namespace {

namespace comparisons {
using Whole = std::int64_t;

constexpr Arithmetic kEqual{[](double a, double b) { return a == b ? 1.0 : 0.0; },
                            [](Whole a, Whole b) { return Whole{a == b}; }, true};
constexpr Arithmetic kGreater{[](double a, double b) { return a > b ? 1.0 : 0.0; },
                              [](Whole a, Whole b) { return Whole{a > b}; }, true};
constexpr Arithmetic kLess{[](double a, double b) { return a < b ? 1.0 : 0.0; },
                           [](Whole a, Whole b) { return Whole{a < b}; }, true};
constexpr Arithmetic kGreaterOrEqual{[](double a, double b) { return a >= b ? 1.0 : 0.0; },
                                     [](Whole a, Whole b) { return Whole{a >= b}; }, true};
constexpr Arithmetic kLessOrEqual{[](double a, double b) { return a <= b ? 1.0 : 0.0; },
                                  [](Whole a, Whole b) { return Whole{a <= b}; }, true};

}  // namespace comparisons

}  // namespace
}  // namespace ascend_twin

ASCEND_TENSORS(EqTensor, comparisons::kEqual)
ASCEND_TENSORS(GtTensor, comparisons::kGreater)
ASCEND_TENSORS(LtTensor, comparisons::kLess)
ASCEND_SCALAR(EqScalar, comparisons::kEqual)
ASCEND_SCALAR(GtScalar, comparisons::kGreater)
ASCEND_SCALAR(LtScalar, comparisons::kLess)
ASCEND_SCALAR(GeScalar, comparisons::kGreaterOrEqual)
ASCEND_SCALAR(LeScalar, comparisons::kLessOrEqual)
