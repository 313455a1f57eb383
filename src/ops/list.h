// Every op there is. A new op adds a line in list.cpp, and a row with its test cases
// in FAMILY_cases.cpp.
#pragma once

#include <span>
#include <string_view>

#include "graph/op.h"

namespace shunt {

/// All ops, family by family.
std::span<const Op* const> all_ops();
/// The op with a name, or null.
const Op* find_op(std::string_view name);

}  // namespace shunt
