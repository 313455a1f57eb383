#include "engine/load/host_layout.h"

#include <algorithm>
#include <numeric>

#include "base/to_size.h"
#include "tensor/bytes_of.h"

namespace shunt {

std::size_t HostLayout::slot_bytes() const {
  return std::accumulate(block_bytes.begin(), block_bytes.end(), std::size_t{0});
}

std::size_t HostLayout::bytes() const {
  return to_size(slots) * slot_bytes();
}

std::size_t HostLayout::offset(std::size_t cache, std::int64_t slot) const {
  const auto before = block_bytes.begin() + static_cast<std::ptrdiff_t>(cache);
  return std::accumulate(block_bytes.begin(), before, std::size_t{0}) * to_size(slots) +
         block_bytes[cache] * to_size(slot);
}

HostLayout host_layout(const StepGraph& step, std::uint64_t budget) {
  HostLayout layout;
  for (const NodeId cache : step.caches) {
    const Tensor& tensor = step.graph.node(cache).result;
    const bool is_state = std::ranges::count(step.states, cache) > 0;
    const std::size_t row = bytes_of(tensor) / to_size(tensor.size(1));
    layout.block_bytes.push_back(is_state ? 0 : row * to_size(kCacheBlock));
  }
  const std::size_t slot = layout.slot_bytes();
  if (slot > 0) layout.slots = static_cast<std::int64_t>(budget / slot);
  return layout;
}

}  // namespace shunt
