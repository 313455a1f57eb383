// The "for" statement and its variable "loop".
#include <array>
#include <optional>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/run.h"
#include "text/jinja/syntax.h"

namespace shunt::text::jinja {
namespace {

/// The variable "loop".
class LoopObject final : public Object {
 public:
  LoopObject(const Loop& syntax, SequencePointer items, std::shared_ptr<Scope> outside,
             std::int64_t depth)
      : syntax_(syntax), items_(std::move(items)), outside_(std::move(outside)), depth_(depth) {}

  std::string_view type_name() const override { return "LoopContext"; }
  std::string shown() const override {
    return fmt::format("<LoopContext {}/{}>", index_ + 1, size());
  }
  bool is_callable() const override { return true; }
  bool places_errors() const override { return syntax_.is_recursive; }
  std::optional<Value> attribute(Run& run, std::string_view name) override;
  /// Renders the loop again for other items.
  Result<Value> call(Run& run, Arguments&& arguments) override;
  void release() override {
    items_.reset();
    outside_.reset();
    last_.clear();
  }

  /// Runs all iterations.
  Result<Flow> walk(Run& run);
  Result<bool> has_changed(Run& run, std::vector<Value> values);
  std::int64_t index() const { return index_; }

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(items_->items.size()); }
  Value item(std::int64_t index) const {
    if (index < 0 || index >= size()) return Value(Undefined{nullptr, "of a loop is not there"});
    return items_->items[static_cast<std::size_t>(index)];
  }
  struct Attribute {
    std::string_view name;
    Value (*get)(const LoopObject&);
  };
  static const std::array<Attribute, 11> kAttributes;

  const Loop& syntax_;
  SequencePointer items_;
  std::shared_ptr<Scope> outside_;
  std::int64_t depth_;
  std::int64_t index_ = 0;
  std::vector<Value> last_;  ///< arguments of the last changed()
  bool asked_ = false;       ///< whether there was one
};

const std::array<LoopObject::Attribute, 11> LoopObject::kAttributes = {{
    {"index", [](const LoopObject& loop) { return Value(loop.index_ + 1); }},
    {"index0", [](const LoopObject& loop) { return Value(loop.index_); }},
    {"revindex", [](const LoopObject& loop) { return Value(loop.size() - loop.index_); }},
    {"revindex0", [](const LoopObject& loop) { return Value(loop.size() - loop.index_ - 1); }},
    {"first", [](const LoopObject& loop) { return Value(loop.index_ == 0); }},
    {"last", [](const LoopObject& loop) { return Value(loop.index_ + 1 == loop.size()); }},
    {"length", [](const LoopObject& loop) { return Value(loop.size()); }},
    {"depth", [](const LoopObject& loop) { return Value(loop.depth_ + 1); }},
    {"depth0", [](const LoopObject& loop) { return Value(loop.depth_); }},
    {"previtem", [](const LoopObject& loop) { return loop.item(loop.index_ - 1); }},
    {"nextitem", [](const LoopObject& loop) { return loop.item(loop.index_ + 1); }},
}};

/// loop.cycle and loop.changed
class LoopMethod final : public Object {
 public:
  LoopMethod(LoopObject& loop, bool is_cycle) : loop_(loop), is_cycle_(is_cycle) {}

  std::string_view type_name() const override { return "method"; }
  bool is_callable() const override { return true; }
  Result<Value> call(Run& run, Arguments&& arguments) override {
    if (!is_cycle_) {
      SHUNT_ASSIGN(const bool changed, loop_.has_changed(run, std::move(arguments.positional)));
      return Value(changed);
    }
    const auto count = static_cast<std::int64_t>(arguments.positional.size());
    if (count == 0) return invalid("loop.cycle() needs values");
    return arguments.positional[static_cast<std::size_t>(loop_.index() % count)];
  }

 private:
  LoopObject& loop_;
  bool is_cycle_;
};

std::optional<Value> LoopObject::attribute(Run& run, std::string_view name) {
  for (const Attribute& each : kAttributes) {
    if (each.name == name) return each.get(*this);
  }
  const bool is_cycle = name == "cycle";
  if (!is_cycle && name != "changed") return std::nullopt;
  return Value(static_cast<Object*>(run.own<LoopMethod>(*this, is_cycle)));
}

Result<bool> LoopObject::has_changed(Run& run, std::vector<Value> values) {
  bool same = asked_ && values.size() == last_.size();
  for (std::size_t i = 0; same && i < values.size(); ++i) {
    same = equal(values[i], last_[i], run.budget());
  }
  asked_ = true;
  last_ = std::move(values);
  return !same;
}

/// The items that the loop's own filter lets through.
Result<SequencePointer> filtered(const Loop& loop, SequencePointer items, Run& run) {
  if (loop.filter == nullptr) return items;
  auto kept = std::make_shared<Sequence>();
  for (const Value& item : items->items) {
    const ScopeGuard scope(run);
    SHUNT_TRY(assign(loop.target, item, run));
    SHUNT_ASSIGN(const Value passes, evaluate(*loop.filter, run));
    if (is_true(passes)) kept->items.push_back(item);
  }
  return SequencePointer(std::move(kept));
}

/// The loop over the elements of `value`, at a level of recursion.
Result<Flow> run_loop(const Loop& loop, const Value& value, std::int64_t depth, Run& run) {
  auto elements = elements_of(value, run.budget());
  if (!elements) return run.locate(loop.iterable->at, std::move(elements.error()));
  SHUNT_ASSIGN(SequencePointer items, filtered(loop, std::move(*elements), run));
  auto* object = run.own<LoopObject>(loop, std::move(items), run.shared_scope(), depth);
  return object->walk(run);
}

Result<Flow> LoopObject::walk(Run& run) {
  bool completed = false;
  for (index_ = 0; index_ < size(); ++index_) {
    const ScopeGuard scope(run, std::make_shared<Scope>(outside_));
    run.scope().set(syntax_.loop_name, Value(static_cast<Object*>(this)));
    SHUNT_TRY(assign(syntax_.target, item(index_), run));
    SHUNT_ASSIGN(const Flow flow, execute(syntax_.body, run));
    if (flow == Flow::kBreak) break;
    // As in Jinja, iterations that "continue" leaves don't count.
    completed |= flow == Flow::kNext;
  }
  if (completed) return Flow::kNext;
  const ScopeGuard scope(run, std::make_shared<Scope>(outside_));
  return execute(syntax_.otherwise, run);
}

Result<Value> LoopObject::call(Run& run, Arguments&& arguments) {
  if (!syntax_.is_recursive) {
    return invalid("a loop that calls itself needs the word \"recursive\"");
  }
  if (arguments.positional.size() != 1) {
    return run.locate(syntax_.at, invalid("loop() needs one argument"));
  }
  TracedText text;
  const OutputGuard output(run, text);
  const ScopeGuard scope(run, outside_);
  SHUNT_TRY(run_loop(syntax_, arguments.positional.front(), depth_ + 1, run));
  return Value::text(std::move(text));
}

}  // namespace

Result<Flow> Loop::perform(Run& run) const {
  SHUNT_ASSIGN(const Value value, evaluate(*iterable, run));
  return run_loop(*this, value, 0, run);
}

}  // namespace shunt::text::jinja
