#include "ascend/ops/indexing/indices.h"

#include <algorithm>

#include "ascend/support.h"

namespace ascend_twin {

Status need_indices(const Call& call, std::size_t position) {
  return need_type(call, position, {ACL_INT32, ACL_INT64});
}

Status read_indices(const Kernel& kernel, std::size_t position, std::int64_t limit,
                    std::vector<std::int64_t>* indices) {
  *indices = read_integers(kernel.operand(position));
  const auto code = static_cast<Status>(unknown("index out of range code"));
  for (std::int64_t& index : *indices) {
    if (index >= 0 && index < limit) continue;
    const std::string reason = kernel.call.describe(position) + " has the index " +
                               std::to_string(index) + " of a dimension of " +
                               std::to_string(limit);
    const Status late = code == ACL_SUCCESS ? ACL_ERROR_RT_AICORE_EXCEPTION : code;
    ASCEND_TWIN_TRY(object_late(late, reason));
    if (code != ACL_SUCCESS || limit == 0) return refuse(late, reason);
    index = std::clamp<std::int64_t>(index, 0, limit - 1);  // silence
  }
  return ACL_SUCCESS;
}

}  // namespace ascend_twin
