// How many tokens of prompts a step computes beside the tokens of running requests.
#pragma once

#include <cstdint>

namespace shunt {

/// Learns from measured steps. The time of a step is taken to be that of a step without prompts,
/// and a time for each token of a prompt.
class StepBudget {
 public:
  /// `interval`: seconds that a step may take; 0: twice a step without prompts, at least kLeast.
  explicit StepBudget(double interval) : interval_(interval) {}
  static constexpr double kLeast = 0.02;

  /// A step of `generating` requests and `prompt` tokens of others took so long.
  void observe(std::int64_t generating, std::int64_t prompt, double seconds);
  /// Tokens of prompts in the next step, from 1 to `most`. All if no request generates.
  std::int64_t prompt_tokens(std::int64_t generating, std::int64_t most) const;

 private:
  double interval_;
  double base_ = 0;       // seconds of a step without prompts; 0: not known
  double per_token_ = 0;  // seconds; 0: not known
};

}  // namespace shunt
