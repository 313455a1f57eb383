#include <cstring>
#include <stdexcept>
#include <vector>

#include "common/pages.h"
#include "common/reals.h"
#include "settings.h"

using namespace abacus_twin;

abacus_status abacus_add(int32_t a, int32_t b, int32_t* sum) {
  return Calls::guarded("abacus_add", [&]() -> abacus_status {
    if (sum == nullptr) return Calls::misuse(ABACUS_INVALID_VALUE, "there is no place for the sum");
    if (settings().fault_is_due(kFailAdd))
      return Calls::refuse(ABACUS_STUCK, "a fault that was asked for");
    counters().add(ABACUS_TWIN_ADDITIONS);
    *sum = static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
    return ABACUS_OK;
  });
}

abacus_status abacus_log(double x, double* result) {
  return Calls::guarded("abacus_log", [&]() -> abacus_status {
    *result = twin::log_of(x);
    return ABACUS_OK;
  });
}

abacus_status abacus_sum(size_t count, uint64_t* sum) {
  return Calls::guarded("abacus_sum", [&]() -> abacus_status {
    if (count > static_cast<size_t>(settings().value(kBeads))) throw std::bad_alloc();
    std::vector<uint64_t> beads(count);
    for (size_t i = 0; i < count; ++i) beads.at(i) = i + 1;
    *sum = 0;
    for (uint64_t bead : beads) *sum += bead;
    if (count == 13) throw std::runtime_error("the thirteenth bead is loose");
    return ABACUS_OK;
  });
}

abacus_status abacus_store(void* page, uint8_t value) {
  return Calls::guarded("abacus_store", [&]() -> abacus_status {
    std::memset(page, value, twin::kPageBytes);
    twin::remember_pages(page, twin::kPageBytes);
    return ABACUS_OK;
  });
}

abacus_status abacus_load(const void* page, uint8_t* value) {
  return Calls::guarded("abacus_load", [&]() -> abacus_status {
    if (twin::state_of_pages(page, twin::kPageBytes) != twin::PageState::kAsWritten) {
      const auto status = Calls::object(ABACUS_INVALID_VALUE, "the page is not as it was stored");
      if (status != ABACUS_OK) return status;
    }
    std::memcpy(value, page, 1);
    return ABACUS_OK;
  });
}
