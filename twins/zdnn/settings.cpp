#include "settings.h"

#include "common/pages.h"

namespace zdnn_twin {
namespace {

// In the order of enum Setting.
constexpr twin::SettingRow kTable[] = {
    {"ZDNN_TWIN_PROFILE", 1, {{{"z16", 0}, {"z17", 1}, {"none", 2}}}},
    {.name = "ZDNN_TWIN_STRICT",
     .at_first = 0,
     .choices = {{{"off", 0}, {"status", 1}, {"abort", 2}}},
     .changed = twin::forget_all_pages},
    {"ZDNN_TWIN_ACCUMULATE", 0, {{{"single", 0}, {"double", 1}, {"dlfloat", 2}}}},
    {"ZDNN_TWIN_TOO_LARGE", 0, {{{"silent", 0}, {"convert_failure", 1}}}},
    {.name = "ZDNN_TWIN_FAIL_ALLOCATION", .at_first = 0, .is_fault = true},
    {.name = "ZDNN_TWIN_FAIL_CONVERSION", .at_first = 0, .is_fault = true},
    {.name = "ZDNN_TWIN_FAIL_RANGE", .at_first = 0, .is_fault = true},
    {.name = "ZDNN_TWIN_FAIL_HARDWARE", .at_first = 0, .is_fault = true},
    {"ZDNN_TWIN_HARDWARE_CODE", 0xF000},
};

constinit twin::Settings all("zDNN", kTable);

}  // namespace

twin::Settings& settings() {
  return all;
}

}  // namespace zdnn_twin
