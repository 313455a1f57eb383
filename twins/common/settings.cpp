#include "common/settings.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace twin {
namespace {

static_assert(std::is_trivially_destructible_v<Settings>);

bool find_choice(const SettingRow& row, std::string_view name, std::int64_t& value) {
  for (const Choice& choice : row.choices) {
    if (choice.name != nullptr && name == choice.name) {
      value = choice.value;
      return true;
    }
  }
  return false;
}

bool parse_list(const SettingRow& row, std::string_view text, std::int64_t& value) {
  value = 0;
  for (unsigned index = 0; index < kMostListed; ++index) {
    const std::size_t comma = text.find(',');
    std::int64_t item = 0;
    if (!find_choice(row, text.substr(0, comma), item)) return false;
    value |= item << (8 * index);
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
  return false;
}

bool parse(const SettingRow& row, const char* text, std::int64_t& value) {
  if (row.is_list) return parse_list(row, text, value);
  if (row.choices[0].name == nullptr) {
    return parse_number(text, row.is_fault, value) && (row.allows == nullptr || row.allows(value));
  }
  return find_choice(row, text, value);
}

}  // namespace

void Settings::store(std::size_t row, std::int64_t value) {
  values_[row] = value;
  events_[row].restart();
  if (rows_[row].changed != nullptr) rows_[row].changed();
}

bool Settings::set(const char* name, const char* value) {
  if (name == nullptr || value == nullptr) return false;
  for (std::size_t row = 0; row < count_; ++row) {
    if (std::strcmp(rows_[row].name, name) != 0) continue;
    std::int64_t parsed = 0;
    if (!parse(rows_[row], value, parsed)) return false;
    store(row, parsed);
    return true;
  }
  return false;
}

void Settings::read_environment() {
  for (std::size_t row = 0; row < count_; ++row) {
    std::int64_t value = rows_[row].at_first;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread here sets variables
    const char* text = std::getenv(rows_[row].name);
    if (text != nullptr && !parse(rows_[row], text, value)) {
      std::fprintf(stderr, "%s twin: %s=%s is unknown and left out\n", twin_, rows_[row].name,
                   text);
      value = rows_[row].at_first;
    }
    store(row, value);
  }
}

}  // namespace twin
