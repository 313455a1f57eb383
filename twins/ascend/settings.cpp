#include "ascend/settings.h"

namespace ascend_twin {
namespace {

/// Of a failure: 0 is success.
constexpr auto is_code = twin::is_between<1, 999'999>;

// In the order of enum Setting.
constexpr twin::SettingRow kTable[] = {
    {"ASCEND_TWIN_PROFILE", 0, {{{"910b", 0}, {"310p", 1}, {"310b", 2}, {"none", 3}}}},
    {"ASCEND_TWIN_SOC",
     0,
     {{{"profile", 0},
       {"Ascend910B1", 1},
       {"Ascend910B2", 2},
       {"Ascend910B2C", 3},
       {"Ascend910B3", 4},
       {"Ascend910B4", 5},
       {"Ascend910B4-1", 6},
       {"Ascend910_9362", 7},
       {"Ascend910_9372", 8},
       {"Ascend910_9381", 9},
       {"Ascend910_9382", 10},
       {"Ascend910_9391", 11},
       {"Ascend910_9392", 12},
       {"Ascend310P1", 13},
       {"Ascend310P3", 14},
       {"Ascend310P5", 15},
       {"Ascend310P7", 16},
       {"Ascend310B1", 17},
       {"Ascend310B2", 18},
       {"Ascend310B3", 19},
       {"Ascend310B4", 20},
       {"Ascend910A", 21},
       {"Ascend910ProA", 22},
       {"Ascend910ProB", 23},
       {"Ascend910PremiumA", 24},
       {"Ascend950", 25},
       {"Ascend999", 26}}}},
    {.name = "ASCEND_TWIN_DEVICES", .at_first = 1, .allows = twin::is_between<1, 8>},
    {"ASCEND_TWIN_PEERS", 2, {{{"off", 0}, {"on", 1}, {"profile", 2}}}},
    {"ASCEND_TWIN_MEMORY", 0},
    {"ASCEND_TWIN_SUPPORT", 2, {{{"docs", 0}, {"package", 1}, {"field", 2}}}},
    {"ASCEND_TWIN_STRICT", 0, {{{"off", 0}, {"status", 1}, {"abort", 2}}}},
    {"ASCEND_TWIN_ORDER",
     0,
     {{{"eager", 0},
       {"lazy", 1},
       {"2", 2},
       {"3", 3},
       {"4", 4},
       {"5", 5},
       {"6", 6},
       {"7", 7},
       {"8", 8},
       {"9", 9}}}},
    {"ASCEND_TWIN_CALLBACK", 0, {{{"before", 0}, {"after", 1}, {"never", 2}}}},
    {"ASCEND_TWIN_ACCUMULATE", 0, {{{"single", 0}, {"double", 1}, {"half", 2}}}},
    {"ASCEND_TWIN_CLOCK", 0, {{{"real", 0}, {"tasks", 1}}}},
    {"ASCEND_TWIN_AFTERMATH", 0, {{{"off", 0}, {"on", 1}}}},
    {.name = "ASCEND_TWIN_FAIL_DEVICE_MEMORY", .at_first = 0, .is_fault = true},
    {.name = "ASCEND_TWIN_FAIL_HOST_MEMORY", .at_first = 0, .is_fault = true},
    {.name = "ASCEND_TWIN_FAIL_VIRTUAL_MEMORY", .at_first = 0, .is_fault = true},
    {.name = "ASCEND_TWIN_FAIL_RESOURCE", .at_first = 0, .is_fault = true},
    {.name = "ASCEND_TWIN_FAIL_FIRST_PHASE", .at_first = 0, .is_fault = true},
    {.name = "ASCEND_TWIN_FIRST_PHASE_CODE", .at_first = 561103, .allows = is_code},
    {.name = "ASCEND_TWIN_FAIL_LAUNCH", .at_first = 0, .is_fault = true},
    {.name = "ASCEND_TWIN_FAIL_LATE", .at_first = 0, .is_fault = true},
    {.name = "ASCEND_TWIN_LATE_CODE", .at_first = 507015, .allows = is_code},
    {.name = "ASCEND_TWIN_FAIL_CAPTURE", .at_first = 0, .is_fault = true},
    {.name = "ASCEND_TWIN_FAIL_LOST", .at_first = 0, .is_fault = true},
    {.name = "ASCEND_TWIN_FAIL_HANG", .at_first = 0, .is_fault = true},
    {"ASCEND_TWIN_FULL_MEMORY", 0},
    {.name = "ASCEND_TWIN_SLOW_FIRST_DEVICE", .at_first = 0, .allows = twin::is_between<0, 10000>},
    {"ASCEND_TWIN_EXECUTOR_CACHE", 0, {{{"off", 0}, {"on", 1}}}},
    {"ASCEND_TWIN_OPP", 0, {{{"found", 0}, {"missing", 1}}}},
};

constinit twin::Settings all("Ascend", kTable);

}  // namespace

twin::Settings& settings() {
  return all;
}

}  // namespace ascend_twin
