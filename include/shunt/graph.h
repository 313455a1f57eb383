/// \file
/// A graph of tensor operations: nodes in an order they can be computed in. It is built once by
/// functions such as matmul(g, w, x) (ops.h), checked while it is built, and never changed
/// afterwards. Include it to build graphs with a Result for each call, or to read the nodes of a
/// graph. Builder (builder.h) needs fewer lines and also keeps the content of weights.
///
/// \code
/// GraphBuilder g;
/// SHUNT_ASSIGN(const Tensor matrix, make_tensor(DType::kF32, {3, 2}));
/// SHUNT_ASSIGN(const Tensor column, make_tensor(DType::kF32, {3}));
/// const Result<Value> w = g.weight("w", matrix);
/// const Result<Value> x = g.input("x", column);
/// SHUNT_TRY(g.output(silu(g, matmul(g, w, x)), "y"));
/// SHUNT_ASSIGN(const Graph graph, std::move(g).build());
/// \endcode
#pragma once

#include <any>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shunt/error.h"
#include "shunt/tensor.h"

namespace shunt {

class Op;

/// The number of a node in its graph: its index in Graph::nodes(). Sources have smaller numbers.
using NodeId = std::uint32_t;
/// Marks an optional source that is not given.
inline constexpr NodeId kNoNode = 0xffffffffU;

/// The role of a node, stated by the builder of the graph. Nothing in Shunt depends on a node's
/// name.
enum class Role : std::uint8_t {
  kActivation,    ///< computed in every run
  kWeight,        ///< a leaf whose bytes exist before the first run and never change
  kExpertWeight,  ///< a weight of which a run uses only some slices of the outermost dimension
  kInput,         ///< a leaf that the caller fills before each run
  kCache,         ///< a leaf that runs read and write, and that outlives them
  kOutput,        ///< computed, and kept for the caller to read after a run
};
/// "activation", "weight", "expert weight", "input", "cache", "output".
std::string_view to_string(Role role);

/// An op's parameters: a value of the op's own parameter struct.
class Params {
 public:
  Params() = default;
  template <class P>
  static Params of(P params) {
    Params result;
    result.value_ = std::move(params);
    return result;
  }
  template <class P>
  bool holds() const {
    return std::any_cast<P>(&value_) != nullptr;
  }
  /// The struct. Throws std::bad_any_cast if it is of another type, which GraphBuilder::apply()
  /// rules out for the nodes of a graph (Op::accepts()).
  template <class P>
  const P& get() const {
    return std::any_cast<const P&>(value_);
  }

 private:
  std::any value_;
};

/// An op applied to sources. A leaf has no op.
struct Node {
  const Op* op = nullptr;
  Params params;
  std::vector<NodeId> sources;  ///< in the op's order; kNoNode where an optional one is not given
  Tensor result;
  Role role = Role::kActivation;
  std::string name;  ///< for people
  NodeId storage =
      0;  ///< the node whose memory holds the result: itself, or the source of the view
  std::int64_t offset = 0;      ///< bytes from the start of that memory
  bool writes_storage = false;  ///< it writes into memory that it shares with its first source

  /// Whether it is a weight, an input or a cache.
  bool is_leaf() const { return op == nullptr; }
};

/// A named size that is set when a plan runs; memory is planned for its maximum.
struct DynamicDim {
  std::string name;
  std::int64_t max = 0;
};

/// The actual sizes of a run, by DynamicDimId. Entry 0 is not used.
using DynamicDimValues = std::array<std::int64_t, kMaxDynamicDims>;

/// A dimension's actual size in a run.
inline std::int64_t actual_size(const Dim& dim, const DynamicDimValues& dynamic_dims) {
  return dim.is_fixed() ? dim.max : dim.factor * dynamic_dims[dim.dynamic_dim];
}
/// All of a tensor's.
inline Sizes actual_sizes(const Tensor& tensor, const DynamicDimValues& dynamic_dims) {
  Sizes sizes = {};
  for (std::size_t i = 0; i < kMaxDims; ++i) sizes[i] = actual_size(tensor.shape[i], dynamic_dims);
  return sizes;
}

/// Built by GraphBuilder; immutable, so it may be read from many threads.
class Graph {
 public:
  /// All nodes, in an order they can be computed in. Valid as long as the graph.
  std::span<const Node> nodes() const { return nodes_; }
  /// `id` must be below size(): this is not checked.
  const Node& node(NodeId id) const { return nodes_[id]; }
  /// Number of nodes.
  std::size_t size() const { return nodes_.size(); }
  /// Dynamic dimensions by id; entry 0 is "none".
  std::span<const DynamicDim> dynamic_dims() const { return dynamic_dims_; }
  /// Each dynamic dimension at its maximum.
  DynamicDimValues max_dynamic_dims() const;
  /// Nodes of role kOutput, in the order they were marked.
  std::span<const NodeId> outputs() const { return outputs_; }
  /// "name (matmul)" or "#12 (matmul)": how messages speak of a node.
  std::string describe(NodeId id) const;

