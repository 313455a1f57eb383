#include "text/jinja/budget.h"

#include "shunt/message.h"

namespace shunt::text::jinja {
namespace {

/// As many bytes are copied in about the time of a step.
constexpr std::size_t kBytesPerStep = 128;

}  // namespace

Error Budget::spent() const {
  return invalid("the template takes more than {} steps", all_steps_);
}

Status Budget::fits(std::size_t bytes) const {
  if (bytes <= value_bytes_) return ok();
  return invalid("a value of {} bytes is larger than the limit of {}", bytes, value_bytes_);
}

Status Budget::make(std::size_t bytes) {
  SHUNT_TRY(fits(bytes));
  if (!spend(1 + bytes / kBytesPerStep)) return spent();
  return ok();
}

}  // namespace shunt::text::jinja
