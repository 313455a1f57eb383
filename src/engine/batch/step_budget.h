// How many tokens of prompts a step computes beside the tokens of running requests.
#pragma once

#include <cstdint>

namespace shunt {

/// Learns from measured steps. The time of a step is taken to be that of a step without prompts,
/// and a time for each token of a prompt. Where prompts never end, a step without them is made now
/// and then, to be measured.
class StepBudget {
 public:
  /// `interval`: seconds that a step may take; 0: twice a step without prompts, at least kLeast.
  explicit StepBudget(double interval) : interval_(interval) {}
  static constexpr double kLeast = 0.02;
  static constexpr int kOld = 32;
  static constexpr int kYoung = 4;

  /// A step of `generating` requests and `prompt` tokens of others took so long.
  void observe(std::int64_t generating, std::int64_t prompt, double seconds);
  /// Tokens of prompts in the next step, from 1 to `most`: all if no request generates. Else it is
  /// 0 where a step without prompts has to be measured. That is so if none was, or kOld steps with
  /// prompts ago. Or it was kYoung steps ago, with less than half or more than twice as many
  /// requests.
  std::int64_t prompt_tokens(std::int64_t generating, std::int64_t most) const;

 private:
  bool is_of_so_many(std::int64_t generating) const;

  double interval_;
  double base_ = 0;                 // seconds of a step without prompts
  std::int64_t base_requests_ = 0;  // of that step; 0: none was measured
  int base_age_ = 0;                // steps with prompts since it was measured
  double per_token_ = 0;            // seconds; 0: not known
};

}  // namespace shunt
