#include "backends/zdnn/kernel.h"

#include "shunt/message.h"

namespace shunt::zdnn {

Dims max_dims(const Tensor& tensor) {
  return dims_of(max_sizes(tensor.shape));
}

namespace {

/// Of kernels that take tensors whole: the result and the first source.
constexpr Need kWholeTensors[] = {
    {Refusal::kType,
     [](const NodeView& view, const Machine&) {
       const DType type = view.result().dtype;
       if (type == DType::kF32) return std::string();
       return fmt::format(
           "the result is {}; this backend converts results of the accelerator to F32 only",
           to_string(type));
     }},
    {Refusal::kShape, [](const NodeView& view, const Machine& machine) {
       for (const Tensor* tensor : {&view.result(), &view.source(0)}) {
         const std::string why = too_large(machine, max_dims(*tensor));
         if (!why.empty()) return fmt::format("{} has {}", to_string(*tensor), why);
       }
       return std::string();
     }}};

}  // namespace

Support ZdnnKernel::supports(const NodeView& view, const Machine& machine) const {
  Support answer = check_rows(needs(view), view, machine);
  if (!answer || computes_in_pieces()) return answer;
  return check_rows(std::span<const Need>(kWholeTensors), view, machine);
}

bool goes_in_directly(const Tensor& tensor) {
  return is_host_type(tensor.dtype) && is_always_dense(tensor);
}

}  // namespace shunt::zdnn
