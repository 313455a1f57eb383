#include "backends/cpu/kernels/elementwise.h"
#include "backends/cpu/kernels/integers.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/elementwise.h"

namespace shunt::cpu {

namespace {

class AddId final : public ElementwiseKernel {
 public:
  const Op& op() const override { return add_id_op(); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const TensorArg& b = call.sources[1];
    const TensorArg& ids = call.sources[2];
    Fault fault = Fault::kNone;
    const auto row_of = [&](const RowIndex& at) -> std::byte* {
      const std::int64_t id = integer_at(ids, at.i1, at.i2);
      if (id >= 0 && id < b.sizes[1]) return b.row(id);
      fault = Fault::kIndexOutOfRange;
      return nullptr;
    };
    binary(call.sources[0], b, call.result, begin, end, scratch, row_of,
           [&](const float* x, const float* bias, float* y, std::int64_t n) {
             simd::add(call.level(), x, bias, y, n);
           });
    return fault;
  }
};

}  // namespace

KernelList add_id_kernels() {
  return list_kernels<CpuKernel, AddId>();
}

}  // namespace shunt::cpu
