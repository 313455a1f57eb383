// SHUNT_INTERFACE_HASH is a hash over the headers that a backend is compiled against
// (cmake/backends.cmake).
#include "shunt/abi_token.h"

#include "shunt/registry.h"

namespace shunt {

const char* abi_token() {
  return SHUNT_ABI_TOKEN;
}

}  // namespace shunt
