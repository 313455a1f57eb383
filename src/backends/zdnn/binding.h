// A program with its addresses, and how it runs.
#pragma once

#include "backends/zdnn/program.h"
#include "backends/zdnn/scratch_layout.h"
#include "graph/op.h"

namespace shunt::zdnn {

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
  std::size_t slot = 0;  ///< of sticks
};

struct PreparedNode {
  NodeId id = 0;     ///< whose result comes out
  NodeId asked = 0;  ///< that the kernel is asked about: the same, or that to which `id` adds a row
  const ZdnnKernel* kernel = nullptr;
  std::array<PreparedSource, kMaxSources> sources = {};
  std::size_t result = static_cast<std::size_t>(-1);  ///< its slot; none: the kernel gives it plain
  std::vector<std::size_t> temporaries = {};          ///< pieces of scratch
  bool plain = false;                                 ///< somebody reads the result so
};

/// A tensor in the machine's layout, somewhere in scratch.
struct PreparedSlot {
  NodeId node = 0;
  std::size_t piece = 0;
  bool comes_in = false;  ///< from plain memory; else it is computed here
};

struct Prepared {
  std::vector<PreparedNode> nodes;
  std::vector<PreparedSlot> slots;
  std::vector<std::size_t> offsets;  ///< of pieces, in scratch
  std::size_t staging = 0;           ///< where that starts in scratch
  Needs needs;
};

class ZdnnBinding final : public Binding {
 public:
  ZdnnBinding(const Graph& graph, const Shared& shared, const Prepared& prepared)
      : graph_(graph), shared_(shared), prepared_(prepared), slots_(prepared.slots.size()) {}

  Status bind(const Addresses& addresses);
  Status run(const RunArgs& args);

 private:
  /// What is in a slot in this run.
  struct SlotState {
    Stick stick;
    bool filled = false;
    bool in_range = true;      ///< else nobody may compute with it
    std::vector<float> exact;  ///< the values, if they came from elsewhere than the machine
  };
  struct Call {
    std::unique_ptr<Launch> launch;
    std::array<std::byte*, kMaxSources> sources = {};  ///< where they lie plain; null: nowhere
    std::byte* result = nullptr;
  };

  HostTensor host(NodeId id, std::byte* data) const;
  Status check_address(NodeId node, NodeId of, const Address& at, std::byte*& data) const;
  Status run_node(std::size_t index);
  Status fill(std::size_t slot);
  /// True if all of it is ready to be computed with.
  Result<bool> fill_sources(std::size_t index);
  void bring_out(Launch& launch, const SlotState& slot) const;
  Status compute_plainly(std::size_t index);
  Result<RefTensor> values_of(std::size_t index, std::size_t source);

  const Graph& graph_;
  Shared shared_;
  const Prepared& prepared_;
  std::vector<SlotState> slots_;
  std::vector<std::byte*> slot_sources_;  // by slot that comes in: where from
  std::vector<Call> calls_;               // by node
  std::byte* scratch_ = nullptr;
  const ExtentValues* extents_ = nullptr;  // of the run under way
};

}  // namespace shunt::zdnn
