// One piece of work, as data: a stream executes it in its turn, a capture keeps it and its model
// executes it again and again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ascend/call.h"

namespace ascend_twin {

class Stream;
struct Event;

/// Memory that a task touches, by device or host address. Strict mode checks it when the task is
/// submitted, in its turn, and against tasks of other streams. The task looks addresses up anew in
/// its turn (memory/space.h), never before.
struct Extent {
  const void* address = nullptr;
  std::uint64_t bytes = 0;
  bool writes = false;
  std::string what;  ///< "result", "workspace", "operand 1"
};

/// The circumstances of one execution.
struct Run {
  Stream* stream = nullptr;
  std::int32_t device = 0;
  std::uint32_t task_id = 0;  ///< the task's number in its stream
  std::uint64_t tick = 0;     ///< microseconds of the twin's clock
  bool is_replay = false;
};

/// Immutable: `body` runs any number of times, on threads of streams. Its arguments were bound when
/// it was submitted; device memory is read and written only in the body. A code other than
/// ACL_SUCCESS is the stream's late error. An exception is one, too.
struct Task {
  enum class Kind : std::uint8_t { kKernel, kCopy, kFill, kHost, kRecord, kWait, kReplay };
  Kind kind = Kind::kKernel;
  std::string name;  ///< "aclnnAdd", "aclrtMemcpyAsync"
  std::vector<Extent> extents;
  std::function<Status(const Run&)> body;
  std::shared_ptr<Event> event;  ///< of kRecord and kWait: captures follow it
  std::uint64_t record = 0;      ///< its number
};
using TaskPointer = std::shared_ptr<const Task>;

}  // namespace ascend_twin
