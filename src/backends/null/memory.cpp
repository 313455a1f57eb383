#include "backends/null/memory.h"

#include "shunt/message.h"

namespace shunt::null {

Result<std::unique_ptr<Buffer>> NullMemory::allocate(std::size_t bytes) {
  return fail(ErrorCode::kOutOfMemory, "the null device has no memory, let alone {} bytes", bytes);
}

}  // namespace shunt::null
