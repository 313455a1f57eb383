// How the gradient of a loss gets from an op's result to its sources. An op implements this part,
// in addition to op.h, if a loss can be differentiated through it.
#pragma once

#include "graph/op.h"

namespace shunt {

/// A node y = op(sources) of the backward pass. Its rule adds nodes to `g` that compute, from dy,
/// the gradient of the loss by y, the gradients by the sources that need one.
class Backward {
 public:
  explicit Backward(GraphBuilder& builder) : g(builder) {}
  Backward(const Backward&) = delete;
  Backward& operator=(const Backward&) = delete;
  virtual ~Backward() = default;

  /// The graph, at whose end the gradients are computed: sources and y can be read there.
  GraphBuilder& g;

  /// F32, of y's shape, with any strides.
  virtual Value dy() const = 0;
  virtual Value y() const = 0;
  /// A source by its number in the op's order; absent() if an optional one is not given.
  virtual Value source(std::size_t i) const = 0;
  /// Whether the loss is to be differentiated by the values that source i is made of.
  virtual bool needs_gradient(std::size_t i) const = 0;

  /// The gradient by source i: F32, of its shape, with any strides. An error is passed on.
  /// Gradients that are given for the same source are added up. A source that needs a gradient and
  /// gets none makes the rule fail: "no gradient by SOURCE".
  virtual Status add_gradient(std::size_t i, Operand dx) = 0;
  /// That the gradient by source i is zero.
  virtual Status add_zero_gradient(std::size_t i) = 0;

  /// The tensor of a value. (A copy: see GraphBuilder::graph().)
  Tensor tensor(Value value) const { return g.tensor(value); }
  Shape shape(std::size_t i) const { return tensor(source(i)).shape; }
  bool given(std::size_t i) const { return source(i).id != kNoNode; }
};

/// An op whose parameters are a P, with a rule.
template <class P>
class Differentiable : public OpWith<P> {
 public:
  virtual Status gradient_rule(Backward& node, const P& params) const = 0;

  bool has_gradient() const final { return true; }
  Status gradient(Backward& node, const Params& params) const final {
    return gradient_rule(node, params.get<P>());
  }
};

}  // namespace shunt
