#include "shunt/trace.h"

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "base/enum_table.h"
#include "base/guarded.h"

namespace shunt {

std::string_view to_string(TraceKind kind) {
  static constexpr std::array<std::string_view, 7> kNames = {"segment", "write", "read", "copy",
                                                             "observe", "pick",  "host"};
  return name_in(kNames, kind);
}

Result<std::shared_ptr<Trace>> Trace::create(TraceOptions options) {
  return guarded([&]() -> Result<std::shared_ptr<Trace>> {
    if (!options.clock) options.clock = steady_seconds;
    std::shared_ptr<Trace> trace(new Trace(std::move(options)));
    trace->spans_.reserve(trace->options_.capacity);
    return trace;
  });
}

std::uint32_t Trace::declare(std::vector<TraceAction> actions) {
  const std::lock_guard lock(mutex_);
  const auto first = static_cast<std::uint32_t>(actions_.size());
  for (TraceAction& action : actions) {
    action.plan = plans_;
    for (std::uint32_t& other : action.after) other += first;
    actions_.push_back(std::move(action));
  }
  ++plans_;
  return first;
}

std::uint32_t Trace::declare_host(std::string name) {
  TraceAction action;
  action.name = std::move(name);
  action.stream = "host";
  return declare({action});
}

void Trace::add(std::span<const TraceSpan> spans) {
  const std::lock_guard lock(mutex_);
  const std::size_t room = std::min(spans.size(), options_.capacity - spans_.size());
  spans_.insert(spans_.end(), spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(room));
  left_out_ += spans.size() - room;
}

std::vector<TraceAction> Trace::actions() const {
  const std::lock_guard lock(mutex_);
  return actions_;
}

std::vector<TraceSpan> Trace::spans() const {
  const std::lock_guard lock(mutex_);
  return spans_;
}

std::uint64_t Trace::left_out() const {
  const std::lock_guard lock(mutex_);
  return left_out_;
}

}  // namespace shunt
