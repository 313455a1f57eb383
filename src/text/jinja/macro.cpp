// Macros, and blocks that are given to them ("call").
#include <algorithm>
#include <optional>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/run.h"
#include "text/jinja/syntax.h"

namespace shunt::text::jinja {
namespace {

/// A macro as a value. Its body sees the variables around its definition.
class MacroObject final : public Object {
 public:
  /// `is_named`: not the body of a call block.
  MacroObject(const MacroSyntax& syntax, std::shared_ptr<Scope> around, bool is_named)
      : syntax_(syntax), around_(std::move(around)), is_named_(is_named) {}

  std::string_view type_name() const override { return "Macro"; }
  std::string shown() const override {
    return is_named_ ? fmt::format("<Macro '{}'>", syntax_.name) : "<Macro anonymous>";
  }
  bool is_callable() const override { return true; }
  bool places_errors() const override { return is_placed_; }
  std::optional<Value> attribute(Run&, std::string_view name) override {
    if (name != "name") return std::nullopt;
    return Value::text(syntax_.name, true);
  }
  Result<Value> call(Run& run, Arguments&& arguments) override;
  void release() override { around_.reset(); }

 private:
  Status bind(Run& run, Arguments& arguments) const;
  Status bind_others(Run& run, Arguments& arguments) const;

  const MacroSyntax& syntax_;
  std::shared_ptr<Scope> around_;
  bool is_named_;
  bool is_placed_ = false;  ///< the last call's error came from the body
};

/// Takes out a named argument; false if there is none.
bool take_named(Arguments& arguments, std::string_view name, Value& value) {
  auto& named = arguments.named;
  const auto found = std::find_if(named.begin(), named.end(),
                                  [&](const auto& each) { return each.first == name; });
  if (found == named.end()) return false;
  value = std::move(found->second);
  named.erase(found);
  return true;
}

/// caller, varargs and kwargs.
Status MacroObject::bind_others(Run& run, Arguments& arguments) const {
  const std::size_t count = syntax_.parameters.size();
  Scope& scope = run.scope();
  if (syntax_.uses_caller) {
    Value caller;
    take_named(arguments, "caller", caller);
    scope.set(syntax_.caller, std::move(caller));
  }
  if (syntax_.uses_kwargs) {
    Mapping rest;
    for (auto& [name, value] : arguments.named) {
      rest.set(Value::text(name, true), std::move(value), run.budget());
    }
    SHUNT_ASSIGN(Value value, make_mapping(std::move(rest)));
    scope.set(syntax_.kwargs, std::move(value));
  } else if (!arguments.named.empty()) {
    return invalid("the macro \"{}\" has no parameter \"{}\"", syntax_.name,
                   arguments.named.front().first);
  }
  if (syntax_.uses_varargs) {
    auto& values = arguments.positional;
    const auto used = static_cast<std::ptrdiff_t>(std::min(count, values.size()));
    std::vector<Value> rest(values.begin() + used, values.end());
    SHUNT_ASSIGN(Value value, make_sequence(std::move(rest), Sequence::Kind::kTuple));
    scope.set(syntax_.varargs, std::move(value));
  } else if (arguments.positional.size() > count) {
    return invalid("the macro \"{}\" takes {}, not {}", syntax_.name, counted(count, "argument"),
                   arguments.positional.size());
  }
  return ok();
}

Status MacroObject::bind(Run& run, Arguments& arguments) const {
  const std::size_t count = syntax_.parameters.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [id, name] = syntax_.parameters[i];
    const std::size_t first_default = count - syntax_.defaults.size();
    Value value;
    if (i < arguments.positional.size()) {
      value = arguments.positional[i];
    } else if (!take_named(arguments, name, value) && i >= first_default) {
      SHUNT_ASSIGN(value, evaluate(*syntax_.defaults[i - first_default], run));
    }
    run.scope().set(id, std::move(value));
  }
  return ok();
}

Result<Value> MacroObject::call(Run& run, Arguments&& arguments) {
  const ScopeGuard scope(run, std::make_shared<Scope>(around_));
  is_placed_ = true;
  SHUNT_TRY(bind(run, arguments));
  auto bound = bind_others(run, arguments);
  if (!bound) {
    is_placed_ = false;
    return std::move(bound.error());
  }
  auto text = capture(syntax_.body, run);
  is_placed_ = true;
  return text;
}

}  // namespace

Result<Flow> MacroStatement::perform(Run& run) const {
  run.scope().set(
      name, Value(static_cast<Object*>(run.own<MacroObject>(macro, run.shared_scope(), true))));
  return Flow::kNext;
}

Result<Flow> CallStatement::perform(Run& run) const {
  Object* body = run.own<MacroObject>(caller, run.shared_scope(), false);
  SHUNT_ASSIGN(const Value text, call->call(run, body));
  if (auto printed = run.print(text); !printed) return run.locate(at, std::move(printed.error()));
  return Flow::kNext;
}

}  // namespace shunt::text::jinja
