#include "ops/training/pairs.h"

#include "ops/common/checks.h"

namespace shunt {

Status expect_pair(const OpInfo& info, SourceTensors sources, std::size_t a, std::size_t b) {
  SHUNT_TRY(expect_type(info.sources[a], *sources[a], {DType::kF32}));
  SHUNT_TRY(expect_type(info.sources[b], *sources[b], {DType::kF32}));
  return expect_same_shape(info.sources[a], *sources[a], info.sources[b], *sources[b]);
}

}  // namespace shunt
