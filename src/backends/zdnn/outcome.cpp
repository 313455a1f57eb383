#include "backends/zdnn/outcome.h"

#include <array>

#include "backend_support/vendor_error.h"

namespace shunt::zdnn {

namespace {

constexpr std::array kNamedCodes = {
    VendorCode{kAllocationFailure, "ZDNN_ALLOCATION_FAILURE", ErrorCode::kOutOfMemory,
               "the library allocates host memory in addition to the plan's memory"},
};
constexpr VendorCodes kCodes = {.library = "zDNN", .codes = kNamedCodes, .hex_digits = 8};

}  // namespace

Error error_of(const Symbols& zdnn, const char* function, std::uint32_t status) {
  const char* const text = zdnn.get_status_message(status);
  return vendor_error(kCodes, function, status, text == nullptr ? "" : text);
}

}  // namespace shunt::zdnn
