#include "settings.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "faults.h"
#include "pages.h"

namespace zdnn_twin {
namespace {

struct Choice {
  const char* name;
  std::int64_t value;
};

struct Row {
  const char* name;
  std::int64_t at_first;
  std::array<Choice, 3> choices;  // or none: a number
  bool is_fault = false;          // "3", or "3+" for the third and all after it
};

// In the order of enum Setting.
constexpr Row kTable[kSettings] = {
    {"ZDNN_TWIN_PROFILE", 1, {{{"z16", 0}, {"z17", 1}, {"none", 2}}}},
    {"ZDNN_TWIN_STRICT", 0, {{{"off", 0}, {"status", 1}, {"abort", 2}}}},
    {"ZDNN_TWIN_ACCUMULATE", 0, {{{"single", 0}, {"double", 1}, {"dlfloat", 2}}}},
    {"ZDNN_TWIN_TOO_LARGE", 0, {{{"silent", 0}, {"convert_failure", 1}}}},
    {"ZDNN_TWIN_FAIL_ALLOCATION", 0, {}, true},
    {"ZDNN_TWIN_FAIL_CONVERSION", 0, {}, true},
    {"ZDNN_TWIN_FAIL_RANGE", 0, {}, true},
    {"ZDNN_TWIN_FAIL_HARDWARE", 0, {}, true},
    {"ZDNN_TWIN_HARDWARE_CODE", 0xF000, {}},
};

std::array<std::atomic<std::int64_t>, kSettings>& values() {
  static std::array<std::atomic<std::int64_t>, kSettings> all{};
  return all;
}

bool parse_number(const char* text, bool is_fault, std::int64_t& value) {
  if (*text < '0' || *text > '9') return false;
  char* end = nullptr;
  value = static_cast<std::int64_t>(std::strtoull(text, &end, 0));
  if (value < 0 || value >= kAndAllAfter) return false;
  if (is_fault && *end == '+') {
    value |= kAndAllAfter;
    ++end;
  }
  return *end == '\0';
}

bool parse(const Row& row, const char* text, std::int64_t& value) {
  if (row.choices[0].name == nullptr) return parse_number(text, row.is_fault, value);
  for (const Choice& choice : row.choices) {
    if (choice.name != nullptr && std::strcmp(choice.name, text) == 0) {
      value = choice.value;
      return true;
    }
  }
  return false;
}

void store(int index, std::int64_t value) {
  values()[static_cast<std::size_t>(index)] = value;
  const auto which = static_cast<Setting>(index);
  if (kTable[index].is_fault) restart_faults(which);
  if (which == Setting::kStrict) forget_all_pages();
}

}  // namespace

std::int64_t setting(Setting which) {
  return values()[static_cast<std::size_t>(which)];
}

bool set_setting(const char* name, const char* value) {
  if (name == nullptr || value == nullptr) return false;
  for (int i = 0; i < kSettings; ++i) {
    if (std::strcmp(kTable[i].name, name) != 0) continue;
    std::int64_t parsed = 0;
    if (!parse(kTable[i], value, parsed)) return false;
    store(i, parsed);
    return true;
  }
  return false;
}

void read_environment() {
  for (int i = 0; i < kSettings; ++i) {
    std::int64_t value = kTable[i].at_first;
    const char* text = std::getenv(kTable[i].name);
    if (text != nullptr && !parse(kTable[i], text, value)) {
      std::fprintf(stderr, "zDNN twin: %s=%s is unknown and left out\n", kTable[i].name, text);
      value = kTable[i].at_first;
    }
    store(i, value);
  }
}

}  // namespace zdnn_twin
