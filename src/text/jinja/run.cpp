#include "text/jinja/run.h"

#include <algorithm>

#include "shunt/message.h"

namespace shunt::text::jinja {

std::size_t Scope::index_of(NameId name) const {
  if (!by_name_.empty()) {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? kNone : found->second;
  }
  const auto found = std::find_if(variables_.begin(), variables_.end(),
                                  [name](const auto& each) { return each.first == name; });
  return found == variables_.end() ? kNone : static_cast<std::size_t>(found - variables_.begin());
}

const Value* Scope::find(NameId name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->around_.get()) {
    const std::size_t index = scope->index_of(name);
    if (index != kNone) return &scope->variables_[index].second;
  }
  return nullptr;
}

void Scope::set(NameId name, Value value) {
  constexpr std::size_t kIndexedFrom = 24;
  const std::size_t index = index_of(name);
  if (index != kNone) {
    variables_[index].second = std::move(value);
    return;
  }
  variables_.emplace_back(name, std::move(value));
  if (variables_.size() == kIndexedFrom) {
    for (std::size_t i = 0; i < variables_.size(); ++i) by_name_[variables_[i].first] = i;
  } else if (variables_.size() > kIndexedFrom) {
    by_name_[name] = variables_.size() - 1;
  }
}

Run::Run(const Source& source, const Bounds& bounds, std::function<std::tm()> clock)
    : source_(source),
      bounds_(bounds),
      budget_(bounds.steps, bounds.value_bytes),
      clock_(std::move(clock)),
      scope_(std::make_shared<Scope>(nullptr)) {}

Run::~Run() {
  for (const auto& object : objects_) object->release();
}

Status Run::check_output() {
  if (out_->size() <= bounds_.result_bytes) return ok();
  return invalid("the result is larger than the limit of {} bytes", bounds_.result_bytes);
}

Status Run::print(const Value& value) {
  SHUNT_TRY(append_text(*out_, value, budget_));
  return check_output();
}

Status Run::print(const TracedText& text) {
  out_->append(text);
  return check_output();
}

/// Counts a level of nested evaluation.
class DepthGuard {
 public:
  explicit DepthGuard(Run& run) : run_(run) { ++run_.depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
  ~DepthGuard() { --run_.depth_; }

  Status check() const {
    if (!run_.budget_.spend(1)) return run_.budget_.spent();
    if (run_.depth_ > run_.bounds_.depth) {
      return invalid("calls and blocks are nested more than {} deep", run_.bounds_.depth);
    }
    return ok();
  }

 private:
  Run& run_;
};

Result<Value> evaluate(const Expression& expression, Run& run) {
  const DepthGuard depth(run);
  if (auto inside = depth.check(); !inside) {
    return run.locate(expression.at, std::move(inside.error()));
  }
  return expression.compute(run);
}

Result<Flow> execute(const Statement& statement, Run& run) {
  const DepthGuard depth(run);
  if (auto inside = depth.check(); !inside) {
    return run.locate(statement.at, std::move(inside.error()));
  }
  return statement.perform(run);
}

Result<Flow> execute(const Body& body, Run& run) {
  for (const auto& statement : body) {
    SHUNT_ASSIGN(const Flow flow, execute(*statement, run));
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<Value> capture(const Body& body, Run& run) {
  TracedText text;
  const OutputGuard output(run, text);
  SHUNT_TRY(execute(body, run));
  return Value::text(std::move(text));
}

}  // namespace shunt::text::jinja
