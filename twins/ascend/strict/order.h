// Strict mode: which work of which streams comes before which, by the events between them.
#pragma once

#include <cstdint>

#include "ascend/runtime/task.h"

namespace ascend_twin {

/// The number of the next task of the stream. Records and waits of events are followed.
std::uint64_t enter_order(std::int32_t stream, const Task& task);

/// Whether the stream `later` waits for task `number` of the stream `earlier` before its next one.
bool is_before(std::int32_t earlier, std::uint64_t number, std::int32_t later);
/// The same for all tasks so far.
bool is_before(std::int32_t earlier, std::int32_t later);

}  // namespace ascend_twin
