// Lists of whole numbers as users type them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shunt/error.h"

namespace shunt::cli {

/// The numbers of "1,2,512", each from `low` to `high`.
Result<std::vector<std::int64_t>> parse_number_list(const std::string& text, std::int64_t low,
                                                    std::int64_t high);

}  // namespace shunt::cli
