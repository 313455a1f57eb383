// A device that exists only in tests, with the properties that a test chooses. They are the ops
// that it supports, with which types of weights, whether the host can touch its memory, and the
// size of that memory. It computes with each op's plain reference, so it needs no backend.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend_support/device_health.h"
#include "graph/op.h"
#include "shunt/device.h"
#include "support/test_world.h"

namespace shunt::test {

/// A speed that placement by costs always prefers to a CPU.
inline constexpr DeviceSpeed kInstant = {1e18, 1e18, 1e-12, 1e-9, 1e18};

struct TestDeviceConfig {
  std::string name = "test0";
  DeviceKind kind = DeviceKind::kAccelerator;
  int priority = 1;
  std::set<std::string> ops = {};  ///< names of those it supports; empty: all
  std::set<std::string> wants =
      {};                      ///< names of ops for which offload_op() accepts streamed weights
  std::set<DType> types = {};  ///< that its kernels read and write; empty: all
  bool reads_strided = true;   ///< sources that are not contiguous, too
  /// Types of weights that it lacks, and the type that it requests instead.
  std::map<DType, DType> wants_types = {};
  /// Its answer for a node whose op and weights it has; empty: yes.
  std::function<Support(const Graph&, NodeId)> answer = {};
  bool host_accessible = false;
  bool reads_host_memory = true;              ///< if host_accessible: other memory of the host, too
  std::size_t memory = std::size_t{1} << 30;  ///< bytes it has
  std::size_t max_buffer = std::size_t{1} << 30;  ///< bytes of its largest buffer
  std::size_t alignment = 64;                     ///< of its memory
  std::size_t padding = 1;  ///< a tensor takes a multiple of that; its kernels write all of it
  std::size_t scratch = 0;  ///< bytes that each segment needs, and overwrites
  std::set<std::string> in_place = {};    ///< names of ops that may overwrite their first source
  bool pins_memory = false;               ///< has staging memory of its own
  class TestDevice* pins_with = nullptr;  ///< has the staging memory of this device
  /// Bytes of host memory that it can pin at once; not given: it can't pin.
  std::optional<std::size_t> pins_host = {};
  bool host_memory = false;     ///< says that its memory is the host's: unified memory with the CPU
  bool twin = false;            ///< says that it is a twin
  bool in_host_memory = false;  ///< computes in plain host memory as a CPU does, not in its own
  /// The weights that it prefers in memory for weights only. The host can't touch that memory,
  /// which has to know the place of each tensor. A segment then needs 64 bytes of scratch for each
  /// that it reads there.
  std::function<bool(const Graph&, NodeId)> wants_weight = {};
  std::set<std::string> reads_weights = {};  ///< names of ops that read that memory; empty: all
  bool copies_directly = false;              ///< from other test devices that do, too
  TestWorld* world = nullptr;                ///< asynchronous, in that world; null: not
  double seconds_per_node = 0;               ///< on the world's clock
  std::map<std::string, double, std::less<>> seconds_of = {};  ///< the same for some ops, by name
  double seconds_per_byte = 0;                                 ///< of a copy, on the world's clock
  std::optional<DeviceSpeed> speed = kInstant;  ///< the speed that it reports, unless it is a CPU
  /// Wrong kernels, by op: the change to a result before it is written. A result that has been made
  /// smaller is not written any further.
  std::map<std::string, std::function<void(RefTensor&)>> wrong = {};
  OwnMemory own_memory = {};                 ///< that it has taken for itself
  std::int64_t dynamic_dim_granularity = 1;  ///< of dynamic dimensions that grow
  double largest_number = std::numeric_limits<double>::infinity();  ///< that it reports for results
  std::set<std::string> limited = {};  ///< names of ops that this holds for; empty: all
  bool tells_times = true;             ///< its events know when work was done
  /// Without: a wait for an asynchronous device is a wait on the host, for all work that the device
  /// was given.
  bool has_events = true;
  /// Its streams are an EventStream over a queue that continues after a failed task. Needs a world.
  bool late_errors = false;
  bool transfer_queue = false;  ///< copies while it computes
  /// false: nodes are counted, not computed, and results stay as they are.
  bool computes = true;
};

/// The n-th call, from 1, that fails, counted from when it is set; 0: none does.
struct TestFailures {
  std::size_t allocation = 0;
  std::size_t launch = 0;  ///< a node that is computed
  std::size_t copy = 0;    ///< into its memory or out of it
  std::size_t prepare = 0;
  std::size_t bind = 0;
  std::size_t stream = 0;  ///< that is opened
  std::size_t any = 0;     ///< of all these
  bool for_good = false;   ///< all that follow fail, too, whatever they are: the device is lost
};

class TestMemory;

class TestDevice final : public Device {
 public:
  explicit TestDevice(TestDeviceConfig config);
  ~TestDevice() override;
  std::string_view name() const override { return config_.name; }
  DeviceInfo info() const override;
  std::uint64_t memory_free() const override;
  Support supports(const Graph& graph, NodeId node, MemoryOfLeaves memory = {}) const override;
  bool can_read(const BufferType& type) const override;
  bool offload_op(const Graph& graph, NodeId node) const override;
  BufferType& memory() override;
  BufferType* staging_memory() override;
  Result<std::shared_ptr<const void>> pin_host(std::span<const std::byte> range) override;
  Result<std::unique_ptr<Stream>> open_stream() override;
  Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) override;
  bool has_transfer_queue() const override { return config_.transfer_queue; }
  bool can_copy_from(const BufferType& type) const override;
  double largest_number(const Graph& graph, NodeId node) const override;
  OwnMemory own_memory() const override { return config_.own_memory; }
  std::vector<WeightCandidate> weight_forms(const Graph& graph, NodeId leaf) override;

