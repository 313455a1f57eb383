#include "ascend/strict/order.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "ascend/resets.h"

namespace ascend_twin {
namespace {

/// Of each stream, by its number: how many of its tasks come before.
using Clock = std::map<std::int32_t, std::uint64_t>;
struct Record {
  std::weak_ptr<Event> event;
  Clock clock;
};

struct Orders {
  std::mutex mutex;
  std::map<std::int32_t, Clock> streams;
  std::map<const Event*, Record> records;
};
Orders& orders() {
  static auto* all = new Orders;  // no destructor runs at exit
  return *all;
}

void drop_dead_records() {
  constexpr std::size_t kEnough = 1024;
  if (orders().records.size() < kEnough) return;
  std::erase_if(orders().records, [](const auto& entry) { return entry.second.event.expired(); });
}

const AtReset drop_orders([] {
  const std::lock_guard lock(orders().mutex);
  orders().streams.clear();
  orders().records.clear();
});

}  // namespace

std::uint64_t enter_order(std::int32_t stream, const Task& task) {
  const std::lock_guard lock(orders().mutex);
  Clock& clock = orders().streams[stream];
  const std::uint64_t number = ++clock[stream];
  if (task.kind == Task::Kind::kRecord) {
    drop_dead_records();
    orders().records[task.event.get()] = {task.event, clock};
  } else if (task.kind == Task::Kind::kWait) {
    const auto found = orders().records.find(task.event.get());
    if (found == orders().records.end() || found->second.event.expired()) return number;
    for (const auto& [other, count] : found->second.clock)
      clock[other] = std::max(clock[other], count);
  }
  return number;
}

bool is_before(std::int32_t earlier, std::uint64_t number, std::int32_t later) {
  const std::lock_guard lock(orders().mutex);
  return orders().streams[later][earlier] >= number;
}

bool is_before(std::int32_t earlier, std::int32_t later) {
  const std::lock_guard lock(orders().mutex);
  return orders().streams[later][earlier] >= orders().streams[earlier][earlier];
}

}  // namespace ascend_twin
