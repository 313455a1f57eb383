#include "ascend/ops/executor.h"

#include <bit>
#include <mutex>
#include <set>

#include "ascend/resets.h"

namespace ascend_twin {
namespace {

struct Cache {
  std::mutex mutex;
  std::set<std::string> keys;
};
Cache& cache() {
  static auto* all = new Cache;  // no destructor runs at exit
  return *all;
}

void append(std::string& key, const Shape& shape) {
  key += text_of(shape);
}

/// All that decides about kernels; addresses do not.
std::string key_of(const Call& call) {
  std::string key = call.op().name;
  for (std::size_t i = 0; i < call.size(); ++i) {
    const Argument& argument = call.at(i);
    key += '|';
    for (const View& view : argument.views) {
      key += std::to_string(view.type) + ',' + std::to_string(view.format) + ',';
      append(key, view.shape);
      append(key, view.strides);
      append(key, view.storage);
      key += std::to_string(view.offset) + ';';
    }
    key += std::to_string(argument.type) + ',' + std::to_string(argument.integer) + ',' +
           std::to_string(std::bit_cast<std::uint64_t>(argument.real)) + ',' + argument.text;
    append(key, argument.integers);
  }
  return key;
}

/// Position of the argument; size() if there is none.
std::size_t find_argument(const Call& call, std::string_view roles, std::size_t index) {
  for (std::size_t i = 0; i < call.size(); ++i) {
    if (roles.find(call.role(i)) == std::string_view::npos) continue;
    if (index == 0) return i;
    --index;
  }
  return call.size();
}

const AtReset drop_executors([] {
  executors().clear();
  const std::lock_guard lock(cache().mutex);
  cache().keys.clear();
});

}  // namespace

Handles<aclOpExecutor>& executors() {
  static auto* all = new Handles<aclOpExecutor>;  // no destructor runs at exit
  return *all;
}

bool is_in_cache(const Call& call) {
  if (setting(Setting::kExecutorCache) == 0) return false;
  const std::lock_guard lock(cache().mutex);
  return !cache().keys.insert(key_of(call)).second;
}

void leave_cache(const Call& call) {
  const std::lock_guard lock(cache().mutex);
  cache().keys.erase(key_of(call));
}

std::vector<std::weak_ptr<void>> descriptors_of(const Call& call) {
  std::vector<std::weak_ptr<void>> live;
  const auto keep = [&](const std::shared_ptr<void>& descriptor) { live.push_back(descriptor); };
  for (std::size_t i = 0; i < call.size(); ++i) {
    const Argument& argument = call.at(i);
    if (argument.handle == nullptr) continue;
    switch (argument.kind) {
      case Argument::Kind::kTensor:
        keep(descriptors().tensors.find(argument.handle));
        break;
      case Argument::Kind::kList:
        keep(descriptors().tensor_lists.find(argument.handle));
        break;
      case Argument::Kind::kScalar:
        keep(descriptors().scalars.find(argument.handle));
        break;
      case Argument::Kind::kIntegers:
        keep(descriptors().int_arrays.find(argument.handle));
        break;
      default:
        break;
    }
  }
  return live;
}

Status set_address(aclOpExecutor& executor, std::string_view roles, std::size_t index,
                   const aclTensor* tensor, void* address) {
  Call& call = executor.call;
  if (tensor == nullptr) return refuse(ACLNN_ERR_INNER_NULLPTR, "the tensor is null");
  const std::size_t position = find_argument(call, roles, index);
  if (position == call.size())
    return refuse(ACLNN_ERR_PARAM_INVALID, std::string("aclnn") + call.op().name +
                                               " has no tensor " + std::to_string(index));
  if (call.at(position).kind != Argument::Kind::kTensor || call.at(position).handle != tensor)
    return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(position) + ", made from another tensor");
  for (std::size_t i = 0; i < call.size(); ++i) {
    Argument& argument = call.at(i);
    if (argument.kind == Argument::Kind::kTensor && argument.handle == tensor)
      argument.views.front().base = address;
  }
  return ACL_SUCCESS;
}

Status set_address(aclOpExecutor& executor, std::string_view roles, std::size_t index,
                   std::size_t member, const aclTensorList* list, void* address) {
  Call& call = executor.call;
  if (list == nullptr) return refuse(ACLNN_ERR_INNER_NULLPTR, "the list is null");
  const std::size_t position = find_argument(call, roles, index);
  if (position == call.size())
    return refuse(ACLNN_ERR_PARAM_INVALID, std::string("aclnn") + call.op().name +
                                               " has no tensor " + std::to_string(index));
  Argument& argument = call.at(position);
  if (argument.kind != Argument::Kind::kList || argument.handle != list)
    return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(position) + ", made from another list");
  if (member >= argument.views.size()) {
    return refuse(ACLNN_ERR_PARAM_INVALID, "member " + std::to_string(member) + " of a list of " +
                                               std::to_string(argument.views.size()));
  }
  argument.views[member].base = address;
  return ACL_SUCCESS;
}

}  // namespace ascend_twin
