// A bound segment: its nodes, and the memory that their calls use.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cann/kernel.h"
#include "backends/cann/memory.h"

namespace shunt::cann {

/// A node of a segment, or several that are fused.
struct PreparedNode {
  NodeId id = 0;      ///< the node that the kernel is asked for
  NodeId result = 0;  ///< the same, or the last one of nodes that are fused
  std::vector<NodeId> sources;
  const CannKernel* kernel = nullptr;
  std::string name = {};  ///< for errors
};

/// The counters of a binding's checks: on the device, and where a run copies them to.
class FaultCounters {
 public:
  /// Zeros.
  static Result<std::shared_ptr<FaultCounters>> create(
      const std::shared_ptr<const DeviceContext>& context, std::vector<FaultText> texts,
      std::vector<std::string> names);
  DevicePointer device() const { return device_->address(); }
  std::byte* host() const { return host_.get(); }
  std::size_t bytes() const { return texts_.size() * kFaultBytes; }
  /// The first check that failed, as the last run that ended copied it; nothing if none did.
  std::optional<Error> found() const;
  /// Sets them to 0. All runs must have ended.
  Status reset() const;

 private:
  std::shared_ptr<const DeviceContext> context_;
  std::vector<FaultText> texts_;
  std::vector<std::string> names_;  // of their nodes
  std::unique_ptr<Allocation> device_;
  std::shared_ptr<std::byte> host_;
};

/// Shared by all bindings of a program.
struct ProgramParts {
  const Graph& graph;
  const CannTarget& target;
  std::vector<PreparedNode> nodes;
  std::vector<MemoryWrite> writes = {};
  CallPlan plan;
  std::unique_ptr<Allocation> constants = nullptr;
  MemoryOfLeaves memory = {};
  std::vector<const BufferType*> memory_kinds = {};
};

class CannBinding final : public Binding {
 public:
  CannBinding(std::shared_ptr<ProgramParts> parts, std::uint64_t number)
      : parts_(std::move(parts)), number_(number) {}

  const ProgramParts& parts() const { return *parts_; }
  /// One that no other binding of the process ever has.
  std::uint64_t number() const { return number_; }
  /// The largest number of columns that a product of the segment has in a run.
  std::int64_t columns(const DynamicDimValues& dims) const;
  /// Makes all calls on a stream. An error names the node. `recording`: keeps them; or null.
  Status call(const DeviceContext& context, StreamHandle stream, const RunArgs& args,
              WorkspaceReserve& reserve, Recording* recording = nullptr);
  /// Makes the calls of a run with the same sizes again.
  Status repeat(const DeviceContext& context, StreamHandle stream, const Recording& recording);

  std::vector<DevicePointer> addresses;  ///< by node id
  CallMemory memory;
  std::shared_ptr<FaultCounters> faults;  ///< null: there are no checks

 private:
  Status copy_faults(const DeviceContext& context, StreamHandle stream) const;

  std::shared_ptr<ProgramParts> parts_;
  std::uint64_t number_;
};

}  // namespace shunt::cann
