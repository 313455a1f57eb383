#include "faults.h"

#include <array>
#include <atomic>

namespace zdnn_twin {
namespace {
std::array<std::atomic<std::int64_t>, kSettings>& events() {
  static std::array<std::atomic<std::int64_t>, kSettings> all{};
  return all;
}
}  // namespace

bool fault_is_due(Setting fault) {
  const std::int64_t event = ++events()[static_cast<std::size_t>(fault)];
  const std::int64_t wanted = setting(fault);
  const std::int64_t number = wanted & ~kAndAllAfter;
  if (number == 0) return false;
  return event == number || (wanted != number && event > number);
}

void restart_faults(Setting fault) {
  events()[static_cast<std::size_t>(fault)] = 0;
}

}  // namespace zdnn_twin
