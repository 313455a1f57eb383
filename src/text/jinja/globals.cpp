// Global functions.
#include <array>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/builtin.h"
#include "text/jinja/namespace_object.h"
#include "text/jinja/operators.h"
#include "text/jinja/run.h"

namespace shunt::text::jinja {
namespace {

/// As in Jinja's sandbox.
constexpr std::int64_t kLongestRange = 100000;

Result<Value> make_range(const Inputs& inputs) {
  SHUNT_ASSIGN(const std::int64_t first, inputs.integer(0, 0));
  SHUNT_ASSIGN(const std::int64_t second, inputs.integer(1, 0));
  SHUNT_ASSIGN(const std::int64_t step, inputs.integer(2, 1));
  const std::int64_t start = inputs[1] == nullptr ? 0 : first;
  const std::int64_t stop = inputs[1] == nullptr ? first : second;
  if (step == 0) return invalid("the step of range() can't be 0");
  std::vector<Value> items;
  std::int64_t next = start;
  while (step > 0 ? next < stop : next > stop) {
    if (static_cast<std::int64_t>(items.size()) == kLongestRange) {
      return invalid("a range has more than {} elements", kLongestRange);
    }
    items.emplace_back(next);
    if (__builtin_add_overflow(next, step, &next)) break;
  }
  SHUNT_TRY(inputs.run.budget().make(items.size() * sizeof(Value)));
  return make_range_of(std::move(items), {start, stop, step});
}

/// dict(pairs, name=value): `set` takes each key and value.
template <class Set>
Status take_entries(const Inputs& inputs, Set set) {
  Budget& budget = inputs.run.budget();
  if (inputs.all.positional.size() > 1) return invalid("expected one mapping at most");
  for (const Value& from : inputs.all.positional) {
    if (const Mapping* mapping = from.as_mapping()) {
      for (const auto& [key, value] : mapping->entries()) SHUNT_TRY(set(key, value));
      continue;
    }
    SHUNT_TRY(require_defined(from));
    SHUNT_ASSIGN(const SequencePointer pairs, elements_of(from, budget));
    for (const Value& pair : pairs->items) {
      SHUNT_ASSIGN(const SequencePointer parts, elements_of(pair, budget));
      if (parts->items.size() != 2) return invalid("expected pairs of a key and a value");
      SHUNT_TRY(set(parts->items[0], parts->items[1]));
    }
  }
  for (const auto& [name, value] : inputs.all.named) {
    SHUNT_TRY(set(Value::text(name, true), value));
  }
  return ok();
}

Result<Value> make_dict(const Inputs& inputs) {
  Mapping mapping;
  Budget& budget = inputs.run.budget();
  SHUNT_TRY(take_entries(inputs, [&](const Value& key, const Value& value) -> Status {
    if (!is_hashable(key)) return invalid("a '{}' is no key of a dict", type_name(key));
    if (!budget.spend(1)) return budget.spent();
    mapping.set(key, value, budget);
    return ok();
  }));
  return make_mapping(std::move(mapping));
}

Result<Value> make_namespace(const Inputs& inputs) {
  auto* space = inputs.run.own<NamespaceObject>();
  SHUNT_TRY(take_entries(inputs, [&](const Value& key, const Value& value) -> Status {
    const TracedText* name = key.as_text();
    if (name == nullptr) return invalid("names in a namespace are texts");
    if (!inputs.run.budget().spend(1)) return inputs.run.budget().spent();
    space->set(name->view(), value);
    return ok();
  }));
  return Value(static_cast<Object*>(space));
}

/// Nothing when it is called first, then always its text.
class JoinerObject final : public Object {
 public:
  explicit JoinerObject(Value separator) : separator_(std::move(separator)) {}
  std::string_view type_name() const override { return "Joiner"; }
  bool is_callable() const override { return true; }
  Result<Value> call(Run&, Arguments&&) override {
    return std::exchange(used_, true) ? separator_ : Value::text(std::string(), true);
  }
  void release() override { separator_ = Value(); }

