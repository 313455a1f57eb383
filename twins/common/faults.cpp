#include "common/faults.h"

#include <cerrno>
#include <cstdlib>

namespace twin {

bool parse_number(const char* text, bool and_after, std::int64_t& value) {
  if (*text < '0' || *text > '9') return false;
  char* end = nullptr;
  errno = 0;
  const unsigned long long number = std::strtoull(text, &end, 0);
  if (errno != 0 || number >= static_cast<unsigned long long>(kAndAllAfter)) return false;
  value = static_cast<std::int64_t>(number);
  if (and_after && *end == '+') {
    value |= kAndAllAfter;
    ++end;
  }
  return *end == '\0';
}

bool EventCount::next_fails(std::int64_t fault) {
  const std::int64_t event = ++events_;
  const std::int64_t number = fault & ~kAndAllAfter;
  if (number == 0) return false;
  return event == number || (fault != number && event > number);
}

}  // namespace twin
