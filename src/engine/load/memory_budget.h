// The limits of devices' memory after a device refused memory that it had reported as free.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/load/fit.h"

namespace shunt {

/// Limits for fit_model(), which fall after each refusal. All code that allocates memory by a Fit
/// goes through run(): it is the one loop that lowers a limit.
class MemoryBudget {
 public:
  /// The purpose of the memory, for messages.
  enum class For : std::uint8_t {
    kWeights,  ///< a refusal lowers the limit of the device
    kSession,  ///< the first refusal ends the overlap of steps, which takes less on every device
  };

  MemoryBudget(const DeviceSet& devices, For purpose);

  /// Calls attempt(budget) until it succeeds, or until its error is no refusal of memory that was
  /// planned with plan(), or no limit is left to be lowered. An attempt starts anew: it leaves
  /// nothing of a failed one. `log` gets a line for each refusal.
  template <class Attempt, class Log>
  auto run(const Attempt& attempt, const Log& log) -> decltype(attempt()) {
    while (true) {
      auto result = attempt();
      if (result) return result;
      const std::vector<std::string> lines = lower(result.error());
      if (lines.empty()) return result;
      for (const std::string& line : lines) {
        refusals_.push_back(line);
        log(line);
      }
    }
  }

  /// Puts the limits into a request.
  void limit(FitRequest& request) const;
  /// The memory that is to be allocated now. A refusal lowers the limits below it.
  void plan(const Fit& fit);
  /// A line for each refusal so far.
  const std::vector<std::string>& refusals() const { return refusals_; }

 private:
  struct Planned {
    PerDevice<std::uint64_t> bytes;
    bool overlap = false;
  };
  /// Lowers the limit of the device that the error names, or of all devices but the CPU if it names
  /// none. The refusals in lines; none if there is nothing to lower.
  std::vector<std::string> lower(const Error& error);

  const DeviceSet& devices_;
  For purpose_;
  PerDevice<std::uint64_t> caps_;
  PerDevice<int> attempts_;
  bool may_overlap_ = true;
  std::optional<Planned> planned_;
  std::vector<std::string> refusals_;
};

}  // namespace shunt
