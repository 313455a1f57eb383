#include "support/tensor_io.h"

#include <map>
#include <tuple>

namespace shunt::test {

const RefTensor& kept_values(DType type, const Sizes& sizes, std::uint64_t seed) {
  static std::map<std::tuple<DType, Sizes, std::uint64_t>, RefTensor> kept;
  RefTensor& values = kept[{type, sizes, seed}];
  if (values.data.empty()) values = make_values({.dtype = type, .sizes = sizes}, seed);
  return values;
}

}  // namespace shunt::test
