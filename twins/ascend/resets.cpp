#include "ascend/resets.h"

#include <array>
#include <cstddef>
#include <cstdlib>

namespace ascend_twin {
namespace {

// Filled by initialisers of globals, in any order: no constructor of its own may run later.
constinit std::array<void (*)(), 64> drops{};
constinit std::size_t drop_count = 0;

}  // namespace

AtReset::AtReset(void (*drop)()) {
  if (drop_count == drops.size()) std::abort();
  drops[drop_count++] = drop;
}

void drop_registered() {
  for (std::size_t i = 0; i < drop_count; ++i) drops[i]();
}

}  // namespace ascend_twin
