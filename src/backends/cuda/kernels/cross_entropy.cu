// Cross entropy and its gradient: a row a block. The losses of rows are added up in double
// precision by a second launch, of one block.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/math.h"
#include "backends/cuda/gpu/reduce.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/gpu/warp.h"
#include "backends/cuda/kernels/cross_entropy.h"

using namespace shunt::cuda::gpu;

namespace {

struct Row {
  const u8* data;
  i64 n, stride;
  ON_DEVICE float operator[](i64 i) const { return load<F32>(data, i, stride); }
};
DEVICE Row row_of(const Tensor& tensor, RowIndex at) {
  return {row_at(tensor, at), tensor.n[0], tensor.stride[0]};
}

/// softmax(x) = exp(x - largest) / sum.
struct Softmax {
  float largest, sum;
};
DEVICE Softmax softmax_of(const Row& x) {
  float most = -__builtin_inff();
  for (i64 i = thread(); i < x.n; i += threads()) most = largest(most, x[i]);
  most = block_reduce(most, -__builtin_inff(), largest);
  float sum = 0;
  for (i64 i = thread(); i < x.n; i += threads()) sum += exp(x[i] - most);
  return {most, block_sum(sum)};
}

}  // namespace

KERNEL void cross_entropy_rows(CrossEntropyArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor logits = tensor_of(p.logits, run);
  const i64 rows = count_rows(logits);
  if (block() >= rows) return;
  const Tensor labels = tensor_of(p.labels, run);
  for (i64 row = block(); row < rows; row += blocks()) {
    const RowIndex at = row_index(logits, row);
    const Row x = row_of(logits, at), wanted = row_of(labels, at);
    const Softmax whole = softmax_of(x);
    const float log_sum = log(whole.sum);
    float loss = 0;
    for (i64 i = thread(); i < x.n; i += threads()) {
      const float label = wanted[i];
      if (label != 0) loss += label * (whole.largest - x[i] + log_sum);
    }
    loss = block_sum(loss);
    if (thread() == 0) p.losses[row] = loss;
  }
}

KERNEL void cross_entropy_sum(CrossEntropyArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const i64 rows = count_rows(tensor_of(p.logits, run));
  double sum = 0;
  for (i64 row = thread(); row < rows; row += threads()) sum += p.losses[row];
  sum = block_sum(sum);
  if (thread() == 0) *(float*)p.loss.data = rows > 0 ? (float)(sum / (double)rows) : 0;
}

KERNEL void cross_entropy_back(CrossEntropyBackArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor dlogits = tensor_of(p.dlogits, run);
  const i64 rows = count_rows(dlogits);
  if (block() >= rows) return;
  const Tensor logits = tensor_of(p.logits, run), labels = tensor_of(p.labels, run);
  const float part = (float)(*(const float*)p.dloss.data / (double)rows);
  for (i64 row = block(); row < rows; row += blocks()) {
    const RowIndex at = row_index(dlogits, row);
    const Row x = row_of(logits, at), wanted = row_of(labels, at);
    const Softmax whole = softmax_of(x);
    float all = 0;
    for (i64 i = thread(); i < x.n; i += threads()) all += wanted[i];
    all = block_sum(all);
    u8* to = row_at(dlogits, at);
    for (i64 i = thread(); i < x.n; i += threads()) {
      const float share = exp(x[i] - whole.largest) / whole.sum * all;
      store<F32>(to, i, dlogits.stride[0], part * (share - wanted[i]));
    }
  }
}
