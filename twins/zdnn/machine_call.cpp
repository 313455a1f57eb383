#include "machine_call.h"

#include <cstdint>

#include "call.h"
#include "counts.h"
#include "settings.h"

namespace zdnn_twin {

zdnn_status begin_on_machine(nnpa_function_code code) {
  if (fault_is_due(Setting::kFailHardware)) {
    const auto wanted = static_cast<std::uint32_t>(setting(Setting::kHardwareCode));
    const std::uint32_t status = wanted <= 0xFFFF ? ZDNN_HW_ERROR + wanted : wanted;
    return refuse(static_cast<zdnn_status>(status), "a fault that was asked for");
  }
  count_call(code);
  return ZDNN_OK;
}

zdnn_status range_violation(const char* reason) {
  count(ZDNN_TWIN_RANGE_VIOLATIONS);
  return refuse(ZDNN_ELEMENT_RANGE_VIOLATION, reason);
}

}  // namespace zdnn_twin
