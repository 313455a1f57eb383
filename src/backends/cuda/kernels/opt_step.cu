// Steps of optimisers, in place, an element a thread.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/math.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/opt_step.h"

using namespace shunt::cuda::gpu;

namespace {

/// base^n for n above 0, by squares.
DEVICE double integer_power(double base, i32 n) {
  double power = 1;
  for (; n > 0; n /= 2, base *= base)
    if (n % 2 != 0) power *= base;
  return power;
}

/// Element i of a row.
DEVICE float& element_at(const Tensor& tensor, i64 i, RowIndex at) {
  return *(float*)(row_at(tensor, at) + i * tensor.stride[0]);
}

}  // namespace

/// The numbers that all elements share, from the number of the step. One thread.
KERNEL void adamw_prepare(AdamwArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run) || thread() != 0) return;
  const i32 step = *(const i32*)p.step.data;
  if (step < 1) return report(*p.common.run, p.common.node, kTooSmall, step, 1);
  const double rate = *(const float*)p.rate.data;
  p.numbers->keep = (float)(1 - rate * p.weight_decay);
  p.numbers->rate = (float)(rate / (1 - integer_power(p.beta1, step)));
  p.numbers->v_scale = (float)(1 / (1 - integer_power(p.beta2, step)));
}

KERNEL void adamw(AdamwArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor w = tensor_of(p.w, run);
  if (is_idle(w)) return;
  const Tensor m = tensor_of(p.m, run), v = tensor_of(p.v, run);
  const AdamwNumbers numbers = *p.numbers;
  for_each_element(w, [&](i64 i, RowIndex at) {
    const float root = sqrt(element_at(v, i, at) * numbers.v_scale) + p.eps;
    float& weight = element_at(w, i, at);
    weight = numbers.keep * weight - numbers.rate * element_at(m, i, at) / root;
  });
}

KERNEL void sgd(SgdArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor w = tensor_of(p.w, run);
  if (is_idle(w)) return;
  const Tensor gradient = tensor_of(p.gradient, run);
  const float rate = *(const float*)p.rate.data;
  for_each_element(w, [&](i64 i, RowIndex at) {
    float& weight = element_at(w, i, at);
    weight -= rate * (element_at(gradient, i, at) + p.weight_decay * weight);
  });
}

KERNEL void update_moment(UpdateMomentArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor m = tensor_of(p.m, run);
  if (is_idle(m)) return;
  const Tensor x = tensor_of(p.x, run);
  for_each_element(m, [&](i64 i, RowIndex at) {
    const float value = element_at(x, i, at);
    float& moment = element_at(m, i, at);
    moment = p.beta * moment + p.rest * (p.squared != 0 ? value * value : value);
  });
}
