// A plan as it is kept: what compiling leaves, and running walks.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "schedule/actions.h"
#include "schedule/allocation.h"
#include "schedule/plan_trace.h"
#include "schedule/segments.h"
#include "shunt/plan.h"

namespace shunt {

class CompiledPlan final : public Plan {
 public:
  CompiledPlan(std::shared_ptr<const Graph> graph, Placement placement);
  ~CompiledPlan() override;

  /// Called once, before anything else.
  Status compile(const CompileOptions& options);
  /// What compile() would allocate. Called once, instead of it.
  Result<std::vector<MemoryUse>> predict(const CompileOptions& options);

  const Graph& graph() const override { return *graph_; }
  const Placement& placement() const override { return placement_; }
  std::span<const Segment> segments() const override { return cut_.segments; }
  std::span<const MemoryUse> memory() const override { return memory_use_; }
  Status set_extent(Dim extent, std::int64_t value) override;
  const ExtentValues& extents() const override { return extents_; }
  Result<std::span<std::byte>> input(Value leaf) override;
  Result<std::uint64_t> start(const std::atomic<bool>* cancel) override;
  Status wait(std::uint64_t step) override;
  Result<std::span<const std::byte>> output(Value node) const override;

 private:
  enum class Kind : std::uint8_t { kRun, kWrite, kRead, kCopy, kObserve, kPick };

  /// One entry of the list of work: a segment to run, a tensor to copy (from the host, to the host,
  /// or directly), a node to show, or numbers to read on the host, of the slices to copy next. The
  /// same for all steps in flight.
  struct Action {
    Kind kind = Kind::kRun;
    int device = -1;             // whose stream it goes through; none for what the host does
    Stream* stream = nullptr;    // that stream
    std::size_t segment = 0;     // that it is, or comes before
    NodeId node = 0;             // that is copied or shown
    const Copy* copy = nullptr;  // that it is, or is a part of
  };

  /// A weight of which only slices are copied, each by a write that waits for the one before.
  struct PickedWrite {
    PickedSlices slices;
    std::array<std::unique_ptr<Event>, 3> links;
  };

  /// What an action needs in one of the steps in flight.
  struct Place {
    Binding* binding = nullptr;
    Address from = {};
    Address to = {};
    std::byte* host = nullptr;      // where a copy, or the host itself, reads or writes on the host
    PickedWrite* picked = nullptr;  // that is found, or copied
    std::unique_ptr<Event> done = nullptr;
    std::vector<Event*> waits = {};  // events of the same step, then those of the step before
    std::size_t same_step = 0;       // how many are of the same step
  };

  /// Memory and actions of one of the steps in flight.
  struct Instance {
    std::vector<std::unique_ptr<Buffer>> inputs;
    std::map<const BufferType*, std::unique_ptr<Buffer>> staging;
    std::vector<std::vector<std::unique_ptr<Buffer>>> blocks;  // by device: its own memory
    std::vector<Address> homes;                                // by node id: where it is made
    std::vector<std::pair<NodeId, Address>> readable;          // outputs and observed nodes
    std::vector<Footprint> footprints;                         // by action
    std::vector<std::unique_ptr<Binding>> bindings;            // by segment
    std::vector<std::unique_ptr<PickedWrite>> picked;
    std::vector<Place> places;  // by action
    ExtentValues extents = {};
    bool pending = false;  // started, and not waited for
    std::uint64_t step = 0;
    Status failed;  // submitting it went wrong
    std::size_t submitted = 0;
  };

