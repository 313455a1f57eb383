#include <cstddef>

#include "abi.h"
#if __has_include(<cuda.h>)
#include <cuda.h>
#endif

namespace abi_test {

std::vector<Fact> facts_of_vendor() {
  return {
#if defined(CUDA_VERSION) && CUDA_VERSION >= 13000
#define SIZE(type) {"size of " #type, static_cast<long long>(sizeof(type))},
#define OFFSET(type, member) {#type "." #member, static_cast<long long>(offsetof(type, member))},
#define NUMBER(name) {#name, static_cast<long long>(name)},
#include "abi.inc"
#undef SIZE
#undef OFFSET
#undef NUMBER
#endif
  };
}

}  // namespace abi_test
