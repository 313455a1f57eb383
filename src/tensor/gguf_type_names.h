// The names of the element types that the GGUF format numbers, whether this build has them or not:
// so that a message can say "Q4_K" where it would otherwise say "12".
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace shunt {

struct GgufTypeName {
  std::uint32_t number = 0;
  std::string_view name;
};

std::span<const GgufTypeName> gguf_type_names();
/// Empty if the number is not known.
std::string_view gguf_type_name(std::uint32_t number);

}  // namespace shunt
