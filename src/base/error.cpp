#include "shunt/error.h"

#include <array>

namespace shunt {

std::string_view to_string(ErrorCode code) {
  static constexpr std::array<std::string_view, 9> kNames = {
      "invalid argument", "not found", "i/o error", "bad file", "unsupported",
      "out of memory",    "device",    "cancelled", "internal"};
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? kNames[index] : "unknown";
}

Error Error::with_context(std::string_view context) && {
  message_.insert(0, std::string(context) + ": ");
  return std::move(*this);
}

Error Error::with_vendor(VendorError vendor) && {
  vendor_ = std::move(vendor);
  return std::move(*this);
}

}  // namespace shunt