 private:
  friend class GraphBuilder;
  std::vector<Node> nodes_;
  std::vector<DynamicDim> dynamic_dims_;
  std::vector<NodeId> outputs_;
};

/// A leaf, and the element type that it is to have.
struct LeafType {
  NodeId leaf = 0;
  DType dtype = DType::kF32;
  bool operator==(const LeafType&) const = default;
};
/// The same graph with other element types of some leaves: nodes keep their numbers, names and
/// roles. Invalid if one is no leaf, is not contiguous or has rows that are not whole blocks of its
/// type, or if an op does not take that type.
Result<Graph> with_types(const Graph& graph, std::span<const LeafType> types);

/// The result of an operation in a graph that is being built.
struct Value {
  NodeId id = kNoNode;
};

/// The argument of builder functions: a Value, or the error of the call that should have made it,
/// which they pass on. So calls nest, and the first error comes out at the end: `SHUNT_ASSIGN(Value
/// y, add(g, matmul(g, w, x), b));`
using Operand = const Result<Value>&;

/// For an optional source that is not given.
inline Result<Value> absent() {
  return Value{};
}

/// Collects nodes. Not for use by several threads at once.
class GraphBuilder {
 public:
  GraphBuilder();

  /// A size that each run states anew, at most `max`. Use the result as a dimension; multiply by
  /// `times(dim, n)`.
  Result<Dim> dynamic_dim(std::string name, std::int64_t max);

  /// A leaf whose bytes are there before the first run. The role is kWeight or kExpertWeight, else
  /// Invalid. Invalid for a dynamic dimension that is not of this graph. The name is for messages
  /// and pins.
  Result<Value> weight(std::string name, const Tensor& tensor, Role role = Role::kWeight);
  /// A leaf that the caller fills before each run (Plan::input()). Errors as of weight().
  Result<Value> input(std::string name, const Tensor& tensor);
  /// A leaf that runs read and write, and that outlives them. Errors as of weight().
  Result<Value> cache(std::string name, const Tensor& tensor);

  /// Names a result, for people.
  Status name(Operand value, std::string name);
  /// Marks a result as an output and names it. Invalid for a leaf.
  Status output(Operand value, std::string name);

  /// The type and shape of a value of this graph, which is not checked; find() checks it.
  const Tensor& tensor(Value value) const { return graph_.node(value.id).result; }
  /// The nodes so far. A reference to one of them is invalid once another is added.
  const Graph& graph() const { return graph_; }
  /// The same; Invalid if the value is not of this graph.
  Result<Tensor> find(Operand value) const;

  /// Applies an op: checks sources and parameters, infers the result. The error names the op, the
  /// operands and their shapes. Builder functions in ops.h call this.
  Result<Value> apply(const Op& op, Params params,
                      std::initializer_list<const Result<Value>*> sources);
  /// The same with sources that are known by number.
  Result<Value> apply(const Op& op, Params params, std::span<const NodeId> sources);

  /// The graph, checked. The builder is empty afterwards.
  Result<Graph> build() &&;

 private:
  Result<Value> leaf(std::string name, const Tensor& tensor, Role role);
  Status check(Operand value) const;
  Graph graph_;
};

}  // namespace shunt
