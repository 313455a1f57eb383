// Execution of statements, except loops and macros.
#include <utility>

#include "shunt/message.h"
#include "text/jinja/namespace_object.h"
#include "text/jinja/run.h"
#include "text/jinja/syntax.h"

namespace shunt::text::jinja {
namespace {

/// The value, or the error with its place.
template <class T>
Result<T> placed_at(std::size_t at, Run& run, Result<T> result) {
  if (!result) return run.locate(at, std::move(result.error()));
  return result;
}

Result<Value> apply_filters(const std::vector<std::unique_ptr<const BuiltinUse>>& filters,
                            Value value, Run& run) {
  for (const auto& filter : filters) {
    SHUNT_ASSIGN(value, filter->apply(run, value));
  }
  return value;
}

/// The output of the body, in a scope of its own.
Result<Value> capture_inside(const Body& body, Run& run) {
  const ScopeGuard scope(run);
  return capture(body, run);
}

Status unpack(const Target& target, const Value& value, Run& run) {
  SHUNT_ASSIGN(const SequencePointer elements,
               placed_at(target.at, run, elements_of(value, run.budget())));
  const std::size_t wanted = target.elements.size();
  if (elements->items.size() != wanted) {
    return run.locate(target.at,
                      invalid("{} to be assigned to {}", counted(elements->items.size(), "value"),
                              counted(wanted, "name")));
  }
  for (std::size_t i = 0; i < wanted; ++i) {
    SHUNT_TRY(assign(target.elements[i], elements->items[i], run));
  }
  return ok();
}

}  // namespace

Status assign(const Target& target, const Value& value, Run& run) {
  if (target.kind == Target::Kind::kTuple) return unpack(target, value, run);
  if (target.kind == Target::Kind::kName) {
    run.scope().set(target.name, value);
    return ok();
  }
  const Value* found = run.scope().find(target.name);
  Object* const* object = found == nullptr ? nullptr : found->as<Object*>();
  auto* space = object == nullptr ? nullptr : dynamic_cast<NamespaceObject*>(*object);
  if (space == nullptr) {
    return run.locate(target.at, invalid("attributes of a namespace() only can be assigned to"));
  }
  space->set(target.attribute, value);
  return ok();
}

Result<Flow> Data::perform(Run& run) const {
  SHUNT_TRY(placed_at(at, run, run.print(text)));
  return Flow::kNext;
}

Result<Flow> Print::perform(Run& run) const {
  SHUNT_ASSIGN(const Value result, evaluate(*value, run));
  SHUNT_TRY(placed_at(at, run, run.print(result)));
  return Flow::kNext;
}

Result<Flow> Condition::perform(Run& run) const {
  for (const auto& [test, body] : branches) {
    SHUNT_ASSIGN(const Value decision, evaluate(*test, run));
    if (is_true(decision)) return execute(body, run);
  }
  return execute(otherwise, run);
}

Result<Flow> Assignment::perform(Run& run) const {
  SHUNT_ASSIGN(const Value result, evaluate(*value, run));
  SHUNT_TRY(assign(target, result, run));
  return Flow::kNext;
}

Result<Flow> BlockAssignment::perform(Run& run) const {
  SHUNT_ASSIGN(Value text, capture_inside(body, run));
  SHUNT_ASSIGN(text, apply_filters(filters, std::move(text), run));
  SHUNT_TRY(assign(target, text, run));
  return Flow::kNext;
}

Result<Flow> FilterStatement::perform(Run& run) const {
  SHUNT_ASSIGN(Value text, capture_inside(body, run));
  SHUNT_ASSIGN(text, apply_filters(filters, std::move(text), run));
  if (text.as_text() == nullptr) {
    return run.locate(at,
                      invalid("the filters of a block give a '{}', not a str", type_name(text)));
  }
  SHUNT_TRY(placed_at(at, run, run.print(text)));
  return Flow::kNext;
}

Result<Flow> WithStatement::perform(Run& run) const {
  std::vector<Value> results;
  for (const auto& [target, expression] : values) {
    SHUNT_ASSIGN(Value result, evaluate(*expression, run));
    results.push_back(std::move(result));
  }
  const ScopeGuard scope(run);
  for (std::size_t i = 0; i < results.size(); ++i) {
    SHUNT_TRY(assign(values[i].first, results[i], run));
  }
  return execute(body, run);
}

Result<Flow> HiddenNames::perform(Run& run) const {
  if (!run.budget().spend(names.size() + 1)) return run.locate(at, run.budget().spent());
  for (const NameId name : names) run.scope().set(name, Value());
  return Flow::kNext;
}

Result<Flow> LoopExit::perform(Run&) const {
  return flow;
}

}  // namespace shunt::text::jinja
