#include "backend_support/vendor_error.h"

#include <algorithm>

#include "shunt/message.h"

namespace shunt {

Error vendor_error(const VendorCodes& vendor, std::string_view function, std::int64_t code,
                   std::string_view text, std::string_view name) {
  const std::string number = vendor.hex_digits == 0
                                 ? fmt::format("{}", code)
                                 : fmt::format("{:#0{}x}", code, vendor.hex_digits + 2);
  const auto row = std::ranges::find(vendor.codes, code, &VendorCode::code);
  if (row == vendor.codes.end()) {
    const std::string what =
        name.empty() ? fmt::format("code {}", number) : fmt::format("{} ({})", name, number);
    return fail(ErrorCode::kDevice, "{}: {} failed with {}", vendor.library, function, what)
        .with_vendor({code, std::string(text.empty() ? name : text)});
  }
  return fail(row->kind, "{}: {} failed with {} ({}){}{}", vendor.library, function, row->name,
              number, row->remedy.empty() ? "" : "; ", row->remedy)
      .with_vendor({code, std::string(text.empty() ? row->name : text)});
}

}  // namespace shunt
