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

bool is_always_dense(const Tensor& tensor) {
  if (!is_contiguous(tensor)) return false;
  std::size_t last = kMaxDims - 1;  // of more than one element: behind it there is no gap
  while (last > 0 && tensor.shape[last] == Dim(1)) --last;
  for (std::size_t i = 0; i < last; ++i) {
    if (!tensor.shape[i].is_fixed()) return false;
  }
  return last > 0 || tensor.shape[0].is_fixed();
}

bool goes_in_directly(const Tensor& tensor) {
  return is_host_type(tensor.dtype) && is_always_dense(tensor);
}

}  // namespace shunt::zdnn
