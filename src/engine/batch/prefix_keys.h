// What requests that compute the same prefix are recognized by.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shunt {

/// For each whole block of tokens, a hash of the scope and of all tokens up to its end. Equal ones
/// mean that a request waits for another one for a step; so collisions cost time only.
std::vector<std::uint64_t> prefix_keys(const std::string& scope,
                                       std::span<const std::int32_t> tokens);

}  // namespace shunt
