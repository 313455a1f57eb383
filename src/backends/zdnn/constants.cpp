#include "backends/zdnn/constants.h"

#include <bit>
#include <vector>

namespace shunt::zdnn {

namespace {

/// Longer dimensions, for a tensor that starts with the same sticks.
Dims longer(const Machine& machine, Dims dims) {
  const auto up = [&](std::int64_t size, int dim) {
    const auto power = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(size)));
    return power <= machine.max_dim(dim) ? power : size;
  };
  if (dims.dim4 == 1 && dims.dim2 == 1) dims.dim1 = up(dims.dim1, 1);
  if (dims.dim4 == 1 && dims.dim1 == 1) dims.dim2 = up(dims.dim2, 2);
  return dims;
}

}  // namespace

const Ztensor* Constants::find(const Dims& dims, float value, std::uint32_t& status) {
  const std::lock_guard lock(mutex_);
  const Key key{dims.dim4, dims.dim2, dims.dim1, value};
  if (const auto found = made_.find(key); found != made_.end()) return found->second.get();
  std::byte* const memory = filled(longer(machine_, dims), value, status);
  if (memory == nullptr) return nullptr;
  Stick& made = made_[key];
  made.set(machine_.zdnn(), memory, dims, true);
  return made.get();
}

std::byte* Constants::filled(const Dims& dims, float value, std::uint32_t& status) {
  const Key key{dims.dim4, dims.dim2, dims.dim1, value};
  if (const auto found = memory_.find(key); found != memory_.end()) return found->second.get();
  AlignedBytes memory = allocate_aligned(stick_bytes(dims), kPage);
  if (memory == nullptr) {
    status = kAllocationFailure;
    return nullptr;
  }
  const std::vector<float> values(static_cast<std::size_t>(dims.dim4 * dims.dim2 * dims.dim1),
                                  value);
  Stick stick;
  stick.set(machine_.zdnn(), memory.get(), dims);
  status = machine_.zdnn().transform_ztensor(stick.get(), values.data());
  if (status != kOk) return nullptr;
  bytes_ += stick_bytes(dims);
  return (memory_[key] = std::move(memory)).get();
}

}  // namespace shunt::zdnn
