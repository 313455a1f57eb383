// Events of a device that know their times, for its EventClock.
#pragma once

#include <memory>

#include "backend_support/event_clock.h"
#include "backends/cuda/driver.h"

namespace shunt::cuda {

std::unique_ptr<TimedEvents> timed_events(std::shared_ptr<Context> context);

}  // namespace shunt::cuda
