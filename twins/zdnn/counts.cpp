#include "counts.h"

#include "common/counters.h"

namespace {
constinit twin::Counters<ZDNN_TWIN_OBJECTIONS + 1> events;
constinit twin::Counters<256> calls;  // by function code, a byte
}  // namespace

namespace zdnn_twin {

void count(zdnn_twin_counter counter) {
  events.add(counter);
}
void count_call(nnpa_function_code code) {
  calls.add(code & 255U);
}

}  // namespace zdnn_twin

uint64_t zdnn_twin_count(zdnn_twin_counter counter) {
  return events.value(counter);
}

uint64_t zdnn_twin_calls(uint32_t function_code) {
  return calls.value(function_code);
}

void zdnn_twin_reset_counts(void) {
  events.reset();
  calls.reset();
}
