// Status codes of a vendor's library as errors: one table per library.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "shunt/error.h"

namespace shunt {

struct VendorCode {
  std::int64_t code = 0;
  std::string_view name;  ///< as the vendor's documentation has it
  ErrorCode kind = ErrorCode::kDevice;
  std::string_view remedy = {};  ///< the user's remedy, if there is one
};

struct VendorCodes {
  std::string_view library;           ///< as users know it: "zDNN"
  std::span<const VendorCode> codes;  ///< those that need a name, a kind or a remedy
  int hex_digits = 0;                 ///< 0: codes are written as decimal numbers
};

/// "zDNN: zdnn_add failed with ZDNN_ALLOCATION_FAILURE (0x00100001); free host memory". A code that
/// the table lacks is kDevice, and the message has `name`, if the library gave one, and its number.
/// The error's vendor part has the number and the library's own words, `text`, or else the name.
Error vendor_error(const VendorCodes& vendor, std::string_view function, std::int64_t code,
                   std::string_view text = {}, std::string_view name = {});

}  // namespace shunt
