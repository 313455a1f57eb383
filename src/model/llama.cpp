// Llama: rotary positions, RMS norms, grouped-query attention, a gated feed-forward.
#include <algorithm>
#include <cmath>

#include "base/fail.h"
#include "model/architectures.h"
#include "model/rope_scaling.h"
#include "model/weight_table.h"
#include "shunt/ops.h"

namespace shunt {

namespace {

/// The sizes that everything else follows from.
struct Numbers {
  std::int64_t width = 0;  // of an embedding
  std::int64_t vocabulary = 0;
  std::int64_t feed_forward = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t key_size = 0;  // of one head
  std::int64_t value_size = 0;
  std::int64_t query_width = 0;  // heads * key_size
  std::int64_t key_width = 0;    // kv_heads * key_size
  std::int64_t value_width = 0;  // kv_heads * value_size
  std::int64_t mixed_width = 0;  // heads * value_size
  std::int64_t rope_pairs = 0;
};

enum Weight : std::size_t {
  kEmbedding,
  kOutputNorm,
  kOutput,
  kRopeFactors,
  kAttentionNorm,
  kQuery,
  kQueryBias,
  kKey,
  kKeyBias,
  kValue,
  kValueBias,
  kMix,
  kMixBias,
  kFeedNorm,
  kGate,
  kGateBias,
  kUp,
  kUpBias,
  kDown,
  kDownBias,
};

using Row = WeightRow<Numbers>;
using N = Numbers;
constexpr bool kOptional = true;
constexpr bool kNeeded = false;

/// In the order of Weight.
constexpr std::array kTable = {
    Row{"token_embd.weight", {&N::width, &N::vocabulary}, kNeeded, WeightRole::kEmbedding},
    Row{"output_norm.weight", {&N::width, nullptr}},
    // Missing: the embedding does it.
    Row{"output.weight", {&N::width, &N::vocabulary}, kOptional, WeightRole::kOutput},
    Row{"rope_freqs.weight", {&N::rope_pairs, nullptr}, kOptional},
    Row{"blk.{}.attn_norm.weight", {&N::width, nullptr}},
    Row{"blk.{}.attn_q.weight", {&N::width, &N::query_width}, kNeeded, WeightRole::kQuery},
    Row{"blk.{}.attn_q.bias", {&N::query_width, nullptr}, kOptional},
    Row{"blk.{}.attn_k.weight", {&N::width, &N::key_width}, kNeeded, WeightRole::kKey},
    Row{"blk.{}.attn_k.bias", {&N::key_width, nullptr}, kOptional},
    Row{"blk.{}.attn_v.weight", {&N::width, &N::value_width}, kNeeded, WeightRole::kValue},
    Row{"blk.{}.attn_v.bias", {&N::value_width, nullptr}, kOptional},
    Row{"blk.{}.attn_output.weight", {&N::mixed_width, &N::width}, kNeeded, WeightRole::kMix},
    Row{"blk.{}.attn_output.bias", {&N::width, nullptr}, kOptional},
    Row{"blk.{}.ffn_norm.weight", {&N::width, nullptr}},
    Row{"blk.{}.ffn_gate.weight", {&N::width, &N::feed_forward}, kNeeded, WeightRole::kGate},
    Row{"blk.{}.ffn_gate.bias", {&N::feed_forward, nullptr}, kOptional},
    Row{"blk.{}.ffn_up.weight", {&N::width, &N::feed_forward}, kNeeded, WeightRole::kUp},
    Row{"blk.{}.ffn_up.bias", {&N::feed_forward, nullptr}, kOptional},
    Row{"blk.{}.ffn_down.weight", {&N::feed_forward, &N::width}, kNeeded, WeightRole::kDown},
    Row{"blk.{}.ffn_down.bias", {&N::width, nullptr}, kOptional},
};

class Llama final : public ModelDefinition {
 public:
  static Result<std::unique_ptr<ModelDefinition>> read(const gguf::File& file) {
    std::unique_ptr<Llama> model(new Llama(file));
    SHUNT_TRY(model->read_numbers());
    SHUNT_ASSIGN(model->weights_,
                 find_weights<Numbers>(file, kTable, model->n_, model->shape_.layers));
    return model;
  }

  const ModelShape& shape() const override { return shape_; }
  Result<StepGraph> build(const StepShape& step) const override;
  std::vector<ModelWeight> weights() const override {
    std::vector<ModelWeight> weights = list_weights<Numbers>(weights_, kTable);
    if (weights_[kOutput][0] != nullptr) return weights;
    for (ModelWeight& weight : weights) {
      if (weight.role == WeightRole::kEmbedding) weight.role = WeightRole::kOutput;
    }
    return weights;
  }

