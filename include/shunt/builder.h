/// \file
/// Builds graphs in expressions: y = silu(matmul(w, x)). Include it with runtime.h, which compiles
/// and runs the graph.
///
/// \code
/// Builder g;
/// auto w = g.weight<float>("w", {3, 2}, weights);  // weights: 6 floats
/// auto x = g.input<float>("x", {3});
/// g.output("y", silu(matmul(w, x)));
/// \endcode
///
/// The ops are those of ops.h, without their first argument (expression_ops.h). An error needs no
/// check on the way: a value that failed carries it, ops pass it on, and Runtime::compile() returns
/// the first one. GraphBuilder (graph.h) is the same with a Result for each call, without memory
/// for weights.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/graph.h"
#include "shunt/ops/custom.h"
#include "shunt/ops/state.h"

namespace shunt {

class Builder;
struct BuilderState;

/// A value in the graph of a Builder, or the error of the call that should have made it. A copy is
/// the same value. It may outlive the Builder, but is of no use then.
class Expr {
 public:
  /// An optional operand that is not given.
  Expr() : value_(Value{}) {}

  explicit operator bool() const { return value_.has_value(); }
  /// Only of a value that failed: it names the op, the operands and their shapes.
  const Error& error() const { return value_.error(); }
  /// The operand of functions with a GraphBuilder.
  operator const Result<Value>&() const { return value_; }  // NOLINT: an Operand

 private:
  friend class Builder;
  friend Expr apply_op(std::span<const Expr* const> operands,
                       const std::function<Result<Value>(GraphBuilder&)>& op);
  Expr(std::shared_ptr<BuilderState> state, Result<Value> value)
      : state_(std::move(state)), value_(std::move(value)) {}

  std::shared_ptr<BuilderState> state_;  // null: not of a builder
  Result<Value> value_;
};

/// Calls `op` with the graph that the operands are of. The error of an operand is passed on.
/// Invalid if two operands are of different builders, or none is of a builder.
Expr apply_op(std::span<const Expr* const> operands,
              const std::function<Result<Value>(GraphBuilder&)>& op);
/// The same with a list of operands.
inline Expr apply_op(std::initializer_list<const Expr*> operands,
                     const std::function<Result<Value>(GraphBuilder&)>& op) {
  return apply_op(std::span(operands.begin(), operands.size()), op);
}

/// The results of an op with a state, such as ssm_scan(): see Recurrence.
struct RecurrenceExpr {
  Expr outputs;
  Expr states;
};
/// As apply_op(), for an op with a state. Both results have the error of a failure.
RecurrenceExpr apply_recurrence(std::initializer_list<const Expr*> operands,
                                const std::function<Result<Recurrence>(GraphBuilder&)>& op);

/// custom() of <shunt/ops/custom.h>.
Expr custom(const std::vector<Expr>& sources, CustomParams params);

/// Collects a graph, and the content of its weights. Not for use by several threads at once. All
/// shapes are innermost first.
class Builder {
 public:
  Builder();
  /// A copy collects the same graph. Moving copies, so that no builder is without a graph.
  Builder(const Builder&) = default;
  Builder& operator=(const Builder&) = default;

  /// A size that is stated before a run (Executable::set_dynamic_dim()), at most `max`. For use in
  /// shapes.
  Dim dynamic_dim(std::string name, std::int64_t max);
  /// A tensor that the caller fills before each run. Names of inputs must differ.
  Expr input(std::string name, DType dtype, const Shape& shape);
  /// The same for the type of C++ that stands for a plain type.
  template <class T>
  Expr input(std::string name, const Shape& shape) {
    return input(std::move(name), dtype_of<T>(), shape);
  }
  /// A tensor that never changes. `bytes` are copied; Invalid if they are not as many as it takes.
  Expr weight(std::string name, DType dtype, const Shape& shape, std::span<const std::byte> bytes);
  /// The same from values; Invalid if they are not as many as the shape has.
  template <class T>
  Expr weight(std::string name, const Shape& shape, std::span<const T> values) {
    return weight(std::move(name), dtype_of<T>(), shape, std::as_bytes(values));
  }
  /// The same from a list of values.
  template <class T>
  Expr weight(std::string name, const Shape& shape, std::initializer_list<T> values) {
    return weight(std::move(name), shape, std::span<const T>(values.begin(), values.size()));
  }
  /// Names a value of this builder, for pins and messages.
  Builder& name(const Expr& value, std::string name);
  /// Marks a value as an output. Names of outputs must differ.
  Builder& output(std::string name, const Expr& value) &;
  /// The same of a temporary Builder.
  Builder&& output(std::string name, const Expr& value) &&;

  /// Of ops without operands. Invalid once the graph is compiled.
  Expr apply(const std::function<Result<Value>(GraphBuilder&)>& op);
  /// The first error of all calls so far.
  Status status() const;

 private:
  friend class Runtime;
  std::shared_ptr<BuilderState> state_;
};

}  // namespace shunt
