// The syntax tree of a template. A node computes its own value, or prints its own text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shunt/error.h"
#include "text/jinja/operators.h"
#include "text/jinja/value.h"

namespace shunt::text::jinja {

struct Builtin;
class Run;

struct Expression {
  explicit Expression(std::size_t offset) : at(offset) {}
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;
  virtual ~Expression() = default;
  /// Called by evaluate() (run.h), which bounds depth and steps.
  virtual Result<Value> compute(Run& run) const = 0;

  std::size_t at;  ///< offset in the source
};
using ExpressionPointer = std::unique_ptr<const Expression>;

/// How a loop goes on after a statement.
enum class Flow : std::uint8_t { kNext, kBreak, kContinue };

struct Statement {
  explicit Statement(std::size_t offset) : at(offset) {}
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  virtual ~Statement() = default;
  /// Called by execute() (run.h), which bounds depth and steps.
  virtual Result<Flow> perform(Run& run) const = 0;

  std::size_t at;
};
using Body = std::vector<std::unique_ptr<const Statement>>;

/// A name's number in the template.
using NameId = std::uint32_t;

/// The left side of an assignment: a name, an attribute of a namespace, or several of these.
struct Target {
  enum class Kind : std::uint8_t { kName, kAttribute, kTuple };
  Kind kind = Kind::kName;
  std::size_t at = 0;
  NameId name = 0;
  std::string attribute;
  std::vector<Target> elements;
};

struct ArgumentList {
  std::vector<ExpressionPointer> positional;
  std::vector<std::pair<std::string, ExpressionPointer>> named;
  ExpressionPointer rest;        ///< *rest
  ExpressionPointer named_rest;  ///< **named_rest
};

struct Constant final : Expression {
  Constant(std::size_t offset, Value constant) : Expression(offset), value(std::move(constant)) {}
  Result<Value> compute(Run& run) const override;
  Value value;
};

struct NameUse final : Expression {
  using Expression::Expression;
  Result<Value> compute(Run& run) const override;
  NameId id = 0;
  std::string name;
};

struct AttributeUse final : Expression {
  using Expression::Expression;
  Result<Value> compute(Run& run) const override;
  ExpressionPointer object;
  std::string name;
};

struct ItemUse final : Expression {
  using Expression::Expression;
  Result<Value> compute(Run& run) const override;
  ExpressionPointer object, index;
};

struct SliceUse final : Expression {
  using Expression::Expression;
  Result<Value> compute(Run& run) const override;
  ExpressionPointer object;
  ExpressionPointer start, stop, step;  ///< each may be null
};

/// [a, b] or (a, b)
struct SequenceDisplay final : Expression {
  using Expression::Expression;
  Result<Value> compute(Run& run) const override;
  Sequence::Kind kind = Sequence::Kind::kList;
  std::vector<ExpressionPointer> items;
};

/// {a: b}
struct MappingDisplay final : Expression {
  using Expression::Expression;
  Result<Value> compute(Run& run) const override;
  std::vector<std::pair<ExpressionPointer, ExpressionPointer>> entries;
};

struct SignUse final : Expression {
  using Expression::Expression;
  Result<Value> compute(Run& run) const override;
  bool negates = false;
  ExpressionPointer operand;
};

struct Arithmetic final : Expression {
  using Expression::Expression;
  Result<Value> compute(Run& run) const override;
  BinaryOperator apply = nullptr;
  ExpressionPointer left, right;
};

/// a ~ b ~ c
struct Concatenation final : Expression {
  using Expression::Expression;
  Result<Value> compute(Run& run) const override;
  std::vector<ExpressionPointer> parts;
};

/// a < b <= c
struct Comparison final : Expression {
  using Expression::Expression;
  Result<Value> compute(Run& run) const override;
  ExpressionPointer first;
  std::vector<std::pair<BinaryOperator, ExpressionPointer>> others;
};

struct Logic final : Expression {
  using Expression::Expression;
  Result<Value> compute(Run& run) const override;
  bool is_and = false;
  ExpressionPointer left, right;
};

struct NotUse final : Expression {
  using Expression::Expression;
  Result<Value> compute(Run& run) const override;
  ExpressionPointer operand;
};

/// a if condition else b
struct Choice final : Expression {
  using Expression::Expression;
  Result<Value> compute(Run& run) const override;
  ExpressionPointer condition, then, otherwise;  ///< `otherwise` may be null
};

/// A filter, or a test, and its arguments.
struct BuiltinUse final : Expression {
  using Expression::Expression;
  Result<Value> compute(Run& run) const override;
  /// Applies it to a value that is there already: blocks have no operand.
  Result<Value> apply(Run& run, const Value& input) const;
  bool is_filter = true;
  const Builtin* builtin = nullptr;  ///< null if unknown, which is an error when it is reached
  std::string name;
  ExpressionPointer operand;  ///< null in a filter block, where the body is
  ArgumentList arguments;
};

struct CallUse final : Expression {
  using Expression::Expression;
  Result<Value> compute(Run& run) const override;
  /// `caller` is the body of a call block, or null.
  Result<Value> call(Run& run, Object* caller) const;
  ExpressionPointer callee;
  const AttributeUse* attribute = nullptr;  ///< the callee, if it may be a method
  ArgumentList arguments;
};

struct Data final : Statement {
  using Statement::Statement;
  Result<Flow> perform(Run& run) const override;
  TracedText text;
};

struct Print final : Statement {
  using Statement::Statement;
  Result<Flow> perform(Run& run) const override;
  ExpressionPointer value;
};

struct Condition final : Statement {
  using Statement::Statement;
  Result<Flow> perform(Run& run) const override;
  std::vector<std::pair<ExpressionPointer, Body>> branches;
  Body otherwise;
};

struct Loop final : Statement {
  using Statement::Statement;
  Result<Flow> perform(Run& run) const override;
  Target target;
  ExpressionPointer iterable;
  ExpressionPointer filter;  ///< may be null
  bool is_recursive = false;
  NameId loop_name = 0;
  Body body, otherwise;
};

struct Assignment final : Statement {
  using Statement::Statement;
  Result<Flow> perform(Run& run) const override;
  Target target;
  ExpressionPointer value;
};

struct BlockAssignment final : Statement {
  using Statement::Statement;
  Result<Flow> perform(Run& run) const override;
  Target target;
  std::vector<std::unique_ptr<const BuiltinUse>> filters;
  Body body;
};

/// Parameters and body of a macro, or of a call block.
struct MacroSyntax {
  std::string name;
  std::vector<std::pair<NameId, std::string>> parameters;
  std::vector<ExpressionPointer> defaults;  ///< of the last parameters
  Body body;
  NameId caller = 0, varargs = 0, kwargs = 0;  ///< the numbers of these names
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};

struct MacroStatement final : Statement {
  using Statement::Statement;
  Result<Flow> perform(Run& run) const override;
  NameId name = 0;
  MacroSyntax macro;
};

struct CallStatement final : Statement {
  using Statement::Statement;
  Result<Flow> perform(Run& run) const override;
  MacroSyntax caller;
  std::unique_ptr<const CallUse> call;
};

struct FilterStatement final : Statement {
  using Statement::Statement;
  Result<Flow> perform(Run& run) const override;
  std::vector<std::unique_ptr<const BuiltinUse>> filters;
  Body body;
};

struct WithStatement final : Statement {
  using Statement::Statement;
  Result<Flow> perform(Run& run) const override;
  std::vector<std::pair<Target, ExpressionPointer>> values;
  Body body;
};

/// At the start of a block: names without a value until the block assigns one (name_frames.h).
struct HiddenNames final : Statement {
  using Statement::Statement;
  Result<Flow> perform(Run& run) const override;
  std::vector<NameId> names;
};

struct LoopExit final : Statement {
  using Statement::Statement;
  Result<Flow> perform(Run& run) const override;
  Flow flow = Flow::kBreak;
};

}  // namespace shunt::text::jinja
