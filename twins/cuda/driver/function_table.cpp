#include "cuda/driver/functions.h"

#include <cstring>
#include <iterator>
#include <unordered_map>

#include "common/counters.h"
#include "cuda/call.h"
#include "cuda/settings.h"
// Last: it changes names.
#include "cuda/driver/old_forms.h"

namespace cuda_twin {
namespace {

#define X(name, symbol, first) {#name, #symbol, first, reinterpret_cast<void*>(&(symbol))},
const ExportedFunction kFunctions[] = {
// NOLINTNEXTLINE(bugprone-suspicious-include): a list
#include "cuda/driver/functions.inc"
};
#undef X

constinit twin::Counters<256> calls;
static_assert(std::size(kFunctions) < 256);

/// Names that the header of a version defines as another name.
struct OtherName {
  const char* name;
  const char* of;
  int first_driver;
};
constexpr OtherName kOtherNames[] = {
    // The form of 11.x has other parameters.
    {"cuGraphInstantiate", "cuGraphInstantiateWithFlags", 12000},
};

const char* defined_name(const char* name, int version) {
  for (const OtherName& row : kOtherNames) {
    if (std::strcmp(row.name, name) == 0 && row.first_driver <= version) return row.of;
  }
  return name;
}

const ExportedFunction* newest(const char* alias, int version) {
  const char* const name = defined_name(alias, version);
  const ExportedFunction* best = nullptr;
  for (const ExportedFunction& row : kFunctions) {
    if (std::strcmp(row.name, name) != 0 || row.first_driver > version) continue;
    if (best == nullptr || row.first_driver > best->first_driver) best = &row;
  }
  return best;
}

bool is_missing(const ExportedFunction& row) {
  return setting(Setting::kMissing) == (&row - kFunctions) + 1;
}

}  // namespace

std::size_t count_functions() {
  return std::size(kFunctions);
}

std::size_t function_index(const char* symbol) {
  for (std::size_t index = 0; index < std::size(kFunctions); ++index) {
    if (std::strcmp(kFunctions[index].symbol, symbol) == 0) return index;
  }
  return kNoFunction;
}

int first_driver_of(std::size_t function) {
  return function < std::size(kFunctions) ? kFunctions[function].first_driver : 0;
}

void count_call(std::size_t function) {
  calls.add(function);
}

std::uint64_t calls_of(const char* symbol) {
  return symbol == nullptr ? 0 : calls.value(function_index(symbol));
}

void reset_call_counts() {
  calls.reset();
}

const ExportedFunction* function_named(const char* name, int version, bool& known) {
  known = newest(name, 1 << 30) != nullptr;
  const ExportedFunction* const found = newest(name, version);
  if (found == nullptr || !is_missing(*found)) return found;
  known = false;
  return nullptr;
}

}  // namespace cuda_twin
