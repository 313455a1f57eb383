#include "backends/zdnn/outcome.h"

#include "base/fail.h"

namespace shunt::zdnn {

Error error_of(const Symbols& zdnn, const char* function, std::uint32_t status) {
  const char* const text = zdnn.get_status_message(status);
  const ErrorCode code =
      status == kAllocationFailure ? ErrorCode::kOutOfMemory : ErrorCode::kDevice;
  return fail(code, "{} failed", function)
      .with_vendor({status, text == nullptr ? std::string() : std::string(text)});
}

}  // namespace shunt::zdnn
