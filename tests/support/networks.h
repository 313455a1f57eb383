// Networks of two layers, for tests of whole graphs: as BERT, Gemma and a Llama have them.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "graph/op.h"
#include "shunt/graph.h"
#include "support/graph_run.h"

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

/// A graph with values that keep the results of deep networks in range; indices for integers.
Network with_values(Result<Graph> graph);

/// A step of a Llama with caches of F16; with experts, of which a token uses 2 by default.
Network small_transformer(std::int64_t experts = 0, std::int64_t used = 2, std::int64_t tokens = 7);

/// The normalised mean square error of a run's output, by the plain reference.
double reference_error(const GraphRun& run, const Network& network);

}  // namespace shunt::test
