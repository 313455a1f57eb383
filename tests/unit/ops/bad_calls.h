// Calls that every op refuses. errors_test.cpp goes through them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "shunt/ops.h"

namespace shunt {

inline constexpr DType kF32 = DType::kF32;
inline constexpr DType kF16 = DType::kF16;
inline constexpr DType kI32 = DType::kI32;
inline constexpr DType kI64 = DType::kI64;
inline constexpr DType kQ8_0 = DType::kQ8_0;

struct BadCall {
  std::string op;
  std::function<Result<Value>(GraphBuilder&)> call;
  std::vector<std::string> says;  ///< operands and facts that the message must have
};

inline Result<Value> leaf(GraphBuilder& g, DType dtype, const Shape& shape, std::string name = "") {
  return g.cache(std::move(name), *make_tensor(dtype, shape));
}

std::vector<BadCall> elementwise_calls();
std::vector<BadCall> unary_calls();
std::vector<BadCall> gated_calls();
std::vector<BadCall> norm_calls();
std::vector<BadCall> softmax_calls();
std::vector<BadCall> rope_calls();
std::vector<BadCall> attention_calls();
std::vector<BadCall> paged_attention_calls();
std::vector<BadCall> data_calls();
std::vector<BadCall> convolution_calls();
std::vector<BadCall> custom_calls();
std::vector<BadCall> state_calls();
std::vector<BadCall> training_calls();

}  // namespace shunt
