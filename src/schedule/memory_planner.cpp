#include "schedule/memory_planner.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/fail.h"

namespace shunt {

namespace {

struct Taken {
  std::size_t offset = 0;
  std::size_t bytes = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// The lowest offset in a block where a request fits beside those it lives together with. `taken`
/// is in the order of offsets.
std::optional<std::size_t> find_gap(const std::vector<Taken>& taken, const MemoryRequest& request,
                                    std::size_t bytes, std::size_t max_block) {
  std::size_t offset = 0;
  for (const Taken& other : taken) {
    if (other.last < request.first || request.last < other.first) continue;
    if (other.offset >= offset && other.offset - offset >= bytes) break;
    offset = std::max(offset, other.offset + other.bytes);
  }
  if (offset > max_block || bytes > max_block - offset) return std::nullopt;
  return offset;
}

}  // namespace

Result<MemoryLayout> plan_memory(std::span<const MemoryRequest> requests, std::size_t alignment,
                                 std::size_t max_block) {
  MemoryLayout layout;
  layout.places.resize(requests.size());
  std::vector<std::size_t> order(requests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return requests[a].bytes != requests[b].bytes ? requests[a].bytes > requests[b].bytes : a < b;
  });

  std::vector<std::vector<Taken>> blocks;
  for (std::size_t index : order) {
    const MemoryRequest& request = requests[index];
    if (request.bytes == 0) continue;
    if (request.bytes > max_block) {
      return fail(ErrorCode::kOutOfMemory, "a tensor of {} bytes, but one buffer holds at most {}",
                  request.bytes, max_block);
    }
    // A multiple of the alignment, so that offsets stay aligned; the last in a block may do
    // without.
    const std::size_t rounded = (request.bytes + alignment - 1) / alignment * alignment;
    const std::size_t bytes = std::max(request.bytes, std::min(rounded, max_block));
    std::optional<std::size_t> offset;
    std::size_t block = 0;
    for (; block < blocks.size() && !offset; ++block)
      offset = find_gap(blocks[block], request, bytes, max_block);
    if (offset) {
      --block;
    } else {
      blocks.emplace_back();
      layout.block_bytes.push_back(0);
      offset = 0;
    }
    layout.places[index] = {block, *offset};
    layout.block_bytes[block] = std::max(layout.block_bytes[block], *offset + bytes);
    auto& taken = blocks[block];
    const Taken entry{*offset, bytes, request.first, request.last};
    taken.insert(
        std::upper_bound(taken.begin(), taken.end(), entry,
                         [](const Taken& a, const Taken& b) { return a.offset < b.offset; }),
        entry);
  }
  return layout;
}

}  // namespace shunt
