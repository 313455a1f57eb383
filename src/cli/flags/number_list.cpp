#include "cli/flags/number_list.h"

#include <algorithm>

#include "cli/flags/parse_number.h"

namespace shunt::cli {

Result<std::vector<std::int64_t>> parse_number_list(const std::string& text, std::int64_t low,
                                                    std::int64_t high) {
  std::vector<std::int64_t> numbers;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    SHUNT_ASSIGN(const std::int64_t number,
                 parse_number<std::int64_t>(text.substr(start, end - start), low, high));
    numbers.push_back(number);
    start = end + 1;
  }
  return numbers;
}

}  // namespace shunt::cli
