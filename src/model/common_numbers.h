// Numbers that most architectures have, from the keys with their usual names.
#pragma once

#include "model/architecture_keys.h"
#include "model/description.h"
#include "model/weight_slots.h"

namespace shunt {

/// No product of two such sizes overflows.
inline constexpr std::int64_t kMostOfSize = std::int64_t{1} << 30;
/// Far more experts, layers or groups than any model has.
inline constexpr std::int64_t kMostOfCount = std::int64_t{1} << 20;
/// The pooling_type of a file with a classifier head, which reads the first token or the last one.
inline constexpr std::int64_t kRankPooling = 4;

/// The number of layers, which are empty, the width, the vocabulary and the context. BadFile for
/// numbers out of range, and for a file without an embedding.
Status read_common(ArchitectureKeys& keys, Description& model);

/// YaRN's growth of scores is divided by that of the training, whose multiplier the file says.
Status read_yarn_multiplier(ArchitectureKeys& keys, Description& model);

/// Queries grow with the position, if the file says so: in steps of as many tokens as it says, or
/// of the original context.
Result<QueryTemperature> read_temperature(ArchitectureKeys& keys);

/// The kind of norm, with its epsilon.
Status read_norm(ArchitectureKeys& keys, Description& model, NormKind kind = NormKind::kRms);

/// Whether layers may have no attention: their number of heads of keys is 0.
enum class AttentionLayers : std::uint8_t { kAll, kSome };
/// Each layer becomes attention, with rope of this mode in all of them: heads, their sizes, rope's
/// numbers. BadFile for a layer without heads, unless some may have none.
Status read_attention(ArchitectureKeys& keys, Description& model, RopeMode mode,
                      AttentionLayers layers = AttentionLayers::kAll);

/// Each layer gets a feed-forward part.
Status read_feed_forward(ArchitectureKeys& keys, Description& model,
                         Activation activation = Activation::kSilu);

/// Experts of a file.
struct ReadExperts {
  Routing routing = Routing::kSoftmax;  ///< unless the file says
  bool normalized = true;               ///< unless the file says
  bool grouped = false;                 ///< experts can be in groups
  std::int64_t groups = 1;              ///< unless the file says
  std::int64_t groups_used = 1;         ///< unless the file says
  float least_sum = 1e-20F;             ///< Experts::least_sum
  bool parts = false;  ///< unless the file says, those used are as large as a feed-forward part
  bool fused_if_new = false;  ///< gates and ups of a model that is to be made
  Activation activation = Activation::kSilu;
};
/// Each layer from the first one on that the file says gets experts instead of its feed-forward
/// part, with their weights. Gates and what they gate are one tensor if the file has it so.
Status read_experts(ArchitectureKeys& keys, Description& model, const ReadExperts& how);

/// The expert that all tokens use, if the file has one, with its weights.
Status read_shared_expert(ArchitectureKeys& keys, Description& model);

/// The layer without a window of each n layers, in files that say the number n.
enum class WholeLayer : std::uint8_t { kFirst, kLast };
/// In layers where `windowed` is true a token sees as many tokens as the file says. The file may
/// say which layers those are, for each of them or by a number n: all but one of each n. A file
/// without a window has that of `fallback`; 0: none. BadFile for 0 where `fallback` is above 0 or
/// -1, which means that there must be one.
Status read_windows(ArchitectureKeys& keys, Description& model,
                    bool (*windowed)(std::int64_t layer), std::int64_t fallback = 0,
                    WholeLayer whole = WholeLayer::kLast);

/// Tokens see those after them, and results are embeddings. Windows become those of both
/// directions.
Status become_encoder(ArchitectureKeys& keys, Description& model);

/// Layers with windows turn by rope.freq_base_swa, without scaling.
Status read_window_rope(ArchitectureKeys& keys, Description& model, float fallback);

/// Layers at the end that predict further tokens are left out: their number is
/// nextn_predict_layers.
Status skip_prediction_layers(ArchitectureKeys& keys, Description& model);

/// Layers with windows turn by rope.freq_base_swa, if the file has it, with the scaling of the
/// others.
Status read_window_base(ArchitectureKeys& keys, Description& model);

/// Embedding, norms, attention, a gated feed-forward part, output: the weights of most decoders.
/// Without an output the embedding makes the logits.
void add_decoder_weights(Description& model);
/// kNeeded if the file has the weight in one of the model's layers: all layers that can have it
/// need it then. Else kOptional.
Need need_as_in_others(const ArchitectureKeys& keys, const Description& model, WeightSlot slot);
/// Biases of queries, keys and values.
void add_query_biases(Description& model, Need need = Need::kNeeded);
void add_shared_expert_weights(Description& model);

}  // namespace shunt
