#include <cstddef>

#include "abi.h"
#include "cuda_twin/driver.h"

namespace abi_test {

std::vector<Fact> facts_of_twin() {
  return {
#define SIZE(type) {"size of " #type, static_cast<long long>(sizeof(type))},
#define OFFSET(type, member) {#type "." #member, static_cast<long long>(offsetof(type, member))},
#define NUMBER(name) {#name, static_cast<long long>(name)},
#include "abi.inc"
#undef SIZE
#undef OFFSET
#undef NUMBER
  };
}

}  // namespace abi_test
