// Which pieces of work are ordered: by their streams, by events, by waits of the host. A piece of
// work has a number, from 1; 0 is none, and is ordered before everything.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace cuda_twin {

/// Thread-safe. All host threads count as one: what one of them waited for is ordered before all
/// that any of them submits later.
class WorkOrder {
 public:
  WorkOrder();
  ~WorkOrder();
  WorkOrder(const WorkOrder&) = delete;
  WorkOrder& operator=(const WorkOrder&) = delete;

  /// A new piece of work, submitted now, that runs after each of `predecessors` and after all that
  /// the host has waited for. A stream passes its last piece of work first, then those that it
  /// waits for; a node of a graph passes the nodes that it depends on. `name` appears in reports:
  /// "kernel add", "copy to device".
  std::uint64_t after(std::span<const std::uint64_t> predecessors, std::string name);
  /// The host knows that this piece of work has ended: cuStreamSynchronize, cuEventQuery, a
  /// synchronous copy.
  void host_waited(std::uint64_t work);
  /// Whether `before` ends before `later` begins, whatever the timing.
  bool ordered(std::uint64_t before, std::uint64_t later) const;
  /// All work up to this number is ordered before `work`.
  std::uint64_t horizon(std::uint64_t work) const;
  /// How this piece of work describes one of its accesses (races/cells.h): "block 3, warp 1, lane 0
  /// at line 12". Kept with the work.
  using Describe = std::function<std::string(std::int64_t mark)>;
  void set_describe(std::uint64_t work, Describe describe);
  /// Name of the work, and its description of an access.
  std::string describe(std::uint64_t work, std::int64_t mark) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cuda_twin
