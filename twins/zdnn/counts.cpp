#include "counts.h"

#include <array>
#include <atomic>
#include <cstddef>

namespace {

struct Counts {
  std::array<std::atomic<std::uint64_t>, ZDNN_TWIN_OBJECTIONS + 1> events{};
  std::array<std::atomic<std::uint64_t>, 256> calls{};  // by function code, a byte
};

Counts& counts() {
  static Counts all;
  return all;
}

}  // namespace

namespace zdnn_twin {

void count(zdnn_twin_counter counter) {
  ++counts().events[static_cast<std::size_t>(counter)];
}
void count_call(nnpa_function_code code) {
  ++counts().calls[static_cast<std::size_t>(code) & 255];
}

}  // namespace zdnn_twin

uint64_t zdnn_twin_count(zdnn_twin_counter counter) {
  const auto index = static_cast<std::size_t>(counter);
  return index < counts().events.size() ? counts().events[index].load() : 0;
}

uint64_t zdnn_twin_calls(uint32_t function_code) {
  return function_code < counts().calls.size() ? counts().calls[function_code].load() : 0;
}

void zdnn_twin_reset_counts(void) {
  for (auto& event : counts().events) event = 0;
  for (auto& calls : counts().calls) calls = 0;
}
