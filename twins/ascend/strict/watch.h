// Strict mode's eyes on queued work: memory that is freed, reused or changed under it, and streams
// that use the same bytes without an event between them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ascend/call.h"
#include "ascend/memory/space.h"
#include "ascend/runtime/task.h"

namespace ascend_twin {

/// Of one task in a queue; gone when the task is done or dropped. Null without strict mode.
struct Watch {
  /// Of the host, to be copied: how they were when the copy was submitted.
  struct HostBytes {
    const std::byte* host = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t digest = 0;
  };
  std::vector<std::shared_ptr<Range>> ranges;  ///< each counts the task in Range::queued
  std::int32_t stream = 0;
  std::uint64_t number = 0;  ///< in the order of the stream (order.h)
  std::string name;          ///< of the task
  Task::Kind kind = Task::Kind::kKernel;
  std::vector<Extent> extents;
  std::vector<HostBytes> sources;

  Watch(std::int32_t of_stream, const Task& task);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
};

/// `stream` is the number of the stream. On the caller's thread, before the task is queued. An
/// objection refuses the call.
Status work_submitted(std::int32_t stream, const Task& task, std::shared_ptr<Watch>* watch);

/// On the stream's thread, before the body. An objection is the late error, and the body is left
/// out.
Status work_begins(std::int32_t stream, const Task& task, Watch* watch);

/// For calls that touch memory at once (aclrtMemcpy, aclrtMemset): objects to bytes that queued
/// work writes, or reads where `writes`.
Status host_touches(const void* address, std::uint64_t bytes, bool writes, const char* call);

}  // namespace ascend_twin
