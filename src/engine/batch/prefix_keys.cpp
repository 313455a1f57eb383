#include "engine/batch/prefix_keys.h"

#include <functional>

#include "base/to_size.h"
#include "model/definition.h"

namespace shunt {

std::vector<std::uint64_t> prefix_keys(const std::string& scope,
                                       std::span<const std::int32_t> tokens) {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t hash = std::hash<std::string>()(scope);
  std::vector<std::uint64_t> keys;
  const auto block = to_size(kCacheBlock);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    hash = (hash ^ static_cast<std::uint32_t>(tokens[i])) * kPrime;
    hash ^= hash >> 32;
    if ((i + 1) % block == 0) keys.push_back(hash);
  }
  return keys;
}

}  // namespace shunt
