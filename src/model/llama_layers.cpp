#include "model/llama_layers.h"

#include "shunt/message.h"

namespace shunt::llama {

/// The leaf of a weight, made when it is first asked for; absent if the file lacks it.
Result<Value> Layers::weight(Weight which, std::int64_t layer) {
  const gguf::TensorInfo* info = model_.find(which, layer);
  if (info == nullptr) return absent();
  for (const WeightLeaf& known : leaves_) {
    if (known.info == info) return Value{known.leaf};
  }
  const WeightRow<Numbers>& row = weight_table()[which];
  const std::string name = row.name_in(layer);
  const bool trained = role_ == Role::kCache && which != kRopeFactors;
  Value leaf;
  if (trained) {
    SHUNT_ASSIGN(const Tensor tensor, make_tensor(DType::kF32, info->tensor.shape));
    SHUNT_ASSIGN(leaf, g_.cache(name, tensor));
  } else {
    SHUNT_ASSIGN(leaf, g_.weight(name, info->tensor));
  }
  leaves_.push_back({leaf.id, info, row.in_layers() ? layer : -1});
  return leaf;
}

Result<Value> Layers::norm(Operand x, Weight which, std::int64_t layer) {
  return mul(g_, rms_norm(g_, x, {.eps = model_.norm_eps()}), weight(which, layer));
}

Result<Value> Layers::named(Result<Value> value, std::int64_t layer, std::string_view what) {
  if (value) SHUNT_TRY(g_.name(value, fmt::format("blk.{}.{}", layer, what)));
  return value;
}

Result<Value> Layers::linear(Operand x, Weight which, Weight bias, std::int64_t layer,
                             std::string_view what) {
  const Result<Value> y = matmul(g_, weight(which, layer), x);
  const bool biased = model_.find(bias, layer) != nullptr;
  return named(biased ? add(g_, y, weight(bias, layer)) : y, layer, what);
}

Result<Value> Layers::output(Operand x) {
  const Weight matrix = model_.find(kOutput, 0) != nullptr ? kOutput : kEmbedding;
  return matmul(g_, weight(matrix), norm(x, kOutputNorm, 0));
}

Result<Value> Layers::feed_forward(Operand x, std::int64_t layer) {
  const Result<Value> y = norm(x, kFeedNorm, layer);
  const Result<Value> gate = linear(y, kGate, kGateBias, layer, "ffn_gate");
  const Result<Value> up = linear(y, kUp, kUpBias, layer, "ffn_up");
  return linear(swiglu(g_, gate, up), kDown, kDownBias, layer, "ffn_down");
}

Layers::Heads Layers::heads(Operand x, Operand positions, Dim tokens, std::int64_t layer) {
  const Numbers& n = model_.numbers();
  const Result<Value> q = linear(x, kQuery, kQueryBias, layer, "attn_q");
  const Result<Value> k = linear(x, kKey, kKeyBias, layer, "attn_k");
  const Result<Value> v = linear(x, kValue, kValueBias, layer, "attn_v");
  const auto turned = [&](Operand heads) {
    return rope(g_, heads, positions, weight(kRopeFactors), model_.rope());
  };
  return {turned(reshape(g_, q, {n.key_size, n.heads, tokens})),
          turned(reshape(g_, k, {n.key_size, n.kv_heads, tokens})), v};
}

Result<Value> Layers::mix(Operand attention, Dim tokens, std::int64_t layer) {
  return linear(reshape(g_, attention, {model_.numbers().mixed_width, tokens}), kMix, kMixBias,
                layer, "attn_output");
}

}  // namespace shunt::llama
