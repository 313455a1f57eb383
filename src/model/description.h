// A model as data: its numbers, what each layer computes, and the weights that it has. An
// architecture makes one from the keys of a file; blocks/ builds the graph from it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "model/definition.h"
#include "model/slot.h"
#include "shunt/ops.h"
#include "shunt/pooling.h"

namespace shunt {

/// Queries grow with the position: they are multiplied by
/// `1 + scale * ln(1 + floor((position + offset) / length))`.
struct QueryTemperature {
  float scale = 0;  ///< 0: they do not
  std::int64_t length = 1;
  std::int64_t offset = 0;
  bool operator==(const QueryTemperature&) const = default;
};

/// Attention with keys and values of several heads.
struct Attention {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t key_size = 0;    ///< of one head
  std::int64_t value_size = 0;  ///< of one head
  float scale = 0;              ///< of scores; 0: 1 / sqrt(key_size)
  float softcap = 0;            ///< of scores; 0: none
  AttentionSpan span = AttentionSpan::kCausal;
  std::int64_t window = 0;         ///< of the span
  std::optional<RopeParams> rope;  ///< none: queries and keys do not depend on positions
  bool rope_factors = true;  ///< the frequencies are divided by those of the file, if it has some
  bool norms_after_rope = false;  ///< those of queries and keys
  /// After rope, queries and keys are divided by the root of their mean square.
  bool unit_heads = false;
  bool unit_values = false;  ///< values are divided by the root of their mean square
  /// Each head of kQuery is followed by as many rows that gate the head's result, by a sigmoid.
  bool gated = false;
  QueryTemperature temperature;
  /// The layer whose keys and values it reads, instead of its own; -1: it has its own.
  std::int64_t keys_of = -1;

  std::int64_t query_width() const { return heads * key_size; }
  std::int64_t query_rows() const { return (gated ? 2 : 1) * query_width(); }
  std::int64_t key_width() const { return kv_heads * key_size; }
  std::int64_t value_width() const { return kv_heads * value_size; }
  std::int64_t mixed_width() const { return heads * value_size; }
  float score_scale() const;
};

/// Attention whose cache has one short row for all heads (DeepSeek-V2, arXiv 2405.04434), in its
/// absorbed form: queries are multiplied by the matrices that would make keys of the rows.
struct LatentAttention {
  std::int64_t heads = 0;
  std::int64_t query_rank = 0;  ///< of the product that makes queries; 0: one matrix makes them
  std::int64_t rank = 0;        ///< elements of a cached row without position
  std::int64_t key_size = 0;    ///< of one head, with its elements that rope turns
  std::int64_t value_size = 0;  ///< of one head
  RopeParams rope;
  float scale = 0;  ///< of scores
  QueryTemperature temperature;

  std::int64_t plain_size() const { return key_size - rope.dims; }
  std::int64_t row_size() const { return rank + rope.dims; }
};

/// Gated delta net (arXiv 2412.06464) after a causal convolution, as in Qwen3-Next.
struct DeltaNet {
  std::int64_t key_heads = 0;
  std::int64_t value_heads = 0;
  std::int64_t key_size = 0;  ///< of one head
  std::int64_t value_size = 0;
  std::int64_t taps = 0;  ///< of the convolution
  /// Head h of values reads head `h mod key_heads` of keys, instead of those in groups.
  bool tiled = false;

  std::int64_t key_width() const { return key_heads * key_size; }
  std::int64_t value_width() const { return value_heads * value_size; }
  std::int64_t conv_width() const { return 2 * key_width() + value_width(); }
};

/// Mamba 2 (arXiv 2405.21060).
struct StateSpace {
  std::int64_t heads = 0;
  std::int64_t head_size = 0;
  std::int64_t groups = 0;
  std::int64_t state_size = 0;
  std::int64_t taps = 0;  ///< of the convolution

