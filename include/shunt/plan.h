/// \file
/// From a graph to a result: place() decides which device computes each node and says why;
/// compile() makes a plan of segments, transfers and memory; Plan::run() runs it, again and again.
/// Include it to place a Graph yourself, to overlap steps or to observe nodes. runtime.h needs
/// fewer lines for a Builder.
///
/// \code
/// // graph: std::shared_ptr<const Graph>. leaves: LeafMemory of each weight and cache.
/// SHUNT_ASSIGN(const auto plan, make_plan(graph, registry->devices(), {.memory = leaves}));
/// SHUNT_ASSIGN(const std::span<std::byte> input, plan->input(x));
/// std::memcpy(input.data(), values.data(), input.size());
/// SHUNT_TRY(plan->run());
/// SHUNT_ASSIGN(const std::span<const std::byte> output, plan->output(y));
/// \endcode
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/device.h"
#include "shunt/graph.h"

namespace shunt {

class CostModel;
class OptimizeCache;
class Trace;

/// The rule that decided the device of a node. docs/internals/scheduler.md explains the rules.
enum class Rule : std::uint8_t {
  kPinned,        ///< the user pinned it to the device
  kMemory,        ///< its memory is on the device already, or it writes into memory on the device
  kWeights,       ///< its weights are on the device, or are streamed to it
  kInput,         ///< inputs start in host memory
  kView,          ///< a view follows its owner of memory
  kNeighbour,     ///< a neighbour runs on the device
  kSharedMemory,  ///< a better device that uses the same memory
  kSources,       ///< most of its sources can be read by the device
  kLastResort,    ///< no other device supports it: the CPU takes anything
  kCosts,         ///< the predicted step is shorter that way
  kSplit,         ///< a part of a split weight or cache, on the device of that part
};
/// The rule as explanations and placement files have it: "pinned", "last resort".
std::string_view to_string(Rule rule);

/// A device that could have been better, and the reason why it was not taken.
struct RejectedCandidate {
  int device = 0;
  Refusal refusal = Refusal::kOp;
  std::string reason;
  std::string remedy = {};  ///< an option that removes the refusal; empty: no such option is known
};

/// The device of a node (or the memory of a leaf), and the reason.
struct Decision {
  int device = -1;  ///< index into Placement::devices
  Rule rule = Rule::kLastResort;
  std::string reason;
  std::vector<RejectedCandidate> rejected;
  double seconds = 0;  ///< predicted, at the dynamic dimensions' maximum; 0 without costs
  double start = 0;    ///< seconds from the start of the predicted step; 0 without costs
};

/// A value on its way to another device in the predicted step, once however many nodes read it
/// there. Values that the device reads in place cost nothing and are left out.
struct PredictedCopy {
  NodeId node = 0;  ///< that made the value: no view
  int from = 0;
  int to = 0;
  double start = 0;  ///< seconds from the start of the step
  double end = 0;
};

/// Whether a weight may come to a device in another type than it has, where the device lacks that.
enum class Transcode : std::uint8_t {
  kNone,
  kPrecise,  ///< in a type at least as precise: see at_least_as_precise()
  kLossy,    ///< in any
};
/// "never", "precise", "lossy".
std::string_view to_string(Transcode transcode);

/// A weight that is to have another type on its device than it has in the graph.
struct Conversion {
  NodeId leaf = 0;
  DType from = DType::kF32;
  DType to = DType::kF32;
  int device = 0;      ///< index into Placement::devices
  std::string reason;  ///< the op that needs the weight in this type
};
/// ", as F16 instead of Q8_0 (test0 supports w of matmul only in this type)": the conversion of a
/// weight, for messages.
std::string to_text(const Conversion& conversion);

/// Which device computes each node, and the reason. Pure data; the graph it is about is not
/// changed.
struct Placement {
  std::vector<Device*> devices;     ///< by falling priority, the CPU last
  std::vector<Decision> decisions;  ///< by node id
  std::vector<std::string> notes;   ///< for the user: pins that match nothing, and
                                    ///< operations that make_plan() took from a device
  double predicted_seconds = 0;  ///< of a step at the dynamic dimensions' maximum; 0 without costs
  std::vector<PredictedCopy> predicted_copies =
      {};  ///< those of a link in order; without costs none
  /// Weights to be transcoded, by leaf. The plan is then that of with_types(graph, ...).
  std::vector<Conversion> conversions = {};
};

/// A leaf that has memory before compiling: a weight or a cache.
struct LeafMemory {
  NodeId leaf = 0;
  Address address;
};

/// The user's choice of a device for nodes. Operations run there, weights and caches are stored
/// there; inputs and views follow others.
struct Pin {
  std::string pattern;  ///< a regular expression (PCRE2) for the whole name of a node
  std::string device;   ///< its name, "cuda0"
  /// Names of further nodes to pin: parts of split weights and caches whose name matches.
  std::vector<std::string> parts = {};
  bool operator==(const Pin&) const = default;
};

/// Whether a pattern of a Pin is a regular expression: Invalid, with the problem and its place.
Status check_pattern(std::string_view pattern);

/// A part of a split weight or cache (parts.h), and the device it is meant for.
struct PartHome {
  NodeId leaf = 0;
  const Device* device = nullptr;
};

/// A computed node that must not run on a device, as if the device had refused it.
struct Exclusion {
  NodeId node = 0;
  int device = 0;  ///< index into the devices; not the CPU's
  Refusal refusal = Refusal::kCost;
  std::string reason = {};  ///< for Decision::rejected
};

/// Options of place() and make_plan().
struct PlaceOptions {
  /// Leaves that already have memory; for other weights and caches the placement states the device.
  std::span<const LeafMemory> memory = {};
  std::span<const Pin> pins = {};              ///< the first that matches counts
  std::span<const Exclusion> exclusions = {};  ///< nodes that devices do not get
  /// Parts without memory are on their device if it computes all nodes that use them; pins come
  /// first. A part whose device is not among the devices is placed like any other leaf.
  std::span<const PartHome> parts = {};
  /// Minimum number of result rows for which weights in host memory are streamed to a device whose
  /// offload_op() accepts the op; 0: never.
  std::int64_t stream_rows = 32;
  /// For weights without memory. A caller that allows more than kNone must apply
  /// Placement::conversions.
  Transcode transcode = Transcode::kNone;
  /// By device: the largest number of bytes of weights that are sent there for one op. Empty: the
  /// limits of its memory and its largest buffer.
  std::span<const std::uint64_t> stream_bytes = {};
  /// Predicts the time of the step (costs.h); null: no prediction, and rules alone decide.
  const CostModel* costs = nullptr;
  bool rules_only = false;  ///< costs predict, but override no rule
  /// Results of earlier searches, which the engine keeps for a model. Null: each call searches.
  OptimizeCache* searches = nullptr;
};

/// Decides where each node runs. `devices` by falling priority, a CPU last. The same inputs give
/// the same placement. Invalid if there is no CPU, or if a pin can't be obeyed. Invalid if an op
/// must write to memory that no device able to compute it can write. Invalid if an exclusion,
/// memory or a part names a missing node or device.
Result<Placement> place(const Graph& graph, std::span<Device* const> devices,
                        const PlaceOptions& options = {});

/// A value seen while a plan runs.
struct Observed {
  NodeId node = 0;
  const Tensor& tensor;                   ///< type and strides of `bytes`
  Sizes sizes = {};                       ///< in this run
  std::span<const std::byte> bytes = {};  ///< on the host, until the observer returns
};

/// A callback that gets the values of nodes as they are computed. The plan stops after each of
/// them, so that the observer sees the bytes that the next node reads.
struct Observer {
  std::vector<NodeId> nodes;
  /// Called in the order of the nodes, by the thread that runs the plan. False stops the run, which
  /// then ends with Cancelled.
  std::function<bool(const Observed&)> visit;
};

/// Options of compile() and make_plan().
struct CompileOptions {
  std::span<const LeafMemory> memory = {};  ///< of every weight and cache of the graph
  std::span<const NodeId> observe = {};  ///< nodes whose values the caller reads after a run; they
                                         ///< are neither fused nor overwritten
  Observer observer = {};
  /// Steps that may be under way at the same time, each with inputs, outputs and transfers of its
  /// own: that many times the memory. A caller that waits for each step before the next needs 1.
  /// Default 4; with an observer 1, and more are Invalid. Invalid below 1.
  std::optional<int> steps_in_flight = {};
  /// Gets every action of every step, once the step has been waited for; must outlive the plan.
  Trace* trace = nullptr;
};

/// A tensor that is copied to another device before a segment starts.
struct Transfer {
  NodeId node = 0;
  int to = 0;  ///< index into Placement::devices
  std::uint64_t bytes =
      0;  ///< at the dynamic dimensions' maximum; of experts, those that can be in use
  bool merged = false;  ///< in one copy with the transfer before it
};

/// A run of nodes on one device, computed as a unit.
struct Segment {
  int device = 0;
  std::vector<NodeId> nodes;
  std::vector<Transfer> transfers;
};

/// Bytes that a plan has allocated on a device, by purpose.
struct MemoryUse {
  int device = 0;
  std::size_t activations = 0;
  /// Inputs that this device is the first to read, in its own memory if the host can access that,
  /// else in its staging memory. All other inputs are the CPU's.
  std::size_t inputs = 0;
  /// Host ends of copies to and from this device, in its staging memory. Copies between devices
  /// without staging memory count for the CPU.
  std::size_t staging = 0;
  /// Of inputs and staging: bytes in staging memory, which is host memory.
  std::size_t pinned = 0;
};

/// A graph compiled for a set of devices. Belongs to one thread at a time; devices, the memory of
/// leaves and the graph must outlive it.
class Plan {
 public:
  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  virtual ~Plan() = default;

