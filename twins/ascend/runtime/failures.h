// Failures of tasks, told to the callback that a program registered.
#pragma once

#include <cstdint>

#include "ascend/call.h"

namespace ascend_twin {

/// For aclrtGetTaskIdFromExceptionInfo and the like.
struct Failure {
  std::uint32_t task_id = 0;
  std::int32_t stream_id = 0;
  std::int32_t device = 0;
  std::uint32_t thread_id = 0;  ///< of the thread that submitted the task
  Status code = ACL_SUCCESS;
};

/// On the stream's thread. The stream calls it before the task's end is seen, after it, or never,
/// as CALLBACK is set (stream.cpp). The callback may not call the library: strict mode objects.
void report_failure(const Failure& failure);

}  // namespace ascend_twin
