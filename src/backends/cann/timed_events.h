// Events of a device that know their times, for its EventClock.
#pragma once

#include <memory>

#include "backend_support/event_clock.h"
#include "backends/cann/device_context.h"

namespace shunt::cann {

/// Null if the library lacks a function for it.
std::unique_ptr<TimedEvents> timed_events(std::shared_ptr<const DeviceContext> context);

}  // namespace shunt::cann
