// A device that exists only in tests, and is what a test wants it to be: which ops it supports,
// whether the host can touch its memory, how much it has. It computes with each op's plain
// reference, so it needs no backend.
#pragma once

#include <set>
#include <string>

#include "shunt/device.h"

namespace shunt::test {

struct TestDeviceConfig {
  std::string name = "test0";
  DeviceKind kind = DeviceKind::kAccelerator;
  int priority = 1;
  std::set<std::string> ops;  ///< names of those it supports; empty: all
  bool host_accessible = false;
  std::size_t memory = std::size_t{1} << 30;      ///< bytes it has
  std::size_t max_buffer = std::size_t{1} << 30;  ///< bytes of its largest buffer
};

class TestMemory;

class TestDevice final : public Device {
 public:
  explicit TestDevice(TestDeviceConfig config);
  ~TestDevice() override;
  DeviceInfo info() const override;
  Support supports(const Graph& graph, NodeId node) const override;
  bool can_read(const BufferType& type) const override;
  BufferType& memory() override;
  Result<std::unique_ptr<Stream>> open_stream() override;
  Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) override;

  /// How many nodes it has computed, in all runs.
  std::size_t computed() const { return computed_; }
  /// Bytes of its memory that are allocated.
  std::size_t allocated() const;

 private:
  friend class TestBinding;
  TestDeviceConfig config_;
  std::unique_ptr<TestMemory> memory_;
  std::size_t computed_ = 0;
};

}  // namespace shunt::test