 private:
  friend class StepBuilder;
  explicit Llama(const gguf::File& file) : file_(file) {}
  Status read_numbers();

  gguf::File file_;  // keeps the tensors' descriptions
  ModelShape shape_;
  Numbers n_;
  RopeParams rope_;
  float norm_eps_ = 1e-5F;
  FoundWeights weights_;
};

Status Llama::read_numbers() {
  // A number of the file from 1 to `max`.
  const auto count = [&](const char* key, std::int64_t max,
                         std::optional<std::int64_t> fallback = {}) -> Result<std::int64_t> {
    const std::string full = fmt::format("llama.{}", key);
    std::int64_t value = 0;
    if (fallback) {
      SHUNT_ASSIGN(value, file_.get_integer_or(full, *fallback));
    } else {
      SHUNT_ASSIGN(value, file_.get_integer(full));
    }
    if (value >= 1 && value <= max) return value;
    return fail(ErrorCode::kBadFile, "{}: {} is {}; it must be from 1 to {}", file_.path(), full,
                value, max);
  };
  constexpr std::int64_t kMax = std::int64_t{1} << 30;  // no product of two overflows
  // Every layer has tensors of its own: a file can't have more layers than tensors.
  const auto most_layers =
      static_cast<std::int64_t>(std::max<std::size_t>(file_.tensors().size(), 1));
  SHUNT_ASSIGN(shape_.layers, count("block_count", most_layers));
  SHUNT_ASSIGN(shape_.context, count("context_length", kMax));
  SHUNT_ASSIGN(n_.width, count("embedding_length", kMax));
  SHUNT_ASSIGN(n_.feed_forward, count("feed_forward_length", kMax));
  SHUNT_ASSIGN(n_.heads, count("attention.head_count", kMax));
  SHUNT_ASSIGN(n_.kv_heads, count("attention.head_count_kv", kMax, n_.heads));
  if (n_.heads % n_.kv_heads != 0) {
    return fail(ErrorCode::kBadFile, "{}: {} attention heads can't share {} key/value heads evenly",
                file_.path(), n_.heads, n_.kv_heads);
  }
  const std::int64_t head_size = n_.width / n_.heads;
  SHUNT_ASSIGN(n_.key_size, count("attention.key_length", kMax, head_size));
  SHUNT_ASSIGN(n_.value_size, count("attention.value_length", kMax, head_size));
  SHUNT_ASSIGN(const std::int64_t rope_dims,
               count("rope.dimension_count", n_.key_size, n_.key_size));
  if (rope_dims % 2 != 0) {
    return fail(ErrorCode::kBadFile, "{}: llama.rope.dimension_count is {}; it must be even",
                file_.path(), rope_dims);
  }
  SHUNT_ASSIGN(const double eps, file_.get_number("llama.attention.layer_norm_rms_epsilon"));
  if (!(eps >= 0) || !std::isfinite(eps)) {
    return fail(ErrorCode::kBadFile,
                "{}: llama.attention.layer_norm_rms_epsilon is {}; it must be at least 0",
                file_.path(), eps);
  }
  norm_eps_ = static_cast<float>(eps);
  SHUNT_ASSIGN(rope_, read_rope(file_, "llama", rope_dims, RopeMode::kNormal));
  const gguf::TensorInfo* embedding = file_.find_tensor(kTable[kEmbedding].name);
  if (embedding == nullptr) {
    return fail(ErrorCode::kBadFile, "{}: tensor {} is missing", file_.path(),
                kTable[kEmbedding].name);
  }
  n_.vocabulary = embedding->tensor.size(1);
  n_.query_width = n_.heads * n_.key_size;
  n_.key_width = n_.kv_heads * n_.key_size;
  n_.value_width = n_.kv_heads * n_.value_size;
  n_.mixed_width = n_.heads * n_.value_size;
  n_.rope_pairs = rope_dims / 2;
  shape_.width = n_.width;
  shape_.vocabulary = n_.vocabulary;
  return ok();
}

/// Builds the graph of one step. Each call passes on the first error, which comes out at the end.
class StepBuilder {
 public:
  StepBuilder(const Llama& model, const StepShape& step)
      : model_(model), n_(model.n_), step_(step) {}

  Result<StepGraph> build() {
    SHUNT_TRY(make_inputs());
    Result<Value> x = get_rows(g_, weight(kEmbedding), result_.tokens);
    for (std::int64_t layer = 0; layer < model_.shape_.layers; ++layer) {
      x = add(g_, x, attention_block(layer, norm(x, kAttentionNorm, layer)));
      // From here on tokens are on their own: go on with those whose logits are wanted.
      if (layer + 1 == model_.shape_.layers) x = get_rows(g_, x, result_.output_ids);
      x = add(g_, x, feed_forward(layer, norm(x, kFeedNorm, layer)));
    }
    x = norm(x, kOutputNorm, 0);
    const Result<Value> logits =
        matmul(g_, weight(find(kOutput, 0) != nullptr ? kOutput : kEmbedding), x);
    SHUNT_TRY(g_.output(logits, "logits"));
    result_.logits = *logits;
    SHUNT_ASSIGN(result_.graph, std::move(g_).build());
    return std::move(result_);
  }

