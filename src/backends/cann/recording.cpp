#include "backends/cann/recording.h"

#include "shunt/message.h"

namespace shunt::cann {

bool Recording::make_repeatable(ExecutorHandle executor) {
  return complete_ && context_->symbols().set_repeatable(executor) == kSuccess;
}

void Recording::add(const char* name, const OpFunctions& functions, DevicePointer workspace,
                    std::uint64_t bytes, ExecutorHandle executor,
                    std::vector<std::function<void()>> descriptors) {
  launches_.push_back({name, functions.second, workspace, bytes, executor, std::move(descriptors)});
}

void Recording::give_up() {
  complete_ = false;
}

void Recording::clear() {
  if (launches_.empty()) return;
  if (context_->health()->is_hung()) return launches_.clear();  // calls may block
  const DeviceContext::Current current(*context_);
  for (Launch& launch : launches_) {
    (void)context_->symbols().destroy_executor(launch.executor);
    for (const auto& destroy : launch.descriptors) destroy();
  }
  launches_.clear();
}

Status Recording::launch(StreamHandle stream) const {
  for (const Launch& each : launches_) {
    const Status32 status =
        each.second(each.bytes == 0 ? nullptr : each.workspace, each.bytes, each.executor, stream);
    if (status != kSuccess) return context_->check(status, fmt::format("aclnn{}", each.name));
  }
  return ok();
}

}  // namespace shunt::cann
