#include "support/test_architectures.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/architecture_keys.h"
#include "shunt/message.h"
#include "shunt/ops.h"
#include "support/test_model.h"

namespace shunt::test {

namespace architectures {

namespace {

class Definition final : public ModelDefinition {
 public:
  Definition(const gguf::File& file, std::string_view architecture)
      : file_(file), architecture_(architecture) {}

  Status read() {
    SHUNT_TRY(read_numbers());
    const auto table = weight_table();
    SHUNT_ASSIGN(weights_, find_weights<Numbers>(file_, table, n_, shape_.layers));
    for (std::size_t row = 0; row < table.size(); ++row) {
      for (std::int64_t layer = 0; table[row].optional && layer < shape_.layers; ++layer) {
        if (find(row, layer) != nullptr || !has(kind(layer), row)) continue;
        return fail(ErrorCode::kBadFile, "{}: tensor {} is missing", file_.path(),
                    table[row].name_in(layer));
      }
    }
    return ok();
  }

  const ModelShape& shape() const override { return shape_; }
  Result<StepGraph> build(const StepShape& step) const override;
  Result<LossGraph> build_loss(GraphBuilder&, const LossShape&) const override {
    return fail(ErrorCode::kUnsupported, "architecture \"{}\" can't be trained", architecture_);
  }
  std::vector<ModelWeight> weights() const override {
    return list_weights<Numbers>(weights_, weight_table());
  }
  const std::set<std::string>& keys() const override { return keys_.read(); }
  std::shared_ptr<const ModelDefinition> with_output_apart() const override { return nullptr; }

  const Numbers& numbers() const { return n_; }
  LayerKind kind(std::int64_t layer) const { return kind_of(architecture_, layer); }
  const gguf::TensorInfo* find(std::size_t weight, std::int64_t layer) const {
    return weights_[weight][static_cast<std::size_t>(layer)];
  }

 private:
  Status read_numbers() {
    const auto read = [&](const char* key) -> Result<std::int64_t> {
      constexpr std::int64_t kMost = 1 << 20;
      return keys_.count(key, kMost);
    };
    SHUNT_ASSIGN(shape_.layers, read("block_count"));
    SHUNT_ASSIGN(shape_.context, read("context_length"));
    SHUNT_ASSIGN(n_.width, read("embedding_length"));
    SHUNT_ASSIGN(n_.vocabulary, read("vocab_size"));
    SHUNT_ASSIGN(n_.feed_forward, read("feed_forward_length"));
    SHUNT_ASSIGN(n_.heads, read("attention.head_count"));
    SHUNT_ASSIGN(n_.kv_heads, read("attention.head_count_kv"));
    n_.complete();
    if (has_kind(architecture_, LayerKind::kWindow)) {
      SHUNT_ASSIGN(n_.window, read("attention.sliding_window"));
    }
    if (has_kind(architecture_, LayerKind::kDeltaNet)) {
      SHUNT_ASSIGN(n_.taps, read("ssm.conv_kernel"));
    }
    n_.whole_caches = read("whole_caches").has_value();
    shape_.width = n_.width;
    shape_.vocabulary = n_.vocabulary;
    for (std::int64_t layer = 0; layer < shape_.layers; ++layer) {
      const std::int64_t window = n_.whole_caches ? 0 : n_.window_of(kind(layer));
      if (window > 0 && std::ranges::count(shape_.windows, window) == 0)
        shape_.windows.push_back(window);
      if (kind(layer) != LayerKind::kDeltaNet) continue;
      const std::int64_t numbers = n_.conv_state() + n_.net_state();
      shape_.state_bytes += numbers * static_cast<std::int64_t>(sizeof(float));
    }
    return ok();
  }

  gguf::File file_;  // keeps the tensors' descriptions
  std::string_view architecture_;
  ArchitectureKeys keys_{file_, std::string(architecture_)};
  ModelShape shape_;
  Numbers n_;
  FoundWeights weights_;
};

class StepBuilder {
 public:
  StepBuilder(const Definition& model, const StepShape& step)
      : model_(model), n_(model.numbers()), step_(step) {}

  Result<StepGraph> build() {
    SHUNT_TRY(make_inputs());
    Result<Value> x = get_rows(g_, weight(kEmbedding), made_.tokens);
    for (std::int64_t layer = 0; layer < model_.shape().layers; ++layer) {
      x = add(g_, x, matmul(g_, weight(kMixOutput, layer), mixed(norm(x, kMixNorm, layer), layer)));
      if (layer + 1 == model_.shape().layers) x = get_rows(g_, x, made_.output_ids);
      x = add(g_, x, feed_forward(norm(x, kFeedNorm, layer), layer));
    }
    const Result<Value> logits = matmul(g_, weight(kOutput), norm(x, kOutputNorm));
    SHUNT_TRY(written_);
    SHUNT_TRY(g_.output(logits, "logits"));
    made_.logits = *logits;
    SHUNT_ASSIGN(made_.graph, std::move(g_).build());
    return std::move(made_);
  }

