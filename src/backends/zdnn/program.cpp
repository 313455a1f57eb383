#include "backends/zdnn/program.h"

#include <algorithm>

#include "backends/zdnn/binding.h"
#include "base/fail.h"
#include "ops/elementwise/elementwise.h"

namespace shunt::zdnn {

namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

/// Types whose numbers the library transforms itself.
bool is_host_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

/// Whether it lies without gaps, whatever the extents: strides are those of their maximum.
bool always_dense(const Tensor& tensor) {
  return is_contiguous(tensor) && tensor.shape[0].is_fixed() && tensor.size(2) == 1 &&
         tensor.size(3) == 1;
}

/// Whether a view is the same in the machine's layout as what it is a view of.
bool same_sticks(const Node& view, const Node& owner) {
  const Shape& a = view.result.shape;
  const Shape& b = owner.result.shape;
  return view.offset == 0 && view.result.dtype == owner.result.dtype &&
         is_contiguous(view.result) && a[0] == b[0] && a[1] == b[1] &&
         (a == b || (a[2].is_fixed() && a[3].is_fixed() && b[2].is_fixed() && b[3].is_fixed() &&
                     a[2].max * a[3].max == b[2].max * b[3].max));
}

class Preparer {
 public:
  Preparer(const SegmentView& segment, const Shared& shared)
      : segment_(segment),
        graph_(segment.graph),
        shared_(shared),
        slot_of_(graph_.size(), kNone),
        first_of_(graph_.size(), kNoNode),
        made_here_(graph_.size(), false),
        read_plain_(graph_.size(), false) {}

  Result<Prepared> run() {
    for (const NodeId id : segment_.nodes) SHUNT_TRY(add(id));
    for (PreparedNode& node : made_.nodes) {
      node.plain = segment_.kept[node.id] || read_plain_[node.id] || node.result == kNone;
      if (!node.plain) made_.needs.fused.push_back({node.id, node.id});
    }
    lay_out_scratch();
    return std::move(made_);
  }

 private:
  Status add(NodeId id) {
    if (adds_row_to(id)) return ok();  // computed with the node that adds it
    const NodeId asked = first_of_[id] == kNoNode ? id : first_of_[id];
    const Node& node = graph_.node(asked);
    const NodeView view(graph_, asked, segment_.memory);
    const ZdnnKernel* const kernel = shared_.table.find(*node.op);
    const Support answer = kernel == nullptr
                               ? Support::no(Refusal::kOp, "there is no kernel for it")
                               : kernel->supports_on(view, shared_.machine);
    if (!answer) {
      return fail(ErrorCode::kUnsupported, "{}: {}", graph_.describe(asked), answer.facts());
    }
    PreparedNode prepared{.id = id, .asked = asked, .kernel = kernel};
    for (std::size_t s = 0; s < node.sources.size(); ++s) {
      if (!view.has_source(s)) continue;
      SHUNT_ASSIGN(prepared.sources[s], source(view, *kernel, s));
    }
    if (asked != id) {
      made_.needs.fused.push_back({asked, id});
      const NodeView sum(graph_, id, segment_.memory);
      SHUNT_ASSIGN(prepared.sources[kAddedRow],
                   source(sum, *shared_.table.find(*sum.node().op), 1));
    }
    for (const Dims& dims : kernel->temporaries(view, shared_.machine)) {
      prepared.temporaries.push_back(pieces_.size());
      pieces_.push_back({stick_bytes(dims), now(), now()});
    }
    if (!kernel->gives_plain(view, shared_.machine)) {
      slot_of_[id] = prepared.result = new_slot(id, node.result);
      if (!always_dense(node.result)) stage(node.result);
    }
    staging_ = std::max(staging_, kernel->staging(view, shared_.machine));
    made_here_[id] = true;
    made_.nodes.push_back(std::move(prepared));
    return ok();
  }

  /// Whether the one node that reads this one adds a row to it, and its kernel does that, too.
  bool adds_row_to(NodeId id) {
    const NodeView view(graph_, id, segment_.memory);
    const ZdnnKernel* const kernel = shared_.table.find(*view.node().op);
    if (segment_.kept[id] || kernel == nullptr || !kernel->supports_on(view, shared_.machine) ||
        !kernel->adds_row(view, shared_.machine)) {
      return false;
    }
    NodeId reader = kNoNode;
    for (NodeId other = id + 1; other < graph_.size(); ++other) {
      const Node& node = graph_.node(other);
      const auto reads = std::ranges::count(node.sources, id);
      if (reads == 0) continue;
      if (reads > 1 || reader != kNoNode) return false;
      reader = other;
    }
    if (reader == kNoNode || graph_.node(reader).op != &add_op()) return false;
    const std::vector<NodeId>& sources = graph_.node(reader).sources;
    const Shape& row = graph_.node(sources[1]).result.shape;
    const bool is_row = row[0] == view.result().shape[0] && element_count(row) == row[0].max;
    if (sources[0] != id || !is_row ||
        std::ranges::find(segment_.nodes, reader) == segment_.nodes.end()) {
      return false;
    }
    first_of_[reader] = id;
    return true;
  }

