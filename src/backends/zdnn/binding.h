// A program with its addresses, and how it runs.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>

#include "backend_support/host_binding.h"
#include "backend_support/node_launch.h"
#include "backend_support/number_range.h"
#include "backend_support/scratch_plan.h"
#include "backends/zdnn/kernel.h"
#include "graph/op.h"

namespace shunt::zdnn {

/// The data that the programs of a device share.
struct Shared {
  const Machine& machine;
  const KernelTable<ZdnnKernel>& table;
  Constants& constants;
  RangeCounts& ranges;
};

inline constexpr std::size_t kNoSlot = static_cast<std::size_t>(-1);

enum class SourceKind : std::uint8_t {
  kAbsent,
  kSticks,
  kPlain,
  kWeight,     ///< a matrix, in pieces
  kWeightRow,  ///< the kernel gets it as sticks
};

struct PreparedSource {
  NodeId id = kNoNode;
  SourceKind kind = SourceKind::kAbsent;
  SourceForm form = SourceForm::kSticks;
  std::size_t slot = 0;  ///< of sticks
};

struct PreparedTemporary {
  std::size_t piece = 0;  ///< of scratch
  Dims dims;              ///< at most
};

struct PreparedNode {
  NodeId id = 0;     ///< whose result comes out
  NodeId asked = 0;  ///< that the kernel is asked about: the same, or that to which `id` adds a row
  const ZdnnKernel* kernel = nullptr;
  std::array<PreparedSource, kMaxSources> sources = {};
  std::size_t result = kNoSlot;  ///< its slot; none: the kernel gives it plain
  std::vector<PreparedTemporary> temporaries = {};
  bool plain = false;  ///< some reader takes the plain result
};

/// A tensor in the machine's layout, somewhere in scratch.
struct PreparedSlot {
  NodeId node = 0;
  std::size_t piece = 0;
  bool comes_in = false;  ///< from plain memory; else it is computed here
  SourceForm form = SourceForm::kSticks;
  bool by_parts = false;  ///< of a transposed one: it is too large to be transposed at once
  float scale = 1;        ///< of a levelled one: the factor that was applied first
  // Of a mask:
  NodeId scores = kNoNode;  ///< the first that it is added to
  float max_bias = 0;
};

struct Prepared {
  const Graph& graph;
  Shared shared;
  std::vector<PreparedNode> nodes = {};
  std::vector<PreparedSlot> slots = {};
  ScratchLayout scratch = {};
  Needs needs = {};
};

class ZdnnBinding final : public HostBinding {
 public:
  explicit ZdnnBinding(const Prepared& prepared)
      : graph_(prepared.graph),
        shared_(prepared.shared),
        prepared_(prepared),
        slots_(prepared.slots.size()) {}

  Status bind(const Addresses& addresses);
  Status run(const RunArgs& args) override;

 private:
  /// The contents of a slot in this run.
  struct SlotState {
    Stick stick;
    bool filled = false;
    bool in_range = true;      ///< else the machine must not compute with it
    bool saturated = false;    ///< some of its numbers became the largest one
    bool looked_at = false;    ///< whether there are such
    bool hides = false;        ///< of a mask
    Hiding hiding;             ///< then
    std::vector<float> exact;  ///< the values, if they came from elsewhere than the machine
  };
  struct Call {
    std::unique_ptr<Launch> launch;
    std::array<std::byte*, kMaxSources> sources = {};  ///< their plain data; null: none
    std::byte* result = nullptr;
    std::array<Stick, kMaxSources> views;  ///< of slots, with other dimensions
  };
  /// How the sources of a node are.
  struct Ready {
    bool in_range = true;
    bool saturated = false;
  };

  HostTensor host(NodeId id, std::byte* data) const;
  float* staging() const { return reinterpret_cast<float*>(scratch_ + prepared_.scratch.staging); }
  /// Sets a slot's stick to its dimensions in this run, in its piece of scratch.
  Stick& place(std::size_t slot, const Dims& dims);
  bool saturates() const { return shared_.machine.saturates(); }
  Status bind_source(const PreparedNode& node, std::size_t s, const Address& at, Call& call);
  Status run_node(std::size_t index);
  Status fill(std::size_t slot);
  /// Dense numbers, or those of a type of the host, into a slot.
  Status bring_in(std::size_t slot, const void* data);
  /// The matrices of a slot one after the other: one(matrix, to) brings in one, and returns
  /// Entered.
  template <class One>
  Status fill_matrices(std::size_t slot, const One& one);
  /// Matrices transposed, a part at a time; too large numbers saturate. `work`: transpose_bytes().
  Status transpose_parts(std::size_t slot, const HostTensor& from, std::byte* work);
  /// Of each row something is taken off.
  Status fill_rows(std::size_t slot, const HostTensor& from);
  Status fill_mask(std::size_t slot, const HostTensor& from);
  /// Takes the library's status of a transfer into a slot.
  Status entered(std::size_t slot, std::uint32_t status);
  /// Looks for finite numbers that are too large in the incoming data, and makes them the largest
  /// one.
  Status saturate(std::size_t slot);
  Entered saturate_matrix(const HostTensor& from, std::int64_t matrix, bool all, Stick& to);
  Result<Ready> fill_sources(std::size_t index);
  /// True if a source of the node is another now.
  Result<bool> saturate_sources(std::size_t index);
  /// By the machine. The outcome is in the launch.
  void compute(std::size_t index);
  Result<bool> compute_in_range(std::size_t index, Ready& ready);
  void bring_out(Launch& launch, const SlotState& slot) const;
  /// True if numbers of a source or of the result were too large, and became the largest one.
  Result<bool> compute_plainly(std::size_t index);
  Result<RefTensor> values_of(std::size_t index, std::size_t source, bool& saturated);
  Result<RefTensor> values_of_slot(std::size_t slot, NodeId id);
  /// Elements of these rows of a weight.
  Result<std::vector<float>> values_of_weight(WeightSticks& weight, std::int64_t first,
                                              std::int64_t count, bool& saturated);
  Status keep(std::size_t index, const RefTensor& result);

  const Graph& graph_;
  const Shared& shared_;
  const Prepared& prepared_;
  std::vector<SlotState> slots_;
  std::vector<std::byte*> slot_sources_;  // by slot that comes in: where from
  std::deque<Call> calls_;                // by node
  std::byte* scratch_ = nullptr;
  const DynamicDimValues* dynamic_dims_ = nullptr;  // of the run under way
};

}  // namespace shunt::zdnn
