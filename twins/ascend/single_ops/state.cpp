#include "ascend/single_ops/state.h"

#include "ascend/runtime/state.h"

namespace ascend_twin {
namespace {

struct Kept {
  std::mutex mutex;
  std::weak_ptr<Device> device;  ///< the first of the state's devices
  std::shared_ptr<SingleOpState> state = std::make_shared<SingleOpState>();
};
Kept& kept() {
  static auto* all = new Kept;  // no destructor runs at exit
  return *all;
}

std::shared_ptr<Device> first_device() {
  const std::lock_guard lock(library().mutex);
  return library().devices.empty() ? nullptr : library().devices.front();
}

}  // namespace

std::shared_ptr<SingleOpState> single_op_state() {
  const std::shared_ptr<Device> device = first_device();
  const std::lock_guard lock(kept().mutex);
  if (kept().device.lock() != device) {
    kept().device = device;
    kept().state = std::make_shared<SingleOpState>();
  }
  return kept().state;
}

}  // namespace ascend_twin
