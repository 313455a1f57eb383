// The graph of a step: some tokens more of each sequence, with all before them in caches.
#include <algorithm>

#include "model/blocks/layers.h"
#include "shunt/message.h"

namespace shunt {

namespace {

class StepMemory final : public LayerMemory {
 public:
  StepMemory(GraphBuilder& g, const DescribedModel& model, const StepShape& step)
      : g_(g), model_(model), step_(step) {}

  Status make_inputs();

  Dim tokens() const override { return made_.token_count; }
  Result<Value> positions() const override { return made_.positions; }
  Result<Value> token_types() const override { return made_.token_types; }
  /// The context is shared by the sequences of the session.
  bool is_long() const override {
    const std::int64_t sequences = std::max<std::int64_t>(step_.window_sequences, 1);
    return step_.context / sequences > model_.description().long_context;
  }
  Result<Value> attend(const AttentionCall& call) override;
  Result<StateUse> state(std::string_view what, std::int64_t layer, std::int64_t numbers) override;
  std::int64_t slots() const override { return step_.state_slots; }
  Status keep(Operand states, Operand after, std::int64_t numbers) override;

  StepGraph& made() { return made_; }

 private:
  /// Keys and values of a layer: all rows in use, as heads [size, heads, rows].
  struct Kept {
    Result<Value> keys = absent();
    Result<Value> values = absent();
  };

  bool whole_blocks(std::int64_t elements) const {
    return elements % trait(step_.cache_type).block_elements == 0;
  }
  Status input(Value& value, std::string name, DType type, const Shape& shape);
  Status make_adapted(AdaptedColumns& made, const std::string& what, std::int64_t most);
  Status add_window(std::int64_t window);
  /// The caches of layers with a window; null: those with rows for all tokens.
  WindowCaches* window_of(const AttentionCall& call);
  /// Writes rows [width, tokens] into a cache of their own.
  Result<Value> remember(Operand rows, std::string name, std::int64_t width, WindowCaches* window);
  Result<Value> as_heads(Operand rows, std::int64_t size, std::int64_t heads,
                         const WindowCaches* window);
  Status keep_keys(const AttentionCall& call, WindowCaches* window);

