// The names that a user may have meant by a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace shunt::cli {

/// "; did you mean \"rope\" or \"scale\"?", or nothing if no name is near.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> names);

}  // namespace shunt::cli
