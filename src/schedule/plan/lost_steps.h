// The steps that are lost when one fails.
#pragma once

#include <cstdint>

#include "shunt/error.h"

namespace shunt {

/// A failed step may leave wrong data in caches. So every step that starts before the caller knows
/// of the failure is lost with it.
class LostSteps {
 public:
  /// The error of a step that starts now: that of a failed step, if no wait() has returned an error
  /// since.
  const Status& inherited() const { return unreported_; }
  /// A step could not be submitted.
  void add(const Status& failed) { unreported_ = failed; }
  /// A step failed that was finished without wait(), because its memory is needed.
  void add_finished(std::uint64_t step, const Status& failed) {
    if (step >= reported_) unreported_ = failed;
  }
  /// A wait() returns an error. `next_step`: the first that has not started.
  void report(std::uint64_t next_step) {
    unreported_ = ok();
    reported_ = next_step;
  }

 private:
  Status unreported_;
  std::uint64_t reported_ = 0;  // steps before it had started when a wait() returned an error
};

}  // namespace shunt
