// The weights that blocks compute with: a slot for each. weight_slots.h has their facts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace shunt {

/// What a weight does.
enum class WeightSlot : std::uint8_t {
  kEmbedding,
  kEmbeddingNorm,
  kEmbeddingNormBias,
  kPositionEmbedding,
  kTokenTypes,
  kOutputNorm,
  kOutputNormBias,
  kOutput,
  kDenseUp,
  kDenseDown,
  kRopeFactors,
  kLongRopeFactors,
  kShortRopeFactors,
  // Of each layer.
  kMixNorm,
  kMixNormBias,
  kPostMixNorm,
  kFeedNorm,
  kFeedNormBias,
  kPostFeedNorm,
  kMixedNorm,
  kMixedNormBias,
  kFedNorm,
  kFedNormBias,
  kLayerScale,
  // Attention.
  kQuery,
  kQueryBias,
  kKey,
  kKeyBias,
  kValue,
  kValueBias,
  kQueryKeyValue,
  kQueryKeyValueBias,
  kQueryNorm,
  kKeyNorm,
  kFullQueryNorm,
  kFullKeyNorm,
  kSinks,
  kMix,
  kMixBias,
  // Latent attention.
  kLatentQuery,
  kQueryDown,
  kQueryDownNorm,
  kQueryUp,
  kLatentDown,
  kLatentNorm,
  kKeyUp,
  kValueUp,
  kLatentMix,
  // Delta net.
  kDeltaInput,
  kDeltaGate,
  kDeltaFusedInput,
  kDeltaConvolution,
  kDeltaDecay,
  kDeltaStepBias,
  kDeltaStepAndShare,
  kDeltaStep,
  kDeltaShare,
  kDeltaNorm,
  kDeltaOutput,
  // State space.
  kSpaceInput,
  kSpaceConvolution,
  kSpaceConvolutionBias,
  kSpaceDecay,
  kSpaceSkip,
  kSpaceStepBias,
  kSpaceNorm,
  kSpaceOutput,
  // Short convolution.
  kConvolution,
  kConvolutionInput,
  kConvolutionOutput,
  // Feed-forward part.
  kGate,
  kGateBias,
  kUp,
  kUpBias,
  kDown,
  kDownBias,
  // Experts.
  kRouter,
  kRouterBias,
  kSelectionBias,
  kExpertGate,
  kExpertGateBias,
  kExpertUp,
  kExpertUpBias,
  kExpertDown,
  kExpertDownBias,
  kExpertGateUp,
  kExpertScale,
  kRouterScale,
  kPostDenseNorm,
  kExpertsNorm,
  kPostExpertsNorm,
  kSharedRouter,
  kSharedGate,
  kSharedUp,
  kSharedDown,
  // Embeddings of layers.
  kLayerEmbedding,
  kLayerModelProjection,
  kLayerProjectionNorm,
  kLayerInputGate,
  kLayerInputProjection,
  kPostLayerInputNorm,
  // Classifier head.
  kHead,
  kHeadBias,
  kHeadNorm,
  kHeadOutput,
  kHeadOutputBias,
  kCount,
};

inline constexpr auto kSlotCount = static_cast<std::size_t>(WeightSlot::kCount);

/// Whether a file must have a weight.
enum class Need : std::uint8_t { kNeeded, kOptional };

/// A weight of an architecture.
struct WeightRow {
  WeightSlot slot = WeightSlot::kCount;
  Need need = Need::kNeeded;
  std::string_view name = {};  ///< in a file, "{}" for the layer; empty: the slot's usual name
};

}  // namespace shunt
