#include "ascend/strict/watch.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "ascend/strict/order.h"

namespace ascend_twin {
namespace {

/// Of all tasks that are queued or at work.
struct Watches {
  std::mutex mutex;
  std::vector<const Watch*> all;
};
Watches& watches() {
  static auto* all = new Watches;  // no destructor runs at exit
  return *all;
}

std::uintptr_t begin_of(const Extent& extent) {
  return reinterpret_cast<std::uintptr_t>(extent.address);
}

bool conflicts(const Extent& a, const Extent& b) {
  return (a.writes || b.writes) && a.bytes != 0 && b.bytes != 0 &&
         begin_of(a) < begin_of(b) + b.bytes && begin_of(b) < begin_of(a) + a.bytes;
}

std::uint64_t digest_of(const std::byte* host, std::uint64_t bytes) {
  std::uint64_t sum = 0x9E3779B97F4A7C15U;
  for (std::uint64_t at = 0; at < bytes; at += sizeof sum) {
    std::uint64_t word = 0;
    std::memcpy(&word, host + at, std::min<std::uint64_t>(sizeof word, bytes - at));
    sum = (sum ^ word) * 0xD6E8FEB86659FD93U;
    sum ^= sum >> 32;
  }
  return sum;
}

/// Vector kernels touch up to 32 bytes past an operand's end.
Status check_tail(const Task& task, const Extent& extent, const Range& range) {
  const std::uint64_t end = begin_of(extent) - range.begin + extent.bytes;
  if (task.kind != Task::Kind::kKernel || !range.is_device() || extent.bytes == 0)
    return ACL_SUCCESS;
  if (end > range.reserved || range.reserved - end >= kTail) return ACL_SUCCESS;
  return object(ACL_ERROR_RT_PARAM_INVALID,
                task.name + ": " + extent.what + " ends " + std::to_string(range.reserved - end) +
                    " bytes before the end of allocation " + std::to_string(range.number) +
                    ", without the tail of 32");
}

/// The first extents of two tasks that must not run at once.
struct Conflict {
  std::string name, mine, others;
};
/// Under the mutex.
bool find_conflict(const Watch& watch, Conflict* conflict) {
  for (const Watch* other : watches().all) {
    if (other->stream == watch.stream || is_before(other->stream, other->number, watch.stream))
      continue;
    for (const Extent& mine : watch.extents) {
      for (const Extent& theirs : other->extents) {
        if (!conflicts(mine, theirs)) continue;
        *conflict = {other->name, mine.what, theirs.what};
        return true;
      }
    }
  }
  return false;
}

/// Registers it unless there is a conflict: of two threads that submit at once, one sees the other.
bool add_unless_conflict(const Watch& watch, Conflict* conflict) {
  const std::lock_guard lock(watches().mutex);
  if (find_conflict(watch, conflict)) return false;
  watches().all.push_back(&watch);
  return true;
}

/// Bytes that queued work writes; a host function that comes before may write any.
bool is_written_by_queued_work(const Watch& of, const Extent& extent) {
  const std::lock_guard lock(watches().mutex);
  return std::any_of(watches().all.begin(), watches().all.end(), [&](const Watch* watch) {
    if (watch->kind == Task::Kind::kHost &&
        (watch->stream == of.stream || is_before(watch->stream, watch->number, of.stream)))
      return true;
    return std::any_of(watch->extents.begin(), watch->extents.end(), [&](const Extent& other) {
      return other.writes && conflicts(extent, other);
    });
  });
}

void take_digest(Watch& watch, const Task& task, const Extent& extent, const Range* range) {
  if (task.kind != Task::Kind::kCopy || extent.writes || extent.bytes == 0) return;
  if (range != nullptr && range->kind != MemoryKind::kHost &&
      range->kind != MemoryKind::kRegistered)
    return;
  if (is_written_by_queued_work(watch, extent)) return;
  const Found found = space().find_any(extent.address, extent.bytes);
  if (found.host == nullptr) return;
  watch.sources.push_back({found.host, extent.bytes, digest_of(found.host, extent.bytes)});
}

}  // namespace

Watch::Watch(std::int32_t of_stream, const Task& task)
    : stream(of_stream),
      number(enter_order(of_stream, task)),
      name(task.name),
      kind(task.kind),
      extents(task.extents) {}

Watch::~Watch() {
  {
    const std::lock_guard lock(watches().mutex);
    std::erase(watches().all, this);
  }
  for (const auto& range : ranges) --range->queued;
}

Status work_submitted(std::int32_t stream, const Task& task, std::shared_ptr<Watch>* watch) {
  if (!is_strict()) return ACL_SUCCESS;
  auto made = std::make_shared<Watch>(stream, task);
  for (const Extent& extent : task.extents) {
    auto range = space().range_of(extent.address);
    if (range != nullptr) ASCEND_TWIN_TRY(check_tail(task, extent, *range));
    take_digest(*made, task, extent, range.get());
    if (range == nullptr) continue;
    ++range->queued;
    made->ranges.push_back(std::move(range));
  }
  if (Conflict conflict; !add_unless_conflict(*made, &conflict)) {
    ASCEND_TWIN_TRY(object(ACL_ERROR_RT_PARAM_INVALID,
                           task.name + " (" + conflict.mine + ") and " + conflict.name + " (" +
                               conflict.others +
                               ") of another stream use the same bytes without an event between "
                               "them"));
    return ACL_SUCCESS;  // strict mode was turned off meanwhile
  }
  *watch = std::move(made);
  return ACL_SUCCESS;
}

Status work_begins(std::int32_t /*stream*/, const Task& task, Watch* watch) {
  if (watch == nullptr) return ACL_SUCCESS;
  for (const Watch::HostBytes& source : watch->sources) {
    if (digest_of(source.host, source.bytes) == source.digest) continue;
    return object_late(ACL_ERROR_RT_AICORE_EXCEPTION,
                       task.name + ": the host changed the memory of a queued copy");
  }
  return ACL_SUCCESS;
}

Status host_touches(const void* address, std::uint64_t bytes, bool writes, const char* call) {
  if (!is_strict() || bytes == 0) return ACL_SUCCESS;
  const Extent extent{address, bytes, writes, ""};
  std::string found;
  {
    const std::lock_guard lock(watches().mutex);
    for (const Watch* watch : watches().all) {
      for (const Extent& queued : watch->extents) {
        if (found.empty() && conflicts(extent, queued))
          found = watch->name + " (" + queued.what + ")";
      }
    }
  }
  if (found.empty()) return ACL_SUCCESS;
  return object(ACL_ERROR_RT_PARAM_INVALID,
                std::string(call) + " of memory that queued work uses: " + found);
}

}  // namespace ascend_twin
