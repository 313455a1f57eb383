// An accelerator of tests, made of the parts of backend_support: asynchronous, with memory out of
// the host's reach, packed weights, captured graphs, a queue for computing and one for transfers,
// and errors that come late. It computes with each op's plain reference.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "backend_support/device_health.h"
#include "backend_support/graph_cache.h"
#include "backend_support/pinned_memory.h"
#include "support/test_world.h"

namespace shunt::test {

struct TestAcceleratorConfig {
  std::string name = "accel0";
  std::set<std::string> ops = {};  ///< names of those it supports; empty: all
  TestWorld* world = nullptr;      ///< where its queues are; null: each has a thread
  std::size_t graphs = 16;         ///< captured ones that a stream keeps
  std::int64_t granularity = 1;    ///< of dynamic dimensions that grow
};

class TestAccelerator final : public Device {
 public:
  explicit TestAccelerator(TestAcceleratorConfig config);
  std::string_view name() const override { return config_.name; }
  DeviceInfo info() const override;
  std::uint64_t memory_free() const override { return kMemory; }
  Support supports(const Graph& graph, NodeId node, MemoryOfLeaves memory) const override;
  bool can_copy_from(const BufferType& type) const override;
  bool offload_op(const Graph& graph, NodeId node) const override;
  bool can_read(const BufferType& type) const override {
    return &type == memory_.get() || &type == weights_.get();
  }
  BufferType& memory() override { return *memory_; }
  BufferType* staging_memory() override { return &staging_; }
  /// Packed memory for leaves that are only sources of products.
  std::vector<WeightCandidate> weight_forms(const Graph&, NodeId) override {
    return {{weights_.get(), false, 0.5, "reversed"}};
  }
  Result<std::unique_ptr<Stream>> open_stream() override;
  bool has_transfer_queue() const override { return true; }
  Result<std::unique_ptr<Stream>> open_transfer_stream() override;
  Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) override;

  /// Called before each launch; its error is that of the launch. May be empty.
  std::function<Status(NodeId)> on_launch;
  GraphCacheCounts graphs;  ///< of the stream that ran last

 private:
  static constexpr std::uint64_t kMemory = std::uint64_t{1} << 30;
  TestAcceleratorConfig config_;
  std::unique_ptr<BufferType> memory_;
  std::unique_ptr<BufferType> weights_;
  PinnedMemory staging_;
  std::shared_ptr<DeviceHealth> health_;
};

}  // namespace shunt::test