 private:
  Status make_inputs() {
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
    SHUNT_TRY(input(made_.output_ids, "output ids", DType::kI32, {made_.output_count}));
    for (const std::int64_t window : model_.shape().windows) SHUNT_TRY(add_window(window));
    if (n_.taps == 0) return ok();
    SHUNT_TRY(input(made_.state_sources, "state sources", DType::kI32, {sequences}));
    SHUNT_TRY(input(made_.state_targets, "state targets", DType::kI64, {sequences}));
    ends_ =
        reshape(g_, cont(g_, view(g_, made_.sequences, {0, 0, 0, 0}, {1, sequences})), {sequences});
    return ok();
  }

  Status input(Value& value, std::string name, DType type, const Shape& shape) {
    SHUNT_ASSIGN(const Tensor tensor, make_tensor(type, shape));
    SHUNT_ASSIGN(value, g_.input(std::move(name), tensor));
    return ok();
  }

  Status add_window(std::int64_t window) {
    const auto of_window = [&](std::string_view what) {
      return fmt::format("{} of the window of {}", what, window);
    };
    WindowCaches& made = made_.windows.emplace_back();
    made.window = window;
    SHUNT_ASSIGN(made.row_count,
                 g_.dynamic_dim(of_window("cache rows"), window_rows(step_, window)));
    SHUNT_TRY(input(made.cache_rows, of_window("cache rows"), DType::kI64, {made_.token_count}));
    return input(made.block_table, of_window("block table"), DType::kI32, {made_.block_count});
  }

  /// The caches of layers of a kind; null: those with rows for all tokens.
  WindowCaches* window_of(LayerKind kind) {
    const auto found = std::ranges::find(made_.windows, n_.window_of(kind), &WindowCaches::window);
    return found == made_.windows.end() ? nullptr : &*found;
  }

  Result<Value> weight(Weight which, std::int64_t layer = 0) {
    const gguf::TensorInfo& info = *model_.find(which, layer);
    const WeightRow<Numbers>& row = weight_table()[which];
    SHUNT_ASSIGN(const Value leaf, g_.weight(row.name_in(layer), info.tensor));
    made_.weights.push_back({leaf.id, &info, row.in_layers() ? layer : -1});
    return leaf;
  }

  Result<Value> norm(Operand x, Weight which, std::int64_t layer = 0) {
    return mul(g_, rms_norm(g_, x), weight(which, layer));
  }

  Result<Value> feed_forward(Operand x, std::int64_t layer) {
    const Result<Value> gate = matmul(g_, weight(kGate, layer), x);
    const Result<Value> up = matmul(g_, weight(kUp, layer), x);
    return matmul(g_, weight(kDown, layer), swiglu(g_, gate, up));
  }

  /// [width, tokens]
  Result<Value> mixed(Operand x, std::int64_t layer) {
    const LayerKind kind = model_.kind(layer);
    return kind == LayerKind::kDeltaNet ? delta_net(x, layer) : attention(x, layer, kind);
  }

  Result<Value> attention(Operand x, std::int64_t layer, LayerKind kind) {
    const Dim tokens = made_.token_count;
    const RopeParams turn = {.dims = n_.head_size};
    const auto heads = [&](Weight which, std::int64_t count) {
      return reshape(g_, matmul(g_, weight(which, layer), x), {n_.head_size, count, tokens});
    };
    const auto turned = [&](Operand y) { return rope(g_, y, made_.positions, absent(), turn); };
    const Result<Value> queries = turned(heads(kQuery, n_.heads));
    WindowCaches* const window = window_of(kind);
    const Result<Value> keys = remember(turned(heads(kKey, n_.kv_heads)), "keys", layer, window);
    const Result<Value> values = remember(heads(kValue, n_.kv_heads), "values", layer, window);
    PagedAttentionParams params = {.scale = scale(), .block = kCacheBlock};
    if (n_.window_of(kind) > 0) {
      params.span = AttentionSpan::kSlidingWindow;
      params.window = n_.window_of(kind);
    }
    const Value table = window == nullptr ? made_.block_table : window->block_table;
    return reshape(g_, paged_attention(g_, queries, keys, values, made_.sequences, table, params),
                   {n_.width, tokens});
  }

