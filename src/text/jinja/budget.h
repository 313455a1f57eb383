// The bounds of one rendering: a template from a file must not use up time or memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shunt/error.h"

namespace shunt::text::jinja {

class Budget {
 public:
  /// `value_bytes` is the most of a text, and of a list's elements.
  Budget(std::uint64_t steps, std::size_t value_bytes)
      : steps_(steps), all_steps_(steps), value_bytes_(value_bytes) {}

  /// False if there are fewer steps left. Then there are none left.
  bool spend(std::uint64_t steps) {
    const bool enough = steps <= steps_;
    steps_ = enough ? steps_ - steps : 0;
    return enough && steps_ > 0;
  }
  bool is_spent() const { return steps_ == 0; }
  Error spent() const;

  /// Before something of this size is made or searched: it takes steps, and has a limit.
  Status make(std::size_t bytes);
  /// Whether a value may have this size; takes no steps.
  Status fits(std::size_t bytes) const;

 private:
  std::uint64_t steps_;
  std::uint64_t all_steps_;
  std::size_t value_bytes_;
};

}  // namespace shunt::text::jinja
