#include "cuda/settings.h"

#include <algorithm>
#include <iterator>

#include "cuda/driver/functions.h"

namespace cuda_twin {
namespace {

bool is_error(std::int64_t code) {
#define CUDA_TWIN_NUMBER(name, number, text) number,
  constexpr std::int64_t kCodes[] = {CUDA_TWIN_RESULTS(CUDA_TWIN_NUMBER)};
#undef CUDA_TWIN_NUMBER
  return code != CUDA_SUCCESS && code != CUDA_ERROR_NOT_READY &&
         std::ranges::find(kCodes, code) != std::end(kCodes);
}

bool is_function_or_none(std::int64_t line) {
  return line <= static_cast<std::int64_t>(count_functions());
}

// In the order of enum Setting.
constexpr twin::SettingRow kTable[] = {
    // Numbers of rows of kProfileTable, from 1.
    {.name = "CUDA_TWIN_PROFILE",
     .at_first = 6,
     .choices = {{{"p40", 1},
                  {"t4", 2},
                  {"a100", 3},
                  {"rtx4090", 4},
                  {"orin", 5},
                  {"h200", 6},
                  {"b200", 7},
                  {"m40", 8}}},
     .is_list = true},
    {.name = "CUDA_TWIN_DEVICES", .at_first = kAsManyAsProfiles, .allows = twin::is_between<0, 8>},
    {"CUDA_TWIN_PEERS",
     kPeersAlike,
     {{{"off", kPeersOff}, {"on", kPeersOn}, {"alike", kPeersAlike}}}},
    {.name = "CUDA_TWIN_MULTIPROCESSORS", .at_first = 0, .allows = twin::is_between<0, 1024>},
    {"CUDA_TWIN_MEMORY", 0},
    {"CUDA_TWIN_DRIVER_MEMORY", 0, {{{"off", 0}, {"on", 1}}}},
    {.name = "CUDA_TWIN_CLOCK", .at_first = 0, .allows = twin::is_between<0, 1000000>},
    {.name = "CUDA_TWIN_DRIVER", .at_first = 13000, .allows = twin::is_between<11000, 13000>},
    {"CUDA_TWIN_ORDER", 0},
    {"CUDA_TWIN_THREADS", 0},
    {"CUDA_TWIN_CHECK_INITIALISED", 1, {{{"off", 0}, {"on", 1}}}},
    {"CUDA_TWIN_CHECK_COPIES", 0, {{{"off", 0}, {"on", 1}}}},
    {"CUDA_TWIN_CHECK_RACES", 1, {{{"off", 0}, {"on", 1}}}},
    {"CUDA_TWIN_CHECK_WARP", 1, {{{"off", 0}, {"on", 1}}}},
    {"CUDA_TWIN_FINDINGS", 0, {{{"stop", 0}, {"record", 1}}}},
    {"CUDA_TWIN_MMA_SUM", 0, {{{"single", 0}, {"double", 1}, {"truncated", 2}}}},
    {"CUDA_TWIN_APPROXIMATE", 0, {{{"documented", 0}, {"worst", 1}}}},
    {"CUDA_TWIN_LEVEL", 2, {{{"best", 2}, {"baseline", 0}, {"v3", 1}, {"v4", 2}}}},
    {"CUDA_TWIN_INSTRUCTIONS", 0},
    {.name = "CUDA_TWIN_FAIL_ALLOCATION", .at_first = 0, .is_fault = true},
    {.name = "CUDA_TWIN_FAIL_PINNED", .at_first = 0, .is_fault = true},
    {.name = "CUDA_TWIN_FAIL_MODULE", .at_first = 0, .is_fault = true},
    {.name = "CUDA_TWIN_FAIL_LAUNCH", .at_first = 0, .is_fault = true},
    {.name = "CUDA_TWIN_FAIL_COPY", .at_first = 0, .is_fault = true},
    {.name = "CUDA_TWIN_FAIL_INSTANTIATE", .at_first = 0, .is_fault = true},
    {.name = "CUDA_TWIN_FAIL_LATE", .at_first = 0, .is_fault = true},
    {.name = "CUDA_TWIN_LATE_CODE", .at_first = 719, .allows = is_error},
    {.name = "CUDA_TWIN_FAIL_HANG", .at_first = 0, .is_fault = true},
    {.name = "CUDA_TWIN_FAIL_LOST", .at_first = 0, .is_fault = true},
    {.name = "CUDA_TWIN_MISSING", .at_first = 0, .allows = is_function_or_none},
};

constinit twin::Settings all("CUDA", kTable);

}  // namespace

twin::Settings& settings() {
  return all;
}

}  // namespace cuda_twin