  std::int64_t inner() const { return heads * head_size; }
  std::int64_t conv_width() const { return inner() + 2 * groups * state_size; }
  std::int64_t input_rows() const { return inner() + conv_width() + heads; }
};

/// A short causal convolution between two gates (LFM2).
struct ShortConvolution {
  std::int64_t taps = 0;
};

/// The function of a feed-forward part.
enum class Activation : std::uint8_t { kSilu, kGelu, kGeluErf, kSwigluOai };

/// A feed-forward part that all tokens go through. Its weights say whether it is gated: with kGate,
/// or with a kUp of twice as many rows (gate first), it is.
struct FeedForward {
  std::int64_t size = 0;
  Activation activation = Activation::kSilu;
  bool fused = false;  ///< kUp has the rows of the gate, then its own
};

/// The numbers that a router's logits become.
enum class Routing : std::uint8_t { kSoftmax, kSigmoid };

/// Experts, of which each token uses some.
struct Experts {
  std::int64_t count = 0;
  std::int64_t used = 0;
  std::int64_t size = 0;         ///< rows of an expert
  std::int64_t shared_size = 0;  ///< of the expert that all tokens use
  Activation activation = Activation::kSilu;
  Routing routing = Routing::kSoftmax;
  bool normalized = false;  ///< the weights of a token's experts are divided by their sum
  float least_sum = 0;      ///< added to that sum
  float weight_scale = 1;
  /// Experts are in so many groups; those of the best `groups_used` can be used.
  std::int64_t groups = 1;
  std::int64_t groups_used = 1;
  bool weighted_inputs = false;  ///< an expert's input is multiplied by its weight, not its result
  bool fused = false;  ///< kExpertGateUp has the rows of the gate, then those of kExpertUp
};

/// What a layer computes. The results of several mixers are added. With a feed-forward part and
/// experts, their normed results are added (Gemma 4).
struct Layer {
  std::optional<Attention> attention;
  std::optional<LatentAttention> latent_attention;
  std::optional<DeltaNet> delta_net;
  std::optional<StateSpace> state_space;
  std::optional<ShortConvolution> short_convolution;
  std::optional<FeedForward> feed_forward;
  std::optional<Experts> experts;
};

/// The kind of a model's norms.
enum class NormKind : std::uint8_t { kRms, kLayer };

struct Description {
  std::int64_t width = 0;
  std::int64_t vocabulary = 0;
  std::int64_t context = 0;
  NormKind norm = NormKind::kRms;
  float norm_eps = 1e-5F;
  float embedding_scale = 1;
  float residual_scale = 1;  ///< of what a mixer or a feed-forward part adds
  float logit_scale = 1;
  float logit_softcap = 0;  ///< 0: none
  /// The feed-forward part has the same input as the mixer, instead of its result.
  bool parallel = false;
  std::int64_t rope_pairs = 0;    ///< with a factor in kRopeFactors
  std::int64_t long_context = 0;  ///< above it kLongRopeFactors are used, else kShortRopeFactors
  std::int64_t token_types = 0;   ///< of kTokenTypes; most texts have tokens of the first only
  bool is_encoder = false;        ///< tokens see those after them, and results are embeddings
  std::optional<EmbeddingPooling> pooling = {};
  /// Sizes of the results of kDenseUp and kDenseDown, which make an embedding of the last layer's
  /// result; 0: there are none.
  std::int64_t dense_size = 0;
  std::int64_t dense_outputs = 0;
  std::optional<ClassifierHead> head = {};
  bool normed_head = false;      ///< heads of the architecture have gelu and a norm instead of tanh
  std::int64_t layer_input = 0;  ///< size of an embedding that each layer has; 0: none (Gemma 4)
  std::vector<Layer> layers;
  /// Layers after these, which predict further tokens and are not computed.
  std::int64_t skipped_layers = 0;
  std::vector<WeightRow> weights;

  std::int64_t embedding_size() const { return dense_outputs > 0 ? dense_outputs : width; }

  void add(std::initializer_list<WeightRow> rows) {
    weights.insert(weights.end(), rows.begin(), rows.end());
  }
  /// The row of a weight gets another name, or another need; it is added if there is none.
  void replace(const WeightRow& row);
  /// The model has no such weights.
  void remove(std::initializer_list<WeightSlot> slots);
};

/// The size of a layer's states of one sequence, in numbers of F32.
std::int64_t state_numbers(const Layer& layer, std::int64_t width);

}  // namespace shunt
