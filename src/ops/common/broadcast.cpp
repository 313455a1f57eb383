#include "ops/common/broadcast.h"

#include "ops/common/checks.h"
#include "ops/common/type_lists.h"

namespace shunt {

Result<Inferred> infer_broadcast(SourceTensors sources) {
  const Tensor& a = *sources[0];
  const Tensor& b = *sources[1];
  SHUNT_TRY(expect_float_type("a", a));
  SHUNT_TRY(expect_float_type("b", b));
  SHUNT_TRY(expect_broadcast("b", b, "a", a));
  return contiguous(a.dtype, a.shape);
}

}  // namespace shunt
