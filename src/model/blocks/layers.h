// The blocks that layers are made of. Each is a file.
#pragma once

#include <utility>
#include <vector>

#include "model/blocks/graph_weights.h"
#include "model/blocks/memory.h"

namespace shunt {

/// The graph that blocks add nodes to.
struct BlockContext {
  GraphBuilder& g;
  const Description& model;
  GraphWeights& weights;
  LayerMemory& memory;
  /// Those made so far: layers share them.
  std::vector<std::pair<QueryTemperature, Result<Value>>> temperatures = {};
};

/// The factor of each token's queries: F32 [1, 1, tokens]. Made once for all layers that have it.
Result<Value> query_temperature(BlockContext& c, const QueryTemperature& temperature);

// Mixers of layer `number`, on x [width, tokens], already normed. The results are [width, tokens].
Result<Value> attention_block(BlockContext& c, const Attention& a, Operand x, std::int64_t number);
Result<Value> latent_attention_block(BlockContext& c, const LatentAttention& a, Operand x,
                                     std::int64_t number);
Result<Value> delta_net_block(BlockContext& c, const DeltaNet& net, Operand x, std::int64_t number);
Result<Value> state_space_block(BlockContext& c, const StateSpace& space, Operand x,
                                std::int64_t number);
Result<Value> short_convolution_block(BlockContext& c, const ShortConvolution& conv, Operand x,
                                      std::int64_t number);

// Feed-forward parts of x [width, columns], already normed. The results are [width, columns].
Result<Value> feed_forward_block(BlockContext& c, const FeedForward& part, Operand x,
                                 std::int64_t number);
Result<Value> experts_block(BlockContext& c, const Experts& experts, Operand x, Dim columns,
                            std::int64_t number);

/// The router has another input than the experts.
Result<Value> experts_block(BlockContext& c, const Experts& experts, Operand to_route, Operand x,
                            Dim columns, std::int64_t number);

/// The gate's function of `gate`, times `up`.
Result<Value> gated(GraphBuilder& g, Activation activation, Operand gate, Operand up);
/// The same of rows that hold both, the gate first.
Result<Value> gated_fused(GraphBuilder& g, Activation activation, Operand both);

/// The function alone, where there is no gate.
Result<Value> ungated(GraphBuilder& g, Activation activation, Operand x);

/// All layers, from token ids to logits, or to embeddings: the last layer's results, normed.
/// `outputs`: ids of the tokens whose logits are computed;
/// absent: all are.
Result<Value> model_graph(BlockContext& c, Operand tokens, Operand outputs, Dim output_count,
                          bool embeddings = false);

}  // namespace shunt
