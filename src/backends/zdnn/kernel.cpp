#include "backends/zdnn/kernel.h"

#include "base/fail.h"

namespace shunt::zdnn {

Dims max_dims(const Tensor& tensor) {
  return dims_of(max_sizes(tensor.shape));
}

Support needs(const NodeView& view, const Machine& machine, std::span<const Feature> features) {
  for (const Feature feature : features) {
    if (!machine.has(feature))
      return Support::no(Refusal::kVendorFunction, machine.why_not(feature));
  }
  if (view.result().dtype != DType::kF32) {
    return Support::no(Refusal::kType, fmt::format("the result is {}; this backend brings the "
                                                   "machine's numbers back as F32 only",
                                                   to_string(view.result().dtype)));
  }
  for (const Tensor* tensor : {&view.result(), &view.source(0)}) {
    const std::string why = too_large(machine, max_dims(*tensor));
    if (!why.empty())
      return Support::no(Refusal::kShape, fmt::format("{} has {}", to_string(*tensor), why));
  }
  return Support::yes();
}

}  // namespace shunt::zdnn
