// A trace in the format that trace viewers open.
#pragma once

#include <string>

#include "shunt/trace.h"

namespace shunt::cli {

/// Chrome's trace event format, in JSON. Each stream of a device and the host is a thread, and each
/// span is an event. Arrows lead from a computed value to the copies of it, and from these to their
/// readers. Times are in microseconds from the first span on. Where streams of one device were at
/// work at the same time (sessions side by side) each gets a thread.
std::string to_trace_json(const Trace& trace);

}  // namespace shunt::cli
