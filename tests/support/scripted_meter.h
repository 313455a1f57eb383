// A meter of peaks that gives the results that a test sets.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "shunt/peaks.h"

namespace shunt::test {

class ScriptedMeter final : public PeakMeter {
 public:
  /// The measured rates of each peak, one time after the other; the last one stays.
  std::map<Peak, std::vector<double>> script;
  std::optional<Error> error;  ///< of every measurement; none: they work
  std::size_t measured = 0;    ///< how often something was
  double seconds = 0;          ///< of all measurements

  int threads() const override { return 3; }
  Result<PeakRate> measure(Peak peak, double for_seconds) override {
    if (error) return *error;
    ++measured;
    seconds += for_seconds;
    const std::vector<double>& rates = script.at(peak);
    std::size_t& next = next_[peak];
    const double rate = rates[std::min(next, rates.size() - 1)];
    ++next;
    return PeakRate{rate, "script", false};
  }

 private:
  std::map<Peak, std::size_t> next_;
};

}  // namespace shunt::test
