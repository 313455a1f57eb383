// Repeatable executors and their addresses.
#include <fstream>
#include <sstream>
#include <utility>

#include "ascend/include/acl/acl_tensor.h"
#include "ascend/ops/executor.h"
#include "ascend/runtime/thread.h"
#include "ascend/support.h"

namespace ascend_twin {
namespace {

constexpr std::string_view kInputs = "ipxl";
constexpr std::string_view kOutputs = "oxO";
constexpr std::string_view kTensors = "ipoxlO";

bool is_one_memory(const View& a, const View& b) {
  const View::Reach first = a.reach();
  const View::Reach second = b.reach();
  return a.base == b.base && first.begin < second.end && second.begin < first.end;
}

/// Without addresses yet, tensors of one descriptor are one memory.
bool is_onto_itself(const Call& call) {
  if (call.view(0).base == nullptr) return call.at(0).handle == call.at(1).handle;
  return is_one_memory(call.view(0), call.view(1));
}

bool has_integers(const Call& call) {
  for (std::size_t i = 0; i < call.size(); ++i) {
    if (call.role(i) == 'a' && call.has(i)) return true;
  }
  return false;
}

bool is_repeatable(const Call& call) {
  switch (unrepeatable(call.op().name)) {
    case Unrepeatable::kNever:
      return true;
    case Unrepeatable::kAlways:
      return false;
    case Unrepeatable::kOntoItself:
      return !is_onto_itself(call);
    case Unrepeatable::kWithIntegers:
      return !has_integers(call);
  }
  return true;
}

/// The body of a function that changes an executor's addresses.
template <class... Arguments>
aclnnStatus change_address(const char* function, aclOpExecutor* executor,
                           const Arguments&... arguments) {
  return call(function, Need::kInitialised, [&]() -> Status {
    const auto found = executors().find(executor);
    if (found == nullptr) return refuse(ACLNN_ERR_INNER_NULLPTR, "the executor is null or used");
    return set_address(*found, arguments...);
  });
}

}  // namespace
}  // namespace ascend_twin

using namespace ascend_twin;

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
  return call("aclSetAclOpExecutorRepeatable", Need::kInitialised, [&]() -> Status {
    const auto found = executors().find(executor);
    if (found == nullptr) return refuse(ACLNN_ERR_INNER_NULLPTR, "the executor is null or used");
    if (this_thread().fresh_executor != executor)
      return refuse(ACLNN_ERR_INNER, "not directly after the first phase, on its thread");
    if (!is_repeatable(found->call))
      return refuse(ACLNN_ERR_INNER, "this operator's executors cannot be repeated");
    if (found->from_cache)
      return refuse(ACLNN_ERR_INNER, "the executor came from the cache of executors");
    found->repeatable = true;
    leave_cache(found->call);
    return ACL_SUCCESS;
  });
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  return call("aclDestroyAclOpExecutor", Need::kInitialised, [&]() -> Status {
    if (executors().remove(executor) == nullptr)
      return refuse(ACLNN_ERR_INNER_NULLPTR, "the executor is null or used");
    // The thread's context of the engine is gone, too: not between the phases of another operator.
    Thread& thread = this_thread();
    const void* const fresh = std::exchange(thread.fresh_executor, nullptr);
    if (fresh == nullptr || fresh == executor || executors().find(fresh) == nullptr)
      return ACL_SUCCESS;
    return object(ACLNN_ERR_INNER,
                  "an executor is destroyed between the phases of another operator");
  });
}

aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                  void* address) {
  return change_address("aclSetInputTensorAddr", executor, kInputs, index, tensor, address);
}
aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                   void* address) {
  return change_address("aclSetOutputTensorAddr", executor, kOutputs, index, tensor, address);
}
aclnnStatus aclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                             void* address) {
  return change_address("aclSetTensorAddr", executor, kTensors, index, tensor, address);
}

aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t index, const size_t member,
                                         aclTensorList* list, void* address) {
  return change_address("aclSetDynamicInputTensorAddr", executor, kInputs, index, member, list,
                        address);
}
aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t index,
                                          const size_t member, aclTensorList* list, void* address) {
  return change_address("aclSetDynamicOutputTensorAddr", executor, kOutputs, index, member, list,
                        address);
}
aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor* executor, size_t index, const size_t member,
                                    aclTensorList* list, void* address) {
  return change_address("aclSetDynamicTensorAddr", executor, kTensors, index, member, list,
                        address);
}

aclnnStatus aclnnInit(const char* path) {
  return call("aclnnInit", Need::kInitialised, [&]() -> Status {
    if (path == nullptr || *path == '\0') return ACL_SUCCESS;
    const std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) return refuse(ACLNN_ERR_PARAM_INVALID, std::string(path) + " cannot be read");
    if (text.str().find("lite_exception") != std::string::npos)
      library().exception_information = true;
    return ACL_SUCCESS;
  });
}
aclnnStatus aclnnFinalize(void) {
  return call("aclnnFinalize", Need::kInitialised, []() -> Status { return ACL_SUCCESS; });
}