  /// Lets calls fail from now on, with a vendor's code and text. An allocation that fails once is
  /// out of memory.
  void fail_at(const TestFailures& failures);
  /// Whether a call has failed since then.
  bool has_failed() const;
  /// Called before each node that is computed.
  std::function<void(NodeId)> on_launch;
  /// How many events that tell times its streams have made.
  std::size_t timed_events = 0;
  /// How many nodes it has computed, in all runs, or counted.
  std::size_t computed() const { return computed_; }
  /// RunArgs::threads of the last run that its streams were given.
  int threads() const { return threads_; }
  /// Bytes that came from the host through its streams.
  std::size_t received() const { return received_; }
  /// Bytes that went to the host through its streams.
  std::size_t sent() const { return sent_; }
  /// Bytes that came straight from another device.
  std::size_t received_directly() const { return received_directly_; }
  /// How many copies its streams were given, 2-D ones counted once.
  std::size_t copies() const { return copies_; }
  /// Of those received and sent, how many from or to its own staging memory.
  std::size_t moved_through_pinned() const { return moved_through_pinned_; }
  /// Bytes of its memory that are allocated.
  std::size_t allocated() const;
  /// The same of its staging memory.
  std::size_t pinned() const;
  /// Bytes of host memory that are pinned for it.
  std::size_t host_pinned() const { return *host_pinned_; }
  /// The tensors that each buffer of its memory for weights was allocated for, also of those that
  /// are gone.
  const std::vector<std::vector<PlacedTensor>>& weights_placed() const { return placed_; }
  /// Bytes of that memory that are allocated.
  std::size_t weights_allocated() const;
  /// How often memory was asked for, granted or not.
  std::size_t allocations() const { return allocations_; }
  /// How often info() was called.
  std::size_t infos() const { return infos_; }
  /// How often memory_free() was called.
  std::size_t memory_frees() const { return memory_frees_; }

 private:
  friend class TestBinding;
  friend class TestBuffer;
  friend class TestMemory;
  friend class TestNativeStream;
  friend class TestProgram;
  friend class TestStream;
  friend class TestWorldStream;
  /// Whether all calls fail from now on.
  bool lost() const;
  /// Counts a call down; the error if it is its turn to fail.
  Status count(std::size_t TestFailures::*kind, const char* what);
  Support supports_tensor(const Tensor& tensor) const;
  bool reads_weights(const Node& node) const;
  void count_received(std::span<const std::byte> from);
  void count_sent(std::span<const std::byte> to);
  void count_received(const std::byte* from, const CopyShape& shape);
  void count_sent(const std::byte* to, const CopyShape& shape);
  TestDeviceConfig config_;
  std::unique_ptr<TestMemory> memory_;
  std::unique_ptr<TestMemory> pinned_;  // null: none
  std::unique_ptr<TestMemory> weights_;
  std::shared_ptr<DeviceHealth> health_;
  std::vector<std::vector<PlacedTensor>> placed_;
  mutable std::mutex mutex_;  // of the state of failures
  TestFailures failures_;
  bool failed_ = false;
  std::shared_ptr<std::atomic<std::size_t>> host_pinned_ =
      std::make_shared<std::atomic<std::size_t>>(0);
  std::atomic<std::size_t> computed_ = 0;
  std::atomic<int> threads_ = 0;
  std::atomic<std::size_t> received_ = 0;
  std::atomic<std::size_t> sent_ = 0;
  std::atomic<std::size_t> received_directly_ = 0;
  std::atomic<std::size_t> copies_ = 0;
  std::atomic<std::size_t> moved_through_pinned_ = 0;
  std::atomic<std::size_t> allocations_ = 0;
  mutable std::atomic<std::size_t> infos_ = 0;
  mutable std::atomic<std::size_t> memory_frees_ = 0;
};

}  // namespace shunt::test
