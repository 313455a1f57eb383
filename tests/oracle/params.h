// Parameters by the names that `shunt ops` prints.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "graph/op.h"

namespace shunt::test {

/// Parameters of an op; those that are not named have their defaults. Throws std::runtime_error if
/// the op has none of a name, or not such a value.
Params params_of(std::string_view op, const nlohmann::json& named);
/// Whether params_of() knows an op's parameters. Ops that have none need not be known.
bool has_params(std::string_view op);

}  // namespace shunt::test
