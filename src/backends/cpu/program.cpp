#include "backends/cpu/program.h"

#include <algorithm>

#include "backend_support/node_launch.h"
#include "backends/cpu/binding.h"
#include "backends/cpu/fusion.h"
#include "backends/cpu/weight_memory.h"
#include "shunt/message.h"

namespace shunt::cpu {

namespace {

// Shared scratch goes round these, so that three independent matmuls (Q, K and V) need no barrier
// between them.
constexpr std::size_t kScratchSlots = 3;

/// The content of a slot of scratch for nodes to come.
struct Staged {
  NodeId node = kNoNode;  // whose source it is another form of; none: nothing is there
  Staging form;
};

class Preparer {
 public:
  Preparer(const Graph& graph, const CpuTarget& target, Pool& pool)
      : made_{.graph = graph, .target = target, .pool = pool} {}

  Result<Prepared> run(const SegmentView& segment, const Table& table,
                       std::span<const Pattern> patterns) {
    const Fusions fusions(segment, patterns, made_.target);
    for (NodeId id : segment.nodes) {
      if (fusions.is_inside(id)) continue;
      const Node& node = made_.graph.node(id);
      const Fused* fused = fusions.ending_at(id);
      SHUNT_ASSIGN(PreparedNode prepared, choose(id, fused, table));
      const CpuKernel* kernel = prepared.kernel;
      const NodeView view(made_.graph, prepared.asked, segment.memory);
      SHUNT_TRY(find_layouts(segment, prepared));
      const std::size_t scratch = (kernel->scratch(view, made_.target) + 63) / 64 * 64;
      prepared.needs_scratch = scratch > 0;
      Staged staged;
      if (const auto form = kernel->staging(view, made_.target)) {
        staged = {prepared.asked, *form};
        prepared.staged = true;
      }
      choose_slot(prepared, staged, scratch, segment.memory);
      if (node.writes_storage) forget_forms_of(node.storage);
      made_.worker_scratch =
          std::max(made_.worker_scratch, kernel->worker_scratch(view, made_.target));
      made_.nodes.push_back(std::move(prepared));
      if (fused != nullptr) {
        add_fused(made_.graph, *fused, made_.needs);
      } else {
        add_in_place(made_.graph, id, kernel->in_place_source(), made_.needs);
      }
    }
    place_slots();
    return std::move(made_);
  }

 private:
  Result<PreparedNode> choose(NodeId id, const Fused* fused, const Table& table) const {
    const Node& node = made_.graph.node(id);
    PreparedNode prepared{.node = id, .asked = id, .sources = node.sources};
    if (fused != nullptr) {
      prepared.asked = fused->asked;
      prepared.kernel = fused->kernel;
      prepared.sources = fused->sources;
      prepared.writes_last_source = fused->written != kNoNode;
      if (prepared.writes_last_source) prepared.sources.push_back(fused->written);
    } else {
      prepared.kernel = table.find(*node.op);
    }
    if (prepared.kernel == nullptr)
      return fail(ErrorCode::kUnsupported, "{}: no CPU kernel", made_.graph.describe(id));
    if (prepared.sources.size() > kMaxSources)
      return invalid("{}: too many sources", made_.graph.describe(id));
    return prepared;
  }
  Status find_layouts(const SegmentView& segment, PreparedNode& prepared) const {
    for (std::size_t s = 0; s < prepared.sources.size(); ++s) {
      const NodeId source = prepared.sources[s];
      if (source == kNoNode || !is_interleaved(segment, source)) continue;
      const Node& node = made_.graph.node(source);
      prepared.interleaved[s] = prepared.kernel->reads_interleaved(s) && node.storage == source;
      prepared.has_lanes[s] =
          prepared.interleaved[s] && multiplies_interleaved(made_.target.level, node.result.dtype);
      if (prepared.interleaved[s]) continue;
      return fail(ErrorCode::kUnsupported, "{}: source {} is in {}, which it can't read",
                  made_.graph.describe(prepared.node), s, segment.memory[node.storage]->name());
    }
    return ok();
  }
  /// The slot of a node's scratch: that of another node with the same form, one of its own for a
  /// lasting form, or the next of those that are used in turn.
  void choose_slot(PreparedNode& prepared, const Staged& staged, std::size_t scratch,
                   std::span<const BufferType* const> memory) {
    const auto same = [&](const Staged& other) { return serves(other, staged, memory); };
    if (const auto found = std::ranges::find_if(slots_, same); found != slots_.end()) {
      prepared.scratch_slot = static_cast<std::size_t>(found - slots_.begin());
      prepared.staged_for = true;
    } else if (scratch > 0 && staged.form.lasting) {
      prepared.scratch_slot = slots_.size();
      slots_.push_back(staged);
      lasting_bytes_.push_back(scratch);
    } else if (scratch > 0) {
      prepared.scratch_slot = slot_;
      slots_[slot_] = staged;
      slot_ = (slot_ + 1) % kScratchSlots;
      slot_bytes_ = std::max(slot_bytes_, scratch);
    }
  }
  /// A node writes into this memory.
  void forget_forms_of(NodeId storage) {
    for (Staged& made : slots_) {
      if (reads(made, storage)) made.node = kNoNode;
    }
  }
  void place_slots() {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      made_.slot_starts.push_back(made_.needs.scratch_bytes);
      made_.needs.scratch_bytes +=
          i < kScratchSlots ? slot_bytes_ : lasting_bytes_[i - kScratchSlots];
    }
    made_.slot_starts.push_back(made_.needs.scratch_bytes);
  }
  /// Whether the form that a node has staged is the one that another node needs.
  bool serves(const Staged& made, const Staged& wanted,
              std::span<const BufferType* const> memory) const {
    if (made.node == kNoNode || made.form != wanted.form) return false;
    const NodeId source = made_.graph.node(made.node).sources[made.form.source];
    return source == made_.graph.node(wanted.node).sources[wanted.form.source] &&
           made.form.maker->same_staging(NodeView(made_.graph, made.node, memory),
                                         NodeView(made_.graph, wanted.node, memory), made_.target);
  }
  /// Whether the staged form was made from memory that a node now writes into.
  bool reads(const Staged& made, NodeId storage) const {
    if (made.node == kNoNode) return false;
    return std::ranges::any_of(made_.graph.node(made.node).sources, [&](NodeId source) {
      return source != kNoNode && made_.graph.node(source).storage == storage;
    });
  }

  Prepared made_;
  // The form staged last in each slot that is used in turn, then lasting ones.
  std::vector<Staged> slots_ = std::vector<Staged>(kScratchSlots);
  std::vector<std::size_t> lasting_bytes_;
  std::size_t slot_ = 0;  // the next one in turn
  std::size_t slot_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<Program>> prepare(const SegmentView& segment, const Table& table,
                                         const CpuTarget& target, Pool& pool,
                                         std::span<const Pattern> patterns) {
  SHUNT_ASSIGN(Prepared prepared,
               Preparer(segment.graph, target, pool).run(segment, table, patterns));
  return std::make_unique<PreparedProgram<CpuBinding, Prepared>>(std::move(prepared));
}

}  // namespace shunt::cpu
