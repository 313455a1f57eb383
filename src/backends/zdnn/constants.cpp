#include "backends/zdnn/constants.h"

#include <vector>

namespace shunt::zdnn {

const Ztensor* Constants::find(const Dims& dims, float value, std::uint32_t& status) {
  const std::lock_guard lock(mutex_);
  const Key key{dims.dim4, dims.dim2, dims.dim1, value};
  if (const auto found = made_.find(key); found != made_.end()) return found->second.stick.get();
  AlignedBytes memory = allocate_aligned(stick_bytes(dims), kPage);
  if (memory == nullptr) {
    status = kAllocationFailure;
    return nullptr;
  }
  const std::vector<float> values(static_cast<std::size_t>(dims.dim4 * dims.dim2 * dims.dim1),
                                  value);
  Constant& made = made_[key];
  made.stick.set(machine_.zdnn(), memory.get(), dims);
  made.memory = std::move(memory);
  status = machine_.zdnn().transform_ztensor(made.stick.get(), values.data());
  if (status == kOk) return made.stick.get();
  made_.erase(key);
  return nullptr;
}

}  // namespace shunt::zdnn