  GraphBuilder& g_;
  const DescribedModel& model_;
  const StepShape& step_;
  Result<Value> ends_ = absent();  // of the sequences' tokens
  std::vector<Kept> kept_;         // by layer
  StepGraph made_;
};

Status StepMemory::input(Value& value, std::string name, DType type, const Shape& shape) {
  SHUNT_ASSIGN(const Tensor tensor, make_tensor(type, shape));
  SHUNT_ASSIGN(value, g_.input(std::move(name), tensor));
  return ok();
}

Status StepMemory::make_inputs() {
  kept_.resize(model_.description().layers.size());
  SHUNT_ASSIGN(made_.token_count, g_.dynamic_dim("tokens", step_.tokens));
  SHUNT_ASSIGN(made_.output_count, g_.dynamic_dim("outputs", step_.outputs));
  SHUNT_ASSIGN(made_.row_count, g_.dynamic_dim("cache rows", step_.context));
  SHUNT_ASSIGN(made_.sequence_count, g_.dynamic_dim("sequences", step_.sequences));
  SHUNT_ASSIGN(made_.block_count, g_.dynamic_dim("blocks", step_.entries()));
  const Dim tokens = made_.token_count;
  const Dim sequences = made_.sequence_count;
  SHUNT_TRY(input(made_.tokens, "tokens", DType::kI32, {tokens}));
  SHUNT_TRY(input(made_.positions, "positions", DType::kI32, {tokens}));
  SHUNT_TRY(input(made_.cache_rows, "cache rows", DType::kI64, {tokens}));
  SHUNT_TRY(input(made_.sequences, "sequences", DType::kI32, {3, sequences}));
  SHUNT_TRY(input(made_.block_table, "block table", DType::kI32, {made_.block_count}));
  const bool all_whole = std::ranges::all_of(model_.description().layers, [&](const Layer& layer) {
    return !layer.attention ||
           (whole_blocks(layer.attention->key_size) && whole_blocks(layer.attention->value_size));
  });
  if (!all_whole)
    SHUNT_TRY(input(made_.row_numbers, "row numbers", DType::kI32, {made_.row_count}));
  SHUNT_TRY(input(made_.output_ids, "output ids", DType::kI32, {made_.output_count}));
  if (model_.description().token_types > 1)
    SHUNT_TRY(input(made_.token_types, "token types", DType::kI32, {tokens}));
  if (model_.adapters() != nullptr) {
    made_.adapter_uses = step_.adapter_uses;
    made_.adapter_rank = model_.adapters()->rank();
    SHUNT_TRY(make_adapted(made_.adapted_tokens, "tokens", step_.tokens));
    SHUNT_TRY(make_adapted(made_.adapted_outputs, "outputs", step_.outputs));
    SHUNT_TRY(
        input(made_.adapted_ids, "adapted token ids", DType::kI32, {made_.adapted_tokens.count}));
  }
  for (const std::int64_t window : model_.shape().windows) SHUNT_TRY(add_window(window));
  if (model_.shape().state_bytes == 0) return ok();
  SHUNT_TRY(input(made_.state_sources, "state sources", DType::kI32, {sequences}));
  SHUNT_TRY(input(made_.state_targets, "state targets", DType::kI64, {sequences}));
  ends_ =
      reshape(g_, cont(g_, view(g_, made_.sequences, {0, 0, 0, 0}, {1, sequences})), {sequences});
  return ok();
}

Status StepMemory::make_adapted(AdaptedColumns& made, const std::string& what, std::int64_t most) {
  const AdapterStacks& stacks = *model_.adapters();
  SHUNT_ASSIGN(made.count, g_.dynamic_dim("adapted " + what, most));
  const std::int64_t uses = step_.adapter_uses;
  SHUNT_TRY(input(made.columns, "adapted " + what, DType::kI32, {made.count}));
  SHUNT_TRY(input(made.ids, "adapters of " + what, DType::kI32, {uses, made.count}));
  SHUNT_TRY(input(made.scales, "adapter scales of " + what, DType::kF32, {1, uses, made.count}));
  if (!stacks.any_side_by_side()) return ok();
  return input(made.row_scales, "scales of adapter rows of " + what, DType::kF32,
               {stacks.ranks(), made.count});
}

Status StepMemory::add_window(std::int64_t window) {
  const auto of_window = [&](std::string_view what) {
    return fmt::format("{} of the window of {}", what, window);
  };
  WindowCaches& made = made_.windows.emplace_back();
  made.window = window;
  SHUNT_ASSIGN(made.row_count, g_.dynamic_dim(of_window("cache rows"), window_rows(step_, window)));
  SHUNT_TRY(input(made.cache_rows, of_window("cache rows"), DType::kI64, {made_.token_count}));
  if (made_.row_numbers.id != kNoNode)
    SHUNT_TRY(input(made.row_numbers, of_window("row numbers"), DType::kI32, {made.row_count}));
  return input(made.block_table, of_window("block table"), DType::kI32, {made_.block_count});
}

WindowCaches* StepMemory::window_of(const AttentionCall& call) {
  if (call.span != AttentionSpan::kSlidingWindow) return nullptr;
  const auto found = std::ranges::find(made_.windows, call.window, &WindowCaches::window);
  return found == made_.windows.end() ? nullptr : &*found;
}

Result<Value> StepMemory::remember(Operand rows, std::string name, std::int64_t width,
                                   WindowCaches* window) {
  if (!whole_blocks(width)) {
    return invalid("a cache of type {} has rows of whole blocks of {}, but the {} have {} elements",
                   to_string(step_.cache_type), trait(step_.cache_type).block_elements, name,
                   width);
  }
  const Dim all = window == nullptr ? made_.row_count : window->row_count;
  SHUNT_ASSIGN(const Tensor tensor, make_tensor(step_.cache_type, {width, all.max}));
  SHUNT_ASSIGN(const Value cache, g_.cache(std::move(name), tensor));
  made_.caches.push_back(cache.id);
  if (window != nullptr) window->caches.push_back(cache.id);
  const Result<Value> written =
      set_rows(g_, cache, rows, window == nullptr ? made_.cache_rows : window->cache_rows);
  return view(g_, written, {0, 0, 0, 0}, {width, all});
}

/// Decoded if heads are no whole blocks.
Result<Value> StepMemory::as_heads(Operand rows, std::int64_t size, std::int64_t heads,
                                   const WindowCaches* window) {
  const Value numbers = window == nullptr ? made_.row_numbers : window->row_numbers;
  const Dim all = window == nullptr ? made_.row_count : window->row_count;
  const Result<Value> in_use = whole_blocks(size) ? rows : get_rows(g_, rows, numbers);
  return reshape(g_, in_use, {size, heads, all});
}

Status StepMemory::keep_keys(const AttentionCall& call, WindowCaches* window) {
  Kept& kept = kept_[to_size(call.layer)];
  const auto cache = [&](Operand heads, const char* what, std::int64_t size) {
    const std::int64_t width = size * call.kv_heads;
    const Result<Value> rows =
        remember(reshape(g_, heads, {width, made_.token_count}),
                 fmt::format("{} of layer {}", what, call.layer), width, window);
    return as_heads(rows, size, call.kv_heads, window);
  };
  kept.keys = cache(call.keys, "keys", call.key_size);
  if (call.values && call.values->id == kNoNode) {
    const Dim all = window == nullptr ? made_.row_count : window->row_count;
    kept.values = view(g_, kept.keys, {0, 0, 0, 0}, {call.value_size, call.kv_heads, all});
  } else {
    kept.values = cache(call.values, "values", call.value_size);
  }
  SHUNT_TRY(kept.keys);
  SHUNT_TRY(kept.values);
  return ok();
}

Result<Value> StepMemory::attend(const AttentionCall& call) {
  WindowCaches* const window = window_of(call);
  if (call.keys_of < 0) SHUNT_TRY(keep_keys(call, window));
  const Kept& kept = kept_[to_size(call.keys_of < 0 ? call.layer : call.keys_of)];
  PagedAttentionParams params = {.scale = call.scale,
                                 .softcap = call.softcap,
                                 .span = call.span,
                                 .window = call.window,
                                 .block = kCacheBlock};
  const Value table = window == nullptr ? made_.block_table : window->block_table;
  return paged_attention(g_, call.queries, kept.keys, kept.values, made_.sequences, table, params,
                         absent(), call.sinks);
}

Result<StateUse> StepMemory::state(std::string_view what, std::int64_t layer,
                                   std::int64_t numbers) {
  SHUNT_ASSIGN(const Tensor tensor, make_tensor(DType::kF32, {numbers, step_.state_slots}));
  SHUNT_ASSIGN(const Value leaf,
               g_.cache(fmt::format("state of {} of layer {}", what, layer), tensor));
  made_.caches.push_back(leaf.id);
  made_.states.push_back(leaf.id);
  return StateUse{leaf, made_.state_sources, ends_};
}

Status StepMemory::keep(Operand states, Operand after, std::int64_t numbers) {
  SHUNT_TRY(set_rows(g_, states, reshape(g_, after, {numbers, made_.sequence_count}),
                     made_.state_targets));
  return ok();
}

}  // namespace

Result<StepGraph> DescribedModel::build(const StepShape& step) const {
  GraphBuilder g;
  StepMemory memory(g, *this, step);
  SHUNT_TRY(memory.make_inputs());
  GraphWeights weights(g, *this, Role::kWeight);
  BlockContext context = {g, model_, weights, memory};
  StepGraph& made = memory.made();
  if (adapters_ != nullptr) weights.use_adapters(made);
  const Result<Value> logits =
      model_graph(context, made.tokens, made.output_ids, made.output_count, embeddings_);
  SHUNT_TRY(g.output(logits, "logits"));
  made.logits = *logits;
  made.weights = weights.leaves();
  SHUNT_ASSIGN(made.graph, std::move(g).build());
  return std::move(made);
}

}  // namespace shunt