  /// Writes heads [size, heads, tokens] into a cache of their own; its rows, as heads.
  Result<Value> remember(Operand heads, std::string_view what, std::int64_t layer,
                         WindowCaches* window) {
    const Dim rows = window == nullptr ? made_.row_count : window->row_count;
    SHUNT_ASSIGN(const Tensor tensor, make_tensor(step_.cache_type, {n_.kv_width, rows.max}));
    SHUNT_ASSIGN(const Value cache, g_.cache(fmt::format("{} of layer {}", what, layer), tensor));
    made_.caches.push_back(cache.id);
    if (window != nullptr) window->caches.push_back(cache.id);
    const Result<Value> written =
        set_rows(g_, cache, reshape(g_, heads, {n_.kv_width, made_.token_count}),
                 window == nullptr ? made_.cache_rows : window->cache_rows);
    return reshape(g_, view(g_, written, {0, 0, 0, 0}, {n_.kv_width, rows}),
                   {n_.head_size, n_.kv_heads, rows});
  }

  Result<Value> delta_net(Operand x, std::int64_t layer) {
    const Dim tokens = made_.token_count;
    const std::int64_t size = n_.head_size;
    const Result<Value> before = state("convolution", layer, n_.conv_state());
    const Recurrence conv =
        check(ssm_conv(g_, matmul(g_, weight(kDeltaInput, layer), x), weight(kConvolution, layer),
                       reshape(g_, before, {n_.conv_width, n_.taps - 1, step_.state_slots}),
                       made_.state_sources, ends_));
    keep(before, conv.states);
    const Result<Value> y = silu(g_, conv.outputs);
    const auto heads = [&](std::int64_t which) {
      const Result<Value> rows = view(g_, y, {which * n_.width, 0, 0, 0}, {n_.width, tokens});
      return reshape(g_, rows, {size, n_.heads, tokens});
    };
    const auto of_heads = [&](Operand one) { return reshape(g_, one, {1, n_.heads, tokens}); };
    const Result<Value> decay = neg(g_, softplus(g_, matmul(g_, weight(kDecay, layer), x)));
    const Result<Value> share = sigmoid(g_, matmul(g_, weight(kShare, layer), x));
    const Result<Value> memory = state("delta net", layer, n_.net_state());
    const Recurrence net = check(gated_delta_net(
        g_, l2_norm(g_, heads(0)), l2_norm(g_, heads(1)), heads(2), of_heads(decay),
        of_heads(share), reshape(g_, memory, {size, size, n_.heads, step_.state_slots}),
        made_.state_sources, {.scale = scale()}, ends_));
    keep(memory, net.states);
    return reshape(g_, rms_norm(g_, net.outputs), {n_.width, tokens});
  }

  Result<Value> state(std::string_view what, std::int64_t layer, std::int64_t size) {
    SHUNT_ASSIGN(const Tensor tensor, make_tensor(DType::kF32, {size, step_.state_slots}));
    SHUNT_ASSIGN(const Value leaf,
                 g_.cache(fmt::format("state of {} of layer {}", what, layer), tensor));
    made_.caches.push_back(leaf.id);
    made_.states.push_back(leaf.id);
    return leaf;
  }

  /// Writes the states after a step.
  void keep(Operand leaf, Operand states) {
    const auto write = [&]() -> Result<Value> {
      SHUNT_ASSIGN(const Tensor all, g_.find(leaf));
      return set_rows(g_, leaf, reshape(g_, states, {all.shape[0], made_.sequence_count}),
                      made_.state_targets);
    };
    note(write());
  }

  Recurrence check(Result<Recurrence> recurrence) {
    note(recurrence);
    return recurrence.value_or(Recurrence());
  }

  /// Keeps the first error of a result that nothing else uses.
  void note(const auto& result) {
    if (written_ && !result) written_ = result.error();
  }

  float scale() const { return 1 / std::sqrt(static_cast<float>(n_.head_size)); }

  const Definition& model_;
  const Numbers& n_;
  const StepShape& step_;
  GraphBuilder g_;
  Result<Value> ends_ = absent();  // of the sequences' tokens
  Status written_ = ok();
  StepGraph made_;
};

Result<StepGraph> Definition::build(const StepShape& step) const {
  return StepBuilder(*this, step).build();
}

template <const std::string_view& name>
Result<std::unique_ptr<ModelDefinition>> read(const gguf::File& file) {
  auto model = std::make_unique<Definition>(file, name);
  SHUNT_TRY(model->read());
  return model;
}

constexpr Architecture kArchitectures[] = {
    {kWindows, read<kWindows>}, {kHybrid, read<kHybrid>}, {kMixed, read<kMixed>}};

}  // namespace

}  // namespace architectures

std::vector<const Architecture*> test_architectures() {
  std::vector<const Architecture*> all;
  for (const Architecture& architecture : architectures::kArchitectures)
    all.push_back(&architecture);
  return all;
}

}  // namespace shunt::test
