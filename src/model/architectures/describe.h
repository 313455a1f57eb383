// For the files of architectures: what they describe, and what they share.
#pragma once

#include "model/architectures/list.h"
#include "model/common_numbers.h"
#include "model/published.h"

namespace shunt {

/// Llama, whose layers may lack attention.
Status describe_like_llama(ArchitectureKeys& keys, Description& model, AttentionLayers layers);
/// The scales of Granite: of embeddings, residuals, scores and logits.
Status read_granite_scales(ArchitectureKeys& keys, Description& model);
/// Attention has no rope if rope.scaling.finetuned is false: how Granite's files say it.
Status read_granite_rope(ArchitectureKeys& keys, Description& model);

/// The weights of BERT that others have, too, with the number of token types.
Status read_token_types(ArchitectureKeys& keys, Description& model);
/// The scale of scores of Gemma 2 and 3, which most files do not have. Without it, it is that of
/// the head size, but in the 27B model that of the width by heads: a model of `layers_of_27b`
/// layers.
Status read_gemma_score_scale(ArchitectureKeys& keys, Description& model,
                              std::size_t layers_of_27b);
/// The folders of Gemma 3 and of models built like it.
Published publish_like_gemma3();
/// Gated delta nets, and gated attention in some layers.
Status read_delta_nets(ArchitectureKeys& keys, Description& model);
/// Mamba 2's numbers, and its weights without the norm.
Result<StateSpace> read_state_space(ArchitectureKeys& keys);
void add_state_space_weights(Description& model);

}  // namespace shunt
