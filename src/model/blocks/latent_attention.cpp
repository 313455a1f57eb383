// Latent attention (arXiv 2405.04434) in its absorbed form. A cached row is a latent vector,
// normed, followed by a key that rope has turned, for all heads. Let q be a head's query without
// positions, K and V its matrices that make key and value of a latent vector c. Then
// `q . (K c) = (K^T q) . c`, and the sum of `w V c` over rows is V times the sum of `w c`. So
// scores and sums are of latent vectors: keys are rows, and values their first elements.
#include <array>

#include "model/blocks/layers.h"

namespace shunt {

Result<Value> latent_attention_block(BlockContext& c, const LatentAttention& a, Operand x,
                                     std::int64_t number) {
  GraphBuilder& g = c.g;
  GraphWeights& w = c.weights;
  const Dim tokens = c.memory.tokens();
  const std::int64_t turned = a.rope.dims;
  constexpr float kEps = 1e-6F;  // of these two norms in all models, whatever the others have
  const auto turn = [&](Operand heads) {
    return rope(g, heads, c.memory.positions(), absent(), a.rope);
  };

  const Result<Value> q = a.query_rank == 0
                              ? w.linear(x, WeightSlot::kLatentQuery, number)
                              : w.linear(w.rms(w.linear(x, WeightSlot::kQueryDown, number),
                                               WeightSlot::kQueryDownNorm, number, kEps),
                                         WeightSlot::kQueryUp, number);
  const Result<Value> queries = reshape(g, q, {a.key_size, a.heads, tokens});
  const Result<Value> plain = view(g, queries, {0, 0, 0, 0}, {a.plain_size(), a.heads, tokens});
  const Result<Value> to_turn =
      view(g, queries, {a.plain_size(), 0, 0, 0}, {turned, a.heads, tokens});
  // By head, as each has a matrix: [size, tokens, heads], and back.
  const std::array by_head = {0, 2, 1, 3};
  const Result<Value> absorbed = permute(
      g, w.product(cont(g, permute(g, plain, by_head)), WeightSlot::kKeyUp, number), by_head);

  const Result<Value> down = w.linear(x, WeightSlot::kLatentDown, number);
  const Result<Value> latent =
      w.rms(view(g, down, {0, 0, 0, 0}, {a.rank, tokens}), WeightSlot::kLatentNorm, number, kEps);
  const Result<Value> key =
      reshape(g, view(g, down, {a.rank, 0, 0, 0}, {turned, tokens}), {turned, 1, tokens});

  Result<Value> turned_queries = concat(g, absorbed, turn(to_turn), 0);
  if (a.temperature.scale != 0)
    turned_queries = mul(g, turned_queries, query_temperature(c, a.temperature));
  AttentionCall call = {.layer = number,
                        .heads = a.heads,
                        .kv_heads = 1,
                        .key_size = a.row_size(),
                        .value_size = a.rank,
                        .scale = a.scale,
                        .queries = turned_queries,
                        .keys = concat(g, reshape(g, latent, {a.rank, 1, tokens}), turn(key), 0),
                        .values = absent(),
                        .sinks = absent()};
  const Result<Value> mixed = w.named(c.memory.attend(call), number, "attention");
  const Result<Value> values =
      w.product(cont(g, permute(g, mixed, by_head)), WeightSlot::kValueUp, number);
  const Result<Value> by_token = cont(g, permute(g, values, by_head));
  return w.linear(reshape(g, by_token, {a.heads * a.value_size, tokens}), WeightSlot::kLatentMix,
                  number);
}

}  // namespace shunt
