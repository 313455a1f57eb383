#include "strict.h"

#include "call.h"
#include "common/pages.h"
#include "include/zdnn_twin.h"
#include "settings.h"
#include "sticks.h"

namespace zdnn_twin {
namespace {
bool is_strict() {
  return setting_as<Strict>(Setting::kStrict) != Strict::kOff;
}
}  // namespace

void written(const zdnn_ztensor& tensor) {
  if (is_strict()) twin::remember_pages(tensor.buffer, tensor_bytes(*tensor.transformed_desc));
}

zdnn_status check_input(const zdnn_ztensor& tensor, bool marked) {
  if (!is_strict()) return ZDNN_OK;
  if (marked && !tensor.is_transformed)
    return object(ZDNN_INVALID_STATE, "an input is not transformed");
  switch (twin::state_of_pages(tensor.buffer, tensor_bytes(*tensor.transformed_desc))) {
    case twin::PageState::kAsWritten:
      return ZDNN_OK;
    case twin::PageState::kNeverWritten:
      return object(ZDNN_INVALID_STATE, "an input holds nothing that the library wrote");
    case twin::PageState::kChanged:
      break;
  }
  return object(ZDNN_INVALID_STATE, "an input was written to since the library wrote it");
}

zdnn_status check_overlap(const zdnn_ztensor& input, const zdnn_ztensor& output) {
  const auto begin = [](const zdnn_ztensor& t) {
    return reinterpret_cast<std::uintptr_t>(t.buffer);
  };
  const auto end = [&](const zdnn_ztensor& t) {
    return begin(t) + tensor_bytes(*t.transformed_desc);
  };
  if (begin(input) < end(output) && begin(output) < end(input))
    return object(ZDNN_INVALID_BUFFER, "an output shares memory with an input");
  return ZDNN_OK;
}

}  // namespace zdnn_twin

void zdnn_twin_adopt(const zdnn_ztensor* ztensor) {
  zdnn_twin::written(*ztensor);
}
