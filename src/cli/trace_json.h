// A trace in the format that trace viewers open.
#pragma once

#include <string>

#include "shunt/trace.h"

namespace shunt::cli {

/// Chrome's trace event format, in JSON: a thread for each stream of a device and one for the host,
/// an event for each span, and an arrow from what was computed to the copies of it and on to who
/// reads them. Times are in microseconds from the first span on. Where streams of one device were
/// at work at the same time (sessions side by side) each gets a thread.
std::string to_trace_json(const Trace& trace);

}  // namespace shunt::cli
