/// \file
/// A trace: the actions of plans with their times and devices, recorded while plans run. Include it
/// to find the time that a step spends on each device and in each copy.
///
/// \code
/// SHUNT_ASSIGN(const std::shared_ptr<Trace> trace, Trace::create());
/// SHUNT_ASSIGN(const auto session, Session::create(model, {.trace = trace}));
/// SHUNT_TRY(session->append(tokens));
/// const std::vector<TraceAction> actions = trace->actions();
/// for (const TraceSpan& each : trace->spans()) {
///   std::cout << actions[each.action].name << ": " << each.times.end - each.times.begin << " s\n";
/// }
/// \endcode
///
/// Threads: a Trace may be used from many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/device.h"
#include "shunt/error.h"

namespace shunt {

/// The kind of an action.
enum class TraceKind : std::uint8_t {
  kSegment,  ///< nodes that were computed as a unit
  kWrite,    ///< from the host to a device
  kRead,     ///< from a device to the host
  kCopy,     ///< from a device to another
  kObserve,  ///< a node was shown to an observer
  kGather,   ///< the host found which slices of a weight to write next, such as experts in use
  kHost,     ///< work of the program itself: loading, sampling
};
/// "segment", "write", "read", "copy", "observe", "pick" (of kGather), "host".
std::string_view to_string(TraceKind kind);

/// The description of a repeated action, stored once.
struct TraceAction {
  TraceKind kind = TraceKind::kHost;
  std::string name = {};  ///< "first (matmul) to y (add)", "x (add)"
  /// The queue: a device's name, "NAME transfer" for its transfer queue, or "host".
  std::string stream = {};
  std::size_t segment = 0;
  std::size_t nodes = 0;   ///< of a segment; tensors of a copy
  std::string first = {};  ///< of a segment's nodes, else empty
  std::string last = {};
  std::vector<std::uint32_t> after = {};  ///< actions whose results it gets by or for a copy
  std::uint32_t plan = 0;                 ///< which declare() it came with, from 0
};

/// One time that an action was done.
struct TraceSpan {
  std::uint32_t action = 0;
  bool seen_by_host = false;  ///< times of the host, from submitting on: the device has none
  std::uint64_t step = 0;     ///< of its plan
  std::uint64_t bytes = 0;    ///< copied, at the sizes of the step
  WorkTimes times = {};
};

/// Options of Trace::create().
struct TraceOptions {
  /// Spans there is room for, all of it allocated at once. Spans beyond that are counted and
  /// left out.
  std::size_t capacity = std::size_t{1} << 18;
  /// Seconds, on the clock of the devices' times. Empty: std::chrono::steady_clock.
  std::function<double()> clock = {};
};

/// Collects the spans of plans and of the host's work, up to a capacity. May be used from many
/// threads.
class Trace {
 public:
  /// OutOfMemory if there is none for `spans` spans.
  static Result<std::shared_ptr<Trace>> create(TraceOptions options = {});

  /// Seconds on the clock of TraceOptions.
  double now() const { return options_.clock(); }
  /// The number of the first; the others follow. `after` counts from 0 among those given.
  std::uint32_t declare(std::vector<TraceAction> actions);
  /// An action of the host.
  std::uint32_t declare_host(std::string name);
  /// Allocates nothing.
  void add(std::span<const TraceSpan> spans);

  /// All so far, in the order in which they were declared and added.
  std::vector<TraceAction> actions() const;
  /// The same of spans.
  std::vector<TraceSpan> spans() const;
  /// Spans that there was no room for.
  std::uint64_t left_out() const;

 private:
  explicit Trace(TraceOptions options) : options_(std::move(options)) {}

  TraceOptions options_;
  mutable std::mutex mutex_;  // for all below
  std::uint32_t plans_ = 0;
  std::vector<TraceAction> actions_;
  std::vector<TraceSpan> spans_;
  std::uint64_t left_out_ = 0;
};

/// Records the host's work from here to the end of the scope; nothing if there is no trace.
class TraceScope {
 public:
  /// `action`: of declare_host(). `trace` may be null.
  TraceScope(Trace* trace, std::uint32_t action)
      : trace_(trace), action_(action), begin_(trace != nullptr ? trace->now() : 0) {}
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;
  ~TraceScope() {
    if (trace_ == nullptr) return;
    const TraceSpan span{.action = action_, .times = {begin_, trace_->now()}};
    trace_->add({&span, 1});
  }

 private:
  Trace* trace_;
  std::uint32_t action_;
  double begin_;
};

}  // namespace shunt
