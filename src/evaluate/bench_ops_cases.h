// Benchmark cases: ops with the shapes of a language model.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/graph.h"

namespace shunt {

/// A graph with one op many times. Each has its own leaves, so that no processor cache holds them.
struct OpsGraph {
  std::shared_ptr<const Graph> graph;
  std::vector<NodeId> kept;    ///< leaves with memory: weights, keys and values
  std::vector<NodeId> inputs;  ///< leaves that are filled before the first run
  std::vector<NodeId> nodes;   ///< the ops
};

/// A source of an op, by its role.
struct BenchSource {
  enum class Part : std::uint8_t { kWeight, kCache, kInput };
  Part part = Part::kInput;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> sizes;  ///< innermost first
};

struct OpsCase {
  std::string_view op;
  DType dtype = DType::kF32;  ///< of weights or cache; else F32
  std::string shape;          ///< for people: "w [2048, 8192], 32 columns"
  std::vector<BenchSource> sources;
  std::function<Result<Value>(GraphBuilder&, const std::vector<Value>&)> apply;

  /// A graph with the op `times` times.
  Result<OpsGraph> build(std::size_t times) const;
};

/// Products for each of the types, with weights [width, width] and [width, 4 width], and their
/// gradients. Attention for each type of cache, with heads of 64 elements. The ops between
/// products, for 512 tokens.
std::vector<OpsCase> list_ops_cases(std::span<const DType> types, std::int64_t width);

}  // namespace shunt
