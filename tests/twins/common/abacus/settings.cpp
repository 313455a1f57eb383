#include "settings.h"

#include "common/pages.h"

namespace abacus_twin {
namespace {

// In the order of enum Setting.
constexpr twin::SettingRow kTable[] = {
    {.name = "ABACUS_TWIN_STRICT",
     .at_first = 0,
     .choices = {{{"off", 0}, {"status", 1}, {"abort", 2}}},
     .changed = twin::forget_all_pages},
    {.name = "ABACUS_TWIN_BEADS", .at_first = 1000},
    {.name = "ABACUS_TWIN_FAIL_ADD", .at_first = 0, .is_fault = true},
};

constinit twin::Settings all("Abacus", kTable);
constinit twin::Counters<ABACUS_TWIN_OBJECTIONS + 1> counted;

[[maybe_unused]] const bool initialised = (all.read_environment(), true);

}  // namespace

twin::Settings& settings() {
  return all;
}
twin::Counters<ABACUS_TWIN_OBJECTIONS + 1>& counters() {
  return counted;
}

}  // namespace abacus_twin

using namespace abacus_twin;

uint64_t abacus_twin_count(abacus_twin_counter counter) {
  return counters().value(counter);
}
void abacus_twin_reset(void) {
  settings().read_environment();
  counters().reset();
}
bool abacus_twin_set(const char* name, const char* value) {
  return settings().set(name, value);
}
const char* abacus_twin_last_message(void) {
  return twin::last_message();
}
