#include "graph/gradient.h"

namespace shunt {

Status Op::gradient(Backward&, const Params&) const {
  return fail(ErrorCode::kUnsupported, "{} has no gradient rule", info().name);
}

}  // namespace shunt
