// Two layers as BERT has them, and two as Gemma has them, in plain operations.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "graph/op.h"
#include "shunt/graph.h"

namespace shunt::test {

struct Network {
  std::shared_ptr<const Graph> graph;
  std::map<NodeId, RefTensor> leaves;  ///< values of all of them
  std::size_t refused = 0;             ///< operations that the accelerator has no kernel for
  std::string first_refused = {};      ///< the first of them
};

/// Layer norms behind the sums, biases everywhere, GELU. The last three of its tokens are padding,
/// hidden by a large negative number. The embeddings of the tokens are an input.
Network bert();

/// Embeddings that are scaled, and the output as well. RMS norms before and behind each block, with
/// factors of 1 + weight. Two heads of queries to one of keys, turned by their positions; GeGLU.
/// Scores and logits that tanh keeps below a cap. Tokens see themselves and those before.
Network gemma();

}  // namespace shunt::test