 private:
  Status make_inputs() {
    SHUNT_ASSIGN(result_.token_count, g_.extent("tokens", step_.tokens));
    SHUNT_ASSIGN(result_.output_count, g_.extent("outputs", step_.outputs));
    SHUNT_ASSIGN(result_.row_count, g_.extent("cache rows", step_.context));
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
    SHUNT_TRY(input(result_.mask, "mask", DType::kF16, {result_.row_count, tokens}));
    if (!whole_blocks(n_.key_size) || !whole_blocks(n_.value_size)) {
      SHUNT_TRY(input(result_.row_numbers, "row numbers", DType::kI32, {result_.row_count}));
    }
    return input(result_.output_ids, "output ids", DType::kI32, {result_.output_count});
  }

  const gguf::TensorInfo* find(Weight which, std::int64_t layer) const {
    return model_.weights_[which][static_cast<std::size_t>(layer)];
  }

  /// The leaf of a weight, made when it is first asked for; absent if the file lacks it.
  Result<Value> weight(Weight which, std::int64_t layer = 0) {
    const gguf::TensorInfo* info = find(which, layer);
    if (info == nullptr) return absent();
    for (const WeightLeaf& known : result_.weights) {
      if (known.info == info) return Value{known.leaf};
    }
    SHUNT_ASSIGN(const Value leaf, g_.weight(info->name, info->tensor));
    result_.weights.push_back({leaf.id, info, kTable[which].in_layers() ? layer : -1});
    return leaf;
  }

  Result<Value> norm(Operand x, Weight which, std::int64_t layer) {
    return mul(g_, rms_norm(g_, x, {.eps = model_.norm_eps_}), weight(which, layer));
  }

  /// Gives a result a name for people: "blk.3.attention".
  Result<Value> named(Result<Value> value, std::int64_t layer, std::string_view what) {
    if (value) SHUNT_TRY(g_.name(value, fmt::format("blk.{}.{}", layer, what)));
    return value;
  }

  Result<Value> linear(Operand x, Weight which, Weight bias, std::int64_t layer,
                       std::string_view what) {
    const Result<Value> y = matmul(g_, weight(which, layer), x);
    return named(find(bias, layer) == nullptr ? y : add(g_, y, weight(bias, layer)), layer, what);
  }

  Result<Value> turn(Operand x) {
    return rope(g_, x, result_.positions, weight(kRopeFactors), model_.rope_);
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
    const Result<Value> q = linear(x, kQuery, kQueryBias, layer, "attn_q");
    const Result<Value> k = linear(x, kKey, kKeyBias, layer, "attn_k");
    const Result<Value> v = linear(x, kValue, kValueBias, layer, "attn_v");
    const Result<Value> queries = turn(reshape(g_, q, {n_.key_size, n_.heads, tokens}));
    const Result<Value> turned = turn(reshape(g_, k, {n_.key_size, n_.kv_heads, tokens}));
    const Result<Value> keys =
        remember(reshape(g_, turned, {n_.key_width, tokens}),
                 fmt::format("keys of layer {}", layer), n_.key_size, n_.kv_heads);
    const Result<Value> values =
        remember(v, fmt::format("values of layer {}", layer), n_.value_size, n_.kv_heads);
    const float scale = 1 / std::sqrt(static_cast<float>(n_.key_size));
    const Result<Value> mixed = named(
        attention(g_, queries, keys, values, result_.mask, {.scale = scale}), layer, "attention");
    return linear(reshape(g_, mixed, {n_.mixed_width, tokens}), kMix, kMixBias, layer,
                  "attn_output");
  }

  Result<Value> feed_forward(std::int64_t layer, Operand x) {
    const Result<Value> gate = linear(x, kGate, kGateBias, layer, "ffn_gate");
    const Result<Value> up = linear(x, kUp, kUpBias, layer, "ffn_up");
    return linear(swiglu(g_, gate, up), kDown, kDownBias, layer, "ffn_down");
  }

  const Llama& model_;
  const Numbers& n_;
  const StepShape& step_;
  GraphBuilder g_;
  StepGraph result_;
};

Result<StepGraph> Llama::build(const StepShape& step) const {
  return StepBuilder(*this, step).build();
}

}  // namespace

Result<std::unique_ptr<ModelDefinition>> read_llama(const gguf::File& file) {
  return Llama::read(file);
}

}  // namespace shunt
