#include "shunt/error.h"

#include <array>

#include "base/enum_table.h"

namespace shunt {

std::string_view to_string(ErrorCode code) {
  static constexpr std::array<std::string_view, 9> kNames = {
      "invalid argument", "not found", "i/o error", "bad file", "unsupported",
      "out of memory",    "device",    "cancelled", "internal"};
  return name_in(kNames, code);
}

Error Error::with_context(std::string_view context) && {
  message_.insert(0, std::string(context) + ": ");
  return std::move(*this);
}

Error Error::with_vendor(VendorError vendor) && {
  vendor_ = std::move(vendor);
  return std::move(*this);
}

Error Error::with_device(std::string_view device) && {
  if (device_.empty()) device_ = device;
  return std::move(*this);
}

Error Error::with_node(std::string_view node) && {
  if (node_.empty()) node_ = node;
  return std::move(*this);
}

std::string to_text(const Error& error) {
  if (!error.vendor()) return error.message();
  return error.message() + " (code " + std::to_string(error.vendor()->code) + ": " +
         error.vendor()->text + ")";
}

}  // namespace shunt
