// The result of phase 1 for phase 2: used once, or again and again after it was made repeatable.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ascend/counts.h"
#include "ascend/ops/op.h"
#include "ascend/runtime/handles.h"

struct aclOpExecutor {
  explicit aclOpExecutor(ascend_twin::Call bound) : call(std::move(bound)) {}
  ascend_twin::Call call;  ///< aclSetInputTensorAddr and others change its addresses
  std::uint64_t workspace = 0;
  bool repeatable = false;
  bool empty = false;
  bool from_cache = false;  ///< EXECUTOR_CACHE: cannot become repeatable
  bool has_run = false;
  /// Strict mode: descriptors that must live until phase 2.
  std::vector<std::weak_ptr<void>> descriptors;
  ascend_twin::InLedger<ASCEND_TWIN_LIVE_EXECUTORS> in_ledger;
};

namespace ascend_twin {

Handles<aclOpExecutor>& executors();

/// The real library keeps results of phase 1, by operator, types, shapes and attributes. Whether
/// this call's was there; it is from now on. Always false with EXECUTOR_CACHE=off.
bool is_in_cache(const Call& call);
/// A repeatable executor is in no cache.
void leave_cache(const Call& call);

/// Live descriptors of the arguments, for strict mode.
std::vector<std::weak_ptr<void>> descriptors_of(const Call& call);

/// The tensor at this index among those of the role's letters: 161002 unless it was made from this
/// descriptor. All arguments made from it get the address.
Status set_address(aclOpExecutor& executor, std::string_view roles, std::size_t index,
                   const aclTensor* tensor, void* address);
Status set_address(aclOpExecutor& executor, std::string_view roles, std::size_t index,
                   std::size_t member, const aclTensorList* list, void* address);

}  // namespace ascend_twin
