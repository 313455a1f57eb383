#include "ascend/counts.h"

#include <map>
#include <mutex>
#include <string_view>

#include "common/counters.h"

namespace ascend_twin {
namespace {

constinit twin::Counters<ASCEND_TWIN_COPIED_BYTES_WITHIN + 1> events;
constinit twin::Counters<ASCEND_TWIN_LIVE_DEVICE_BYTES_RESERVED + 1> ledger;

struct CallCounts {
  std::mutex mutex;
  std::map<std::string_view, std::uint64_t> of;
};
CallCounts& calls() {
  static auto* counts = new CallCounts;  // no destructor runs at exit
  return *counts;
}

}  // namespace

void count(ascend_twin_counter counter, std::uint64_t amount) {
  events.add(static_cast<std::size_t>(counter), amount);
}

void count_call(const char* function) {
  const std::lock_guard lock(calls().mutex);
  ++calls().of[function];
}

void reset_counts() {
  events.reset();
  const std::lock_guard lock(calls().mutex);
  calls().of.clear();
}

void add_live(ascend_twin_live which, std::uint64_t amount) {
  ledger.add(static_cast<std::size_t>(which), amount);
}
void drop_live(ascend_twin_live which, std::uint64_t amount) {
  ledger.add(static_cast<std::size_t>(which), 0 - amount);  // modulo 2^64
}
std::uint64_t live(ascend_twin_live which) {
  return ledger.value(static_cast<std::size_t>(which));
}

}  // namespace ascend_twin

uint64_t ascend_twin_count(ascend_twin_counter counter) {
  return ascend_twin::events.value(static_cast<std::size_t>(counter));
}

uint64_t ascend_twin_calls(const char* function) {
  using ascend_twin::calls;
  if (function == nullptr) return 0;
  const std::lock_guard lock(calls().mutex);
  const auto found = calls().of.find(function);
  return found == calls().of.end() ? 0 : found->second;
}

void ascend_twin_reset_counts(void) {
  ascend_twin::reset_counts();
}

uint64_t ascend_twin_count_live(ascend_twin_live which) {
  return ascend_twin::live(which);
}
