#include "backends/cpu/kernels/elementwise.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/elementwise.h"

namespace shunt::cpu {

namespace {

/// A function of two rows, or of a row and a number.
struct Function {
  void (*of_row)(simd::Level level, const float* a, const float* b, float* y, std::int64_t n);
  void (*of_number)(simd::Level level, const float* a, float b, float* y, std::int64_t n);
};

class Arithmetic final : public ElementwiseKernel {
 public:
  Arithmetic(const Op& op, Function function) : op_(op), function_(function) {}
  const Op& op() const override { return op_; }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    broadcast(call, begin, end, scratch, [&](const float* a, auto b, float* y, std::int64_t n) {
      if constexpr (std::is_pointer_v<decltype(b)>) {
        function_.of_row(call.level(), a, b, y, n);
      } else {
        function_.of_number(call.level(), a, b, y, n);
      }
    });
    return Fault::kNone;
  }

 private:
  const Op& op_;
  Function function_;
};

}  // namespace

KernelList arithmetic_kernels() {
  static const Arithmetic kAdd(add_op(), {simd::add, simd::add});
  static const Arithmetic kAdd1(add1_op(), {simd::add, simd::add});
  static const Arithmetic kSub(sub_op(), {simd::sub, simd::sub});
  static const Arithmetic kMul(mul_op(), {simd::mul, simd::mul});
  static const Arithmetic kDiv(div_op(), {simd::div, simd::div});
  static constexpr const CpuKernel* kKernels[] = {&kAdd, &kAdd1, &kSub, &kMul, &kDiv};
  return kKernels;
}

}  // namespace shunt::cpu