  /// The graph it was compiled from.
  virtual const Graph& graph() const = 0;
  /// The placement it was compiled from, with the reason of each device.
  virtual const Placement& placement() const = 0;
  /// In the order in which they start. Valid as long as the plan.
  virtual std::span<const Segment> segments() const = 0;
  /// The memory that the plan allocated, by device. Weights and caches are not in it.
  virtual std::span<const MemoryUse> memory() const = 0;

  /// States a dynamic dimension for the runs that follow; all start at their maximum. Invalid if it
  /// is negative or above it.
  virtual Status set_dynamic_dim(Dim dynamic_dim, std::int64_t value) = 0;
  /// The current dynamic dimensions.
  virtual const DynamicDimValues& dynamic_dims() const = 0;
  /// Sets the largest number of host threads that compute in later runs, of those that each device
  /// has (Options::threads). 0, as at the start: all of them. Results are the same with any number.
  /// Invalid below 0.
  virtual Status set_threads(int most) = 0;
  /// Memory of an input of the next step. Fill it before the step starts. Waits while that memory
  /// is in use. Bytes that are not filled stay as in the step before; before the first they are 0.
  /// Once the step has started the memory is that step's: ask again for the next one, which has its
  /// own. Strides are those of the graph's tensor. Invalid for other nodes.
  virtual Result<std::span<std::byte>> input(Value leaf) = 0;
  /// Starts a step with the inputs and dynamic dimensions as they are, and gives its number; waits
  /// for the oldest if too many are under way. Allocates nothing. If several may be under way, work
  /// of a synchronous device that needs results of an asynchronous one is done later: by a start()
  /// of a step behind it, or by a wait().
  ///
  /// `cancel` may become true at any time, from any thread, and must live until the step ended. The
  /// step then ends with Cancelled. No action is submitted any more. A synchronous device ends
  /// within one node. An asynchronous device checks `cancel` before each launch that it submits,
  /// and before each that it executes if its library can. Such a device ends within one launch, or
  /// one replay of a captured graph. Others complete the launches that were submitted, which belong
  /// to the steps in flight. Copies that were submitted are completed. Results of the step, and of
  /// steps started after it, are absent. Those of steps under way before it may be, too: wait()
  /// returns their errors. Inputs, weights and caches that no cancelled node writes are as they
  /// were.
  virtual Result<std::uint64_t> start(const std::atomic<bool>* cancel = nullptr) = 0;
  /// Waits for a step that was started. An error names device and segment, node and vendor code;
  /// the step is lost, nothing else. Other steps that were under way may be lost with it: waiting
  /// for each of them returns the error.
  virtual Status wait(std::uint64_t step) = 0;
  /// Starts a step and waits for it.
  Status run(const std::atomic<bool>* cancel = nullptr);
  /// Memory of an output (or observed node) of the step last waited for, until as many more are
  /// started as may be under way; strides are those of the graph's tensor.
  virtual Result<std::span<const std::byte>> output(Value node) const = 0;
};

/// Compiles a placed graph. The placement must be of this graph, and its conversions must be done:
/// Invalid otherwise. OutOfMemory, naming device and
/// bytes, if it does not fit.
Result<std::unique_ptr<Plan>> compile(std::shared_ptr<const Graph> graph, Placement placement,
                                      const CompileOptions& options);

/// Places a graph and compiles it. If a device refuses memory meanwhile, both are repeated with
/// fewer operations on that device, down to none. Operations leave it from the end of the graph: an
/// eighth of them at first, then a quarter, then half of the remaining ones each time. Nodes that
/// are pinned or write into a leaf stay. For nodes that left, Decision::rejected has
/// Refusal::kMemory with the device and the bytes, and so has Placement::notes, once each time. An
/// error that names no device is taken to be about all accelerators. Leaves keep their memory,
/// which is PlaceOptions::memory; CompileOptions::memory must be empty: Invalid otherwise.
/// OutOfMemory, naming device and bytes, if the CPU has too little, or a device has too little for
/// the nodes that must stay there. Other errors are those of place() and compile().
Result<std::unique_ptr<Plan>> make_plan(std::shared_ptr<const Graph> graph,
                                        std::span<Device* const> devices,
                                        const PlaceOptions& place_options = {},
                                        const CompileOptions& compile_options = {});

}  // namespace shunt
