// State of the calling thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ascend/runtime/state.h"

namespace ascend_twin {

struct Thread {
  std::weak_ptr<Context> context;        ///< the current one; expired with the device's last reset
  std::string error_text;                ///< for aclGetRecentErrMsg; empty after a read
  std::string error_text_given;          ///< the text that was read last, whose pointer is valid
  std::int32_t runtime_error = 0;        ///< for aclrtGetLastError
  std::uint32_t last_task = 0;           ///< of the last submission, for aclrtGetThreadLastTaskId
  bool aftermath = false;                ///< a failed first phase spoils the next one (facts B)
  bool saturates = false;                ///< of a stream: as its device was set when it was made
  bool in_callback = false;              ///< inside a callback of a failure, or a host function
  bool is_of_stream = false;             ///< the thread of a stream
  std::int32_t capture_mode = 0;         ///< aclmdlRICaptureThreadExchangeMode
  const void* fresh_executor = nullptr;  ///< of the last first phase: may become repeatable
};
Thread& this_thread();

/// While it lives, the thread runs a function of the program that may not call the library.
struct InCallback {
  InCallback() { this_thread().in_callback = true; }
  ~InCallback() { this_thread().in_callback = false; }
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;
};

bool is_initialised();

/// Counts one call for FAIL_LOST; whether the context's device is lost.
bool is_lost(const Context& context);

}  // namespace ascend_twin
