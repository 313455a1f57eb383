// A device that computes with another's kernels, but in memory of its own, which neither the host
// nor any other device can touch: its inputs have to be brought there. Every allocation is counted,
// and running allocates nothing if the other's running does not.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "shunt/device.h"

namespace shunt::test {

struct RemotePinned {
  std::size_t memory = std::size_t{1} << 30;      ///< bytes there are
  std::size_t max_buffer = std::size_t{1} << 30;  ///< bytes of its largest buffer
};

struct RemoteConfig {
  std::string name = "remote0";
  std::set<std::string> ops = {};           ///< names of those it supports; empty: all
  bool copies_directly = false;             ///< from other remote devices
  std::optional<RemotePinned> pinned = {};  ///< its staging memory, if it has any
};

/// Memory out of another type's that the host can touch.
class RemoteMemory final : public BufferType {
 public:
  RemoteMemory(std::string name, BufferType& inner, bool host_accessible, RemotePinned limits)
      : name_(std::move(name)), inner_(inner), host_accessible_(host_accessible), limits_(limits) {}
  std::string_view name() const override { return name_; }
  std::size_t alignment() const override { return inner_.alignment(); }
  std::size_t max_size() const override { return limits_.max_buffer; }
  bool host_accessible() const override { return host_accessible_; }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override;

  /// How often it was asked, with or without success, and the most bytes at once.
  std::size_t allocations = 0;
  std::size_t largest = 0;
  std::size_t used = 0;  ///< bytes that are allocated

 private:
  std::string name_;
  BufferType& inner_;
  bool host_accessible_;
  RemotePinned limits_;
};

class RemoteDevice final : public Device {
 public:
  /// `inner`, whose memory the host can touch, must outlive it.
  RemoteDevice(Device& inner, RemoteConfig config);
  std::string_view name() const override { return config_.name; }
  DeviceInfo info() const override;
  Support supports(const Graph& graph, NodeId node, MemoryOfLeaves memory = {}) const override;
  bool can_read(const BufferType& type) const override { return &type == &memory_; }
  bool can_copy_from(const BufferType& type) const override;
  RemoteMemory& memory() override { return memory_; }
  RemoteMemory* staging_memory() override { return config_.pinned ? &pinned_ : nullptr; }
  Result<std::unique_ptr<Stream>> open_stream() override;
  Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) override;
  /// How often any memory of it was asked for.
  std::size_t allocations() const { return memory_.allocations + pinned_.allocations; }

 private:
  Device& inner_;
  RemoteConfig config_;
  RemoteMemory memory_;
  RemoteMemory pinned_;
};

}  // namespace shunt::test