  // Compiling, in this order. lay_out() does all that comes before allocating, and gives what is
  // kept.
  Result<std::vector<NodeId>> lay_out(const CompileOptions& options);
  Status check_options(const CompileOptions& options);
  Status find_leaves(const CompileOptions& options);
  Status prepare(std::span<const NodeId> kept);
  Status allocate();
  Status allocate_instance(Instance& instance);
  Status build_actions(Instance& instance, std::span<const NodeId> kept);
  Status add_copy(Instance& instance, const Copy& copy, Address to);
  Status add_picked_copy(Instance& instance, const Copy& copy, Address to, Address ids);
  Status add_run(Instance& instance, std::size_t segment, std::span<const Address> addresses);
  void add_observe(Instance& instance, std::size_t segment, std::span<const Address> addresses);
  Status add_action(Instance& instance, Action action, Place place, Footprint footprint);
  void connect();
  Result<std::unique_ptr<Event>> create_event(Stream& stream) const;
  Status use_stream(Action& action, int device);
  Address place_of(const Instance& instance, int device, const Slot& slot) const;
  std::optional<Kind> way_of(const Copy& copy) const;
  const BufferType& type_of(NodeId owner) const;
  BufferType& staging_type(const Copy& copy) const;
  std::vector<const Copy*> largest_staged() const;
  Result<MemoryLayout> lay_out_inputs() const;
  Status allocate_inputs(Instance& instance, const MemoryLayout& layout);
  bool is_own(const Instance& instance, const Buffer& buffer) const;
  Region region(const Instance& instance, const Address& at, std::size_t bytes) const;
  std::size_t bytes_of(NodeId node) const;
  std::size_t size_in(const Buffer& buffer, NodeId node) const;  // padding included

  // Running.
  Instance& make_ready();
  Status finish(Instance& instance);
  Status submit(Instance& instance, std::size_t action, bool first,
                const std::atomic<bool>* cancel);
  Status write_picked(const Action& action, Place& place, std::span<Event* const> waits);
  Status wait_on_host(Instance& instance, std::size_t action, std::span<Event* const> waits);
  Status show(Instance& instance, std::size_t action);
  std::size_t copied_bytes(const Instance& instance, std::size_t action) const;
  void drain();

  // Whose error it is, for a caller that wants to go on without that device.
  Error name_device(Error error, int device) const;
  Error name_segment(Error error, std::size_t segment) const;
  Error name_action(Error error, const Action& action) const;
  std::string device_name(int device) const;
  int cpu() const { return static_cast<int>(placement_.devices.size()) - 1; }

  // For a trace.
  void declare_actions(Trace& trace);
  TraceAction describe_run(std::size_t action) const;
  TraceAction describe_other(std::size_t action) const;
  std::optional<std::size_t> source_of(std::size_t action) const;
  bool is_copy(std::size_t action) const;
  bool goes_on(std::size_t action) const;
  void tell_trace(const Instance& instance, std::size_t action);
  std::size_t number_of(const Instance& instance) const {
    return static_cast<std::size_t>(&instance - instances_.data());
  }

  std::shared_ptr<const Graph> graph_;
  Placement placement_;
  Cut cut_;
  Allocation allocation_;
  ExtentValues extents_;
  Observer observer_;
  std::vector<bool> watched_;  // by node id: the observer wants it
  std::vector<MemoryUse> memory_use_;
  std::vector<Address> leaves_;  // by node id: memory of weights and caches
  // What stands below uses what stands above it, and is destroyed before it.
  std::vector<std::unique_ptr<Stream>> streams_;  // by device
  std::vector<std::unique_ptr<Buffer>> empty_;    // by device: where its tensors without bytes are
  std::vector<std::vector<std::unique_ptr<Buffer>>> blocks_;  // by device, shared by all steps
  std::vector<std::unique_ptr<Program>> programs_;            // by segment
  std::vector<Action> actions_;
  std::vector<Instance> instances_;
  bool timed_ = false;                 // events tell when work was done
  std::unique_ptr<PlanTrace> traced_;  // null: nobody wants to know
  std::uint64_t next_step_ = 0;
  bool ready_ = false;           // the next step's inputs are there
  std::size_t last_waited_ = 0;  // instance
};

}  // namespace shunt
