// The graph of a step: some tokens more, with all before them in the cache.
#include <cmath>

#include "model/llama_layers.h"
#include "shunt/message.h"

namespace shunt::llama {

namespace {

class StepBuilder {
 public:
  StepBuilder(const Definition& model, const StepShape& step)
      : model_(model), n_(model.numbers()), step_(step) {}

  Result<StepGraph> build() {
    SHUNT_TRY(make_inputs());
    Result<Value> x = layers_.embed(result_.tokens);
    for (std::int64_t layer = 0; layer < model_.shape().layers; ++layer) {
      x = add(g_, x, attention_block(layer, layers_.attention_norm(x, layer)));
      // From here on tokens are independent: continue with those whose logits are computed.
      if (layer + 1 == model_.shape().layers) x = get_rows(g_, x, result_.output_ids);
      x = add(g_, x, layers_.feed_forward(x, layer));
    }
    const Result<Value> logits = layers_.output(x);
    SHUNT_TRY(g_.output(logits, "logits"));
    result_.logits = *logits;
    result_.weights = layers_.leaves();
    SHUNT_ASSIGN(result_.graph, std::move(g_).build());
    return std::move(result_);
  }

 private:
  Status make_inputs() {
    SHUNT_ASSIGN(result_.token_count, g_.dynamic_dim("tokens", step_.tokens));
    SHUNT_ASSIGN(result_.output_count, g_.dynamic_dim("outputs", step_.outputs));
    SHUNT_ASSIGN(result_.row_count, g_.dynamic_dim("cache rows", step_.context));
    SHUNT_ASSIGN(result_.sequence_count, g_.dynamic_dim("sequences", step_.sequences));
    SHUNT_ASSIGN(result_.block_count, g_.dynamic_dim("blocks", step_.entries()));
    const auto input = [&](Value& value, const char* name, DType type,
                           const Shape& shape) -> Status {
      SHUNT_ASSIGN(const Tensor tensor, make_tensor(type, shape));
      SHUNT_ASSIGN(value, g_.input(name, tensor));
      return ok();
    };
    const Dim tokens = result_.token_count;
    SHUNT_TRY(input(result_.tokens, "tokens", DType::kI32, {tokens}));
    SHUNT_TRY(input(result_.positions, "positions", DType::kI32, {tokens}));
    SHUNT_TRY(input(result_.cache_rows, "cache rows", DType::kI64, {tokens}));
    SHUNT_TRY(input(result_.sequences, "sequences", DType::kI32, {3, result_.sequence_count}));
    SHUNT_TRY(input(result_.block_table, "block table", DType::kI32, {result_.block_count}));
    if (!whole_blocks(n_.key_size) || !whole_blocks(n_.value_size)) {
      SHUNT_TRY(input(result_.row_numbers, "row numbers", DType::kI32, {result_.row_count}));
    }
    return input(result_.output_ids, "output ids", DType::kI32, {result_.output_count});
  }

  bool whole_blocks(std::int64_t elements) const {
    return elements % trait(step_.cache_type).block_elements == 0;
  }

  /// Writes rows [width, tokens] into a cache of its own, and gives all rows in use as heads [size,
  /// heads, rows]; decoded if heads are no whole blocks.
  Result<Value> remember(Operand rows, std::string name, std::int64_t size, std::int64_t heads) {
    if (!whole_blocks(size * heads)) {
      return invalid(
          "a cache of type {} has rows of whole blocks of {}, but the {} have {} elements",
          to_string(step_.cache_type), trait(step_.cache_type).block_elements, name, size * heads);
    }
    SHUNT_ASSIGN(const Tensor tensor, make_tensor(step_.cache_type, {size * heads, step_.context}));
    SHUNT_ASSIGN(const Value cache, g_.cache(std::move(name), tensor));
    result_.caches.push_back(cache.id);
    const Result<Value> written = set_rows(g_, cache, rows, result_.cache_rows);
    Result<Value> in_use = view(g_, written, {0, 0, 0, 0}, {size * heads, result_.row_count});
    if (!whole_blocks(size)) in_use = get_rows(g_, in_use, result_.row_numbers);
    return reshape(g_, in_use, {size, heads, result_.row_count});
  }

  Result<Value> attention_block(std::int64_t layer, Operand x) {
    const Dim tokens = result_.token_count;
    const Layers::Heads heads = layers_.heads(x, result_.positions, tokens, layer);
    const Result<Value> keys =
        remember(reshape(g_, heads.keys, {n_.key_width, tokens}),
                 fmt::format("keys of layer {}", layer), n_.key_size, n_.kv_heads);
    const Result<Value> values = remember(heads.values, fmt::format("values of layer {}", layer),
                                          n_.value_size, n_.kv_heads);
    const float scale = 1 / std::sqrt(static_cast<float>(n_.key_size));
    const Result<Value> mixed =
        paged_attention(g_, heads.queries, keys, values, result_.sequences, result_.block_table,
                        {.scale = scale, .block = kCacheBlock});
    return layers_.mix(layers_.named(mixed, layer, "attention"), tokens, layer);
  }

  const Definition& model_;
  const Numbers& n_;
  const StepShape& step_;
  GraphBuilder g_;
  Layers layers_{g_, model_, Role::kWeight};
  StepGraph result_;
};

}  // namespace

Result<StepGraph> Definition::build(const StepShape& step) const {
  return StepBuilder(*this, step).build();
}

}  // namespace shunt::llama
