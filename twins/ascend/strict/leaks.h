// Strict mode at the last finalize: whatever a program did not give back.
#pragma once

#include "ascend/call.h"

namespace ascend_twin {

/// Objects to executors that never ran, memory, streams, events, descriptors and models alive. The
/// sentence lists each kind with its number.
Status check_leaks();

}  // namespace ascend_twin