  std::size_t now() const { return made_.nodes.size(); }

  std::size_t new_slot(NodeId node, const Tensor& tensor) {
    made_.slots.push_back({node, pieces_.size()});
    pieces_.push_back({stick_bytes(max_dims(tensor)), now(), now()});
    return made_.slots.size() - 1;
  }

  /// Room for its numbers on their way in or out.
  void stage(const Tensor& tensor) {
    const auto bytes = static_cast<std::size_t>(element_count(tensor.shape)) * sizeof(float);
    staging_ = std::max(staging_, bytes);
  }

  /// Where a source was computed in this segment; none: somewhere else, or it is seen otherwise.
  std::size_t slot_of(NodeId id, NodeId owner) const {
    const bool same = id == owner || same_sticks(graph_.node(id), graph_.node(owner));
    return made_here_[owner] && same ? slot_of_[owner] : kNone;
  }

  Result<PreparedSource> source(const NodeView& view, const ZdnnKernel& kernel, std::size_t s) {
    const NodeId id = view.node().sources[s];
    const NodeId owner = graph_.node(id).storage;
    const bool made_so = slot_of(id, owner) != kNone;
    const bool plain =
        kernel.reads_plain(view, shared_.machine, s) || (kernel.takes_either(s) && !made_so);
    if (const WeightMemory* const weights = as_weight_memory(view.source_memory(s))) {
      if (id == owner && kernel.takes_weight(view, s)) {
        return PreparedSource{id, plain ? SourceKind::kWeight : SourceKind::kWeightRow};
      }
      return fail(ErrorCode::kUnsupported, "{} can't read {} in {} memory",
                  view.node().op->info().name, graph_.describe(id), weights->name());
    }
    if (plain) {
      read_plain_[owner] = true;
      return PreparedSource{id, SourceKind::kPlain};
    }
    std::size_t slot = made_so ? slot_of(id, owner) : slot_of_[id];
    if (slot == kNone) {
      read_plain_[owner] = true;
      const Tensor& tensor = graph_.node(id).result;
      slot = slot_of_[id] = new_slot(id, tensor);
      made_.slots[slot].comes_in = true;
      if (!is_host_type(tensor.dtype) || !always_dense(tensor)) stage(tensor);
    }
    pieces_[made_.slots[slot].piece].last = now();
    return PreparedSource{id, SourceKind::kSticks, slot};
  }

  void lay_out_scratch() {
    const std::size_t sticks = lay_out(pieces_);
    made_.staging = sticks;
    made_.needs.scratch_bytes = sticks + whole_pages(staging_);
    for (const ScratchPiece& piece : pieces_) made_.offsets.push_back(piece.offset);
  }

  const SegmentView& segment_;
  const Graph& graph_;
  const Shared& shared_;
  Prepared made_;
  std::vector<std::size_t> slot_of_;  // by node
  std::vector<NodeId> first_of_;      // by node that adds a row: to what, if they are one
  std::vector<bool> made_here_;
  std::vector<bool> read_plain_;  // by owner of memory: somebody here reads it so
  std::vector<ScratchPiece> pieces_;
  std::size_t staging_ = 0;
};

class ZdnnProgram final : public Program {
 public:
  ZdnnProgram(const Graph& graph, const Shared& shared, Prepared prepared)
      : graph_(graph), shared_(shared), prepared_(std::move(prepared)) {}
  const Needs& needs() const override { return prepared_.needs; }
  Result<std::unique_ptr<Binding>> bind(const Addresses& addresses) override {
    auto binding = std::make_unique<ZdnnBinding>(graph_, shared_, prepared_);
    SHUNT_TRY(binding->bind(addresses));
    return binding;
  }

 private:
  const Graph& graph_;
  Shared shared_;
  Prepared prepared_;
};

}  // namespace

Result<std::unique_ptr<Program>> prepare(const SegmentView& segment, const Shared& shared) {
  SHUNT_ASSIGN(Prepared prepared, Preparer(segment, shared).run());
  return std::make_unique<ZdnnProgram>(segment.graph, shared, std::move(prepared));
}

Status run(Binding& binding, const RunArgs& args) {
  return static_cast<ZdnnBinding&>(binding).run(args);
}

}  // namespace shunt::zdnn
