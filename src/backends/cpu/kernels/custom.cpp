#include "backends/cpu/kernels/rows.h"
#include "ops/custom/custom_node.h"

namespace shunt::cpu {

namespace {

static_assert(kMaxCustomSources <= static_cast<std::size_t>(kMaxSources));

/// An item is a call of the user's function.
class Custom final : public AnyCaseKernel {
 public:
  const Op& op() const override { return custom_op(); }
  std::int64_t items(const Call& call, int) const override {
    return call.params->get<CustomNode>().custom.items;
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte*) const override {
    const auto& node = call.params->get<CustomNode>();
    std::array<CustomSource, kMaxCustomSources> sources;
    for (std::size_t i = 0; i < node.sources.size(); ++i) {
      const TensorArg& from = call.sources[i];
      sources[i] = {from.dtype, from.sizes, from.strides, from.data};
    }
    const TensorArg& to = call.result;
    CustomCall each = {.sources = std::span(sources).first(node.sources.size()),
                       .result = {to.dtype, to.sizes, to.strides, to.data},
                       .items = node.custom.items,
                       .cancel = call.run->cancel()};
    for (each.item = begin; each.item < end && !call.run->cancelled(); ++each.item) {
      try {
        Status status = call_custom(node.custom, each);
        if (status) continue;
        call.run->fail(std::move(status.error()));
      } catch (...) {
        return Fault::kFailed;  // there was no memory even for a report of it
      }
      return Fault::kFailed;
    }
    return Fault::kNone;
  }
};

}  // namespace

KernelList custom_kernels() {
  return list_kernels<CpuKernel, Custom>();
}

}  // namespace shunt::cpu
