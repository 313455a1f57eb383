// The settings of a twin: one table has their names, values and initial values. They are read from
// the environment, and may change at run time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "common/faults.h"

namespace twin {

struct Choice {
  const char* name = nullptr;
  std::int64_t value = 0;
};

struct SettingRow {
  const char* name;  ///< of the environment variable
  std::int64_t at_first;
  std::array<Choice, 32> choices{};        ///< or none: a number
  bool is_fault = false;                   ///< a fault's number: "3", or "3+" (faults.h)
  bool is_list = false;                    ///< 1 to 8 choices of 1 to 127, separated by commas
  void (*changed)() = nullptr;             ///< called after the setting was stored
  bool (*allows)(std::int64_t) = nullptr;  ///< of a number; null: all
};

/// The choices of a list, the first in the lowest byte. 0 follows the last.
inline constexpr unsigned kMostListed = 8;
inline std::int64_t item_of(std::int64_t list, unsigned index) {
  return index < kMostListed ? list >> (8 * index) & 0xFF : 0;
}
inline unsigned count_items(std::int64_t list) {
  unsigned count = 0;
  while (item_of(list, count) != 0) ++count;
  return count;
}

/// For SettingRow::allows.
template <std::int64_t kLeast, std::int64_t kGreatest>
bool is_between(std::int64_t value) {
  return value >= kLeast && value <= kGreatest;
}

/// Values of a table whose rows are numbered from 0. It has no destructor to run, so that a global
/// one serves calls that come while a process exits.
class Settings {
 public:
  static constexpr std::size_t kMost = 32;

  /// `twin` names the library on stderr; both stay with the caller. All are 0 until they are read.
  template <std::size_t kCount>
  constexpr Settings(const char* twin, const SettingRow (&rows)[kCount])
      : twin_(twin), rows_(rows), count_(kCount) {
    static_assert(kCount <= kMost);
  }

  std::int64_t value(std::size_t row) const { return values_[row]; }

  /// Stores a value; a fault starts counting anew. False, and nothing changed, for a name or a
  /// value that is unknown, not allowed, or null.
  bool set(const char* name, const char* value);

  /// Every setting as the environment has it, or else as the table. Values that are unknown are
  /// reported on stderr and left out.
  void read_environment();

  /// Counts one event of the fault in this row; whether it fails.
  bool fault_is_due(std::size_t row) { return events_[row].next_fails(value(row)); }

 private:
  void store(std::size_t row, std::int64_t value);

  const char* twin_;
  const SettingRow* rows_;
  std::size_t count_;
  std::array<std::atomic<std::int64_t>, kMost> values_{};
  std::array<EventCount, kMost> events_{};
};

}  // namespace twin
