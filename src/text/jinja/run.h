// One rendering: its variables, its output, its bounds, and the objects that it owns.
#pragma once

#include <cstddef>
#include <ctime>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "shunt/error.h"
#include "text/jinja/budget.h"
#include "text/jinja/object.h"
#include "text/jinja/source.h"
#include "text/jinja/syntax.h"
#include "text/jinja/value.h"

namespace shunt::text::jinja {

/// Variables of a block. Reading goes on to the blocks around it, assigning does not.
class Scope {
 public:
  explicit Scope(std::shared_ptr<const Scope> around) : around_(std::move(around)) {}

  const Value* find(NameId name) const;
  void set(NameId name, Value value);

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t index_of(NameId name) const;

  std::shared_ptr<const Scope> around_;
  std::vector<std::pair<NameId, Value>> variables_;
  std::unordered_map<NameId, std::size_t> by_name_;  ///< once there are many
};

class Run {
 public:
  struct Bounds {
    std::uint64_t steps;
    std::size_t depth;
    std::size_t value_bytes;
    std::size_t result_bytes;
  };
  Run(const Source& source, const Bounds& bounds, std::function<std::tm()> clock);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run();

  Budget& budget() { return budget_; }
  std::tm now() const { return clock_(); }
  /// The error with its line and column.
  Error locate(std::size_t at, Error error) const { return source_.locate(at, std::move(error)); }

  Scope& scope() { return *scope_; }
  const std::shared_ptr<Scope>& shared_scope() const { return scope_; }

  /// Appends to the output at hand.
  Status print(const Value& value);
  Status print(const TracedText& text);

  /// Keeps an object until the end.
  template <class T, class... Args>
  T* own(Args&&... args) {
    auto object = std::make_unique<T>(std::forward<Args>(args)...);
    T* result = object.get();
    objects_.push_back(std::move(object));
    return result;
  }

 private:
  friend class ScopeGuard;
  friend class OutputGuard;
  friend class DepthGuard;
  Status check_output();

  const Source& source_;
  Bounds bounds_;
  Budget budget_;
  std::function<std::tm()> clock_;
  std::shared_ptr<Scope> scope_;
  TracedText* out_ = nullptr;
  std::size_t depth_ = 0;
  std::vector<std::unique_ptr<Object>> objects_;
};

/// Makes a scope the current one for as long as it lives.
class ScopeGuard {
 public:
  ScopeGuard(Run& run, std::shared_ptr<Scope> scope)
      : run_(run), before_(std::exchange(run.scope_, std::move(scope))) {}
  /// A new scope within the current one.
  explicit ScopeGuard(Run& run) : ScopeGuard(run, std::make_shared<Scope>(run.scope_)) {}
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;
  ~ScopeGuard() { run_.scope_ = std::move(before_); }

 private:
  Run& run_;
  std::shared_ptr<Scope> before_;
};

/// Collects the output of the run for as long as it lives.
class OutputGuard {
 public:
  OutputGuard(Run& run, TracedText& out) : run_(run), before_(std::exchange(run.out_, &out)) {}
  OutputGuard(const OutputGuard&) = delete;
  OutputGuard& operator=(const OutputGuard&) = delete;
  ~OutputGuard() { run_.out_ = before_; }

 private:
  Run& run_;
  TracedText* before_;
};

/// Evaluates within the bounds of depth and steps.
Result<Value> evaluate(const Expression& expression, Run& run);
Result<Flow> execute(const Statement& statement, Run& run);
Result<Flow> execute(const Body& body, Run& run);
/// The output of the body.
Result<Value> capture(const Body& body, Run& run);

/// Assigns in the current scope.
Status assign(const Target& target, const Value& value, Run& run);

/// The elements that a loop has. An iterator is used up by it. Undefined has none; invalid argument
/// for a value that is no container.
Result<SequencePointer> elements_of(const Value& value, Budget& budget);

/// object.name, as Jinja looks it up: methods first. Invalid argument for an undefined object.
Result<Value> attribute_of(Run& run, const Value& object, const std::string& name);
/// object[index]. Undefined if there is none; invalid argument for an undefined object.
Result<Value> item_of(Run& run, const Value& object, const Value& index);

struct SliceRange {
  const Value* start;
  const Value* stop;
  const Value* step;
};
/// object[start:stop:step]
Result<Value> slice_of(Run& run, const Value& object, const SliceRange& range);

}  // namespace shunt::text::jinja
