// The parts that softmax and attention share: how a mask and sinks get into scores.
#pragma once

#include <span>

#include "graph/op.h"

namespace shunt {

/// In its range, 0 to 100.
Status check_max_bias(float max_bias);
/// Where there are masks at all: F32 or F16, of the shape of `scores`, [N, T, H, S]; max_bias is in
/// its range, and 0 without a mask.
Status check_mask(const Tensor* mask, const Shape& scores, float max_bias);
/// Where there are sinks at all: F32, one for each head.
Status check_sinks(const Tensor* sinks, const Dim& heads);

/// The value that the mask adds to score n of query t, as plain references compute it.
class RefMask {
 public:
  /// `mask` is null if there is none.
  RefMask(const RefTensor* mask, float max_bias, std::int64_t heads)
      : mask_(mask), max_bias_(max_bias), heads_(heads) {}
  double at(std::int64_t n, std::int64_t t, std::int64_t h, std::int64_t s) const;

 private:
  const RefTensor* mask_;
  float max_bias_;
  std::int64_t heads_;
};

/// z to weights in place: exp(z - m) / (sum(exp(z - m)) + exp(sinks[h] - m)), m the largest of all
/// of these logits; zeros if that is minus infinity. `sinks` is null if there are none.
void reference_softmax(std::span<double> z, const RefTensor* sinks, std::int64_t h);

}  // namespace shunt
