// Failures on request: the n-th event of a kind fails, or the n-th and all after it.
#pragma once

#include <atomic>
#include <cstdint>

namespace twin {

/// In a fault's number: the n-th event and all after it fail.
inline constexpr std::int64_t kAndAllAfter = std::int64_t{1} << 62;

/// A number as C writes it ("3", "0x12"), below kAndAllAfter; "3+" where `and_after` allows it.
/// False, and `value` unspecified, for any other text.
bool parse_number(const char* text, bool and_after, std::int64_t& value);

/// Counts the events of one kind of fault, from any thread.
class EventCount {
 public:
  constexpr EventCount() = default;
  /// Counts one event; whether it fails, by the fault's number: 0 is never, 1 the first event.
  bool next_fails(std::int64_t fault);
  void restart() { events_ = 0; }

 private:
  std::atomic<std::int64_t> events_{0};
};

}  // namespace twin
