#include "backends/cpu/kernels/rows.h"
#include "shunt/ops/data.h"
#include "tensor/formats/plain.h"

namespace shunt::cpu {

namespace {

class Arange final : public AnyCaseKernel {
 public:
  const Op& op() const override { return arange_op(); }
  std::int64_t items(const Call& call, int) const override { return call.result.sizes[0]; }
  std::int64_t grain(const Call&, int) const override { return grain_for(1); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte*) const override {
    const auto& params = call.params->get<ArangeParams>();
    float* y = as_f32(call.result.data);
    for (std::int64_t i = begin; i < end; ++i) {
      y[i] = formats::narrow(params.start + static_cast<double>(i) * params.step);
    }
    return Fault::kNone;
  }
};

}  // namespace

KernelList arange_kernels() {
  return list_kernels<CpuKernel, Arange>();
}

}  // namespace shunt::cpu
