// How bytes get from one device of a test to another, and how these devices report errors.
#pragma once

#include <ostream>
#include <set>
#include <string>

#include "support/test_device.h"

namespace shunt::test {

struct Way {
  const char* name;
  bool directly = false;        ///< without the host between them
  bool pinned = false;          ///< through staging memory of their own
  bool events = true;           ///< else the host waits
  bool asynchronous = true;     ///< in a world
  bool late = false;            ///< queues go on after a failed task
  bool transfer_queue = false;  ///< for copies, in addition to that for computing

  friend void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }
};

/// A device that computes these ops; all ops if there are none.
inline TestDeviceConfig config_of(const Way& way, const char* name, std::set<std::string> ops,
                                  TestWorld& world) {
  return {.name = name,
          .ops = std::move(ops),
          .pins_memory = way.pinned,
          .copies_directly = way.directly,
          .world = way.asynchronous ? &world : nullptr,
          .has_events = way.events,
          .late_errors = way.late,
          .transfer_queue = way.transfer_queue};
}

}  // namespace shunt::test