 private:
  Value separator_;
  bool used_ = false;
};

Result<Value> make_joiner(const Inputs& inputs) {
  Value separator = inputs[0] == nullptr ? Value::text(", ", true) : *inputs[0];
  return Value(static_cast<Object*>(inputs.run.own<JoinerObject>(std::move(separator))));
}

/// Gives its values in turn.
class CyclerObject final : public Object {
 public:
  explicit CyclerObject(std::vector<Value> values) : values_(std::move(values)) {}
  std::string_view type_name() const override { return "Cycler"; }
  std::optional<Value> attribute(Run& run, std::string_view name) override;
  void release() override { values_.clear(); }

  const Value& current() const { return values_[index_]; }
  Value next() {
    Value value = current();
    index_ = (index_ + 1) % values_.size();
    return value;
  }
  void reset() { index_ = 0; }

 private:
  std::vector<Value> values_;  ///< not empty
  std::size_t index_ = 0;
};

/// cycler().next and cycler().reset
class CyclerMethod final : public Object {
 public:
  CyclerMethod(CyclerObject& cycler, bool is_next) : cycler_(cycler), is_next_(is_next) {}
  std::string_view type_name() const override { return "method"; }
  bool is_callable() const override { return true; }
  Result<Value> call(Run&, Arguments&&) override {
    if (is_next_) return cycler_.next();
    cycler_.reset();
    return Value(None{});
  }

 private:
  CyclerObject& cycler_;
  bool is_next_;
};

std::optional<Value> CyclerObject::attribute(Run& run, std::string_view name) {
  if (name == "current") return current();
  if (name != "next" && name != "reset") return std::nullopt;
  return Value(static_cast<Object*>(run.own<CyclerMethod>(*this, name == "next")));
}

Result<Value> make_cycler(const Inputs& inputs) {
  if (inputs.all.positional.empty()) return invalid("cycler() needs values");
  return Value(static_cast<Object*>(inputs.run.own<CyclerObject>(inputs.all.positional)));
}

Result<Value> raise(const Inputs& inputs) {
  TracedText message;
  SHUNT_TRY(append_text(message, *inputs[0], inputs.run.budget()));
  constexpr std::size_t kLongestMessage = 1000;
  return Error(ErrorCode::kInvalidArgument, std::string(message.view().substr(0, kLongestMessage)));
}

Result<Value> format_time(const Inputs& inputs) {
  SHUNT_ASSIGN(const TracedText* format, inputs.text(0));
  constexpr std::size_t kLongestFormat = 200;
  if (format == nullptr || format->size() > kLongestFormat) {
    return invalid("strftime_now() needs a format of at most {} bytes", kLongestFormat);
  }
  // Microseconds are not C's; a space behind tells an empty result from too little room.
  std::string pattern(format->view());
  for (std::size_t at = 0; (at = pattern.find('%', at)) != std::string::npos;) {
    const bool is_fraction = pattern.compare(at, 2, "%f") == 0;
    if (is_fraction) pattern.replace(at, 2, "000000");
    at += 2;
    if (at > pattern.size()) break;
  }
  pattern += ' ';
  const std::tm now = inputs.run.now();
  std::array<char, 32768> room{};
  const std::size_t size = std::strftime(room.data(), room.size(), pattern.c_str(), &now);
  if (size == 0) return invalid("the format of strftime_now() is too long");
  return Value::text(std::string(room.data(), size - 1), true);
}

constexpr std::array kGlobals = {
    Builtin{"range", "start! stop step", make_range},
    Builtin{"namespace", "*", make_namespace},
    Builtin{"dict", "*", make_dict},
    Builtin{"joiner", "sep", make_joiner},
    Builtin{"cycler", "*", make_cycler},
    Builtin{"raise_exception", "message!", raise},
    Builtin{"strftime_now", "format!", format_time},
};

}  // namespace

std::span<const Builtin> globals() {
  return kGlobals;
}

}  // namespace shunt::text::jinja
