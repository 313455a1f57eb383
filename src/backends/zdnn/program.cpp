#include "backends/zdnn/program.h"

#include <algorithm>

#include "backends/zdnn/binding.h"
#include "backends/zdnn/mask.h"
#include "base/fail.h"
#include "ops/elementwise/elementwise.h"

namespace shunt::zdnn {

namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

/// Whether a tensor has the bytes that another one has in the machine's layout: its matrices are
/// the same, or columns of a single one by whole sticks.
bool same_sticks(const Tensor& view, const Tensor& owner) {
  const Shape& a = view.shape;
  const Shape& b = owner.shape;
  if (a[1] != b[1]) return false;
  const bool fixed = a[2].is_fixed() && a[3].is_fixed();
  if (is_contiguous(view) && a[0] == b[0]) {
    return a == b || (fixed && b[2].is_fixed() && b[3].is_fixed() &&
                      a[2].max * a[3].max == b[2].max * b[3].max);
  }
  const std::int64_t columns = a[0].max;
  if (!fixed || !a[0].is_fixed() || !b[0].is_fixed() || b[2] != Dim(1) || b[3] != Dim(1) ||
      columns % kStickElements != 0 || columns * a[2].max * a[3].max != b[0].max) {
    return false;
  }
  const std::array<std::int64_t, kMaxDims> strides = {owner.strides[0], owner.strides[1],
                                                      columns * owner.strides[0],
                                                      columns * a[2].max * owner.strides[0]};
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    if (a[i] != Dim(1) && view.strides[i] != strides[i]) return false;
  }
  return true;
}

/// How a view lies where its owner is in the layout.
SourcePlace place_in(const Node& view, const Node& owner) {
  if (view.offset != 0 || view.result.dtype != owner.result.dtype) return SourcePlace::kOutside;
  Tensor tensor = view.result;
  if (same_sticks(tensor, owner.result)) return SourcePlace::kInLayout;
  std::swap(tensor.shape[0], tensor.shape[1]);
  std::swap(tensor.strides[0], tensor.strides[1]);
  return same_sticks(tensor, owner.result) ? SourcePlace::kTurned : SourcePlace::kOutside;
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
    SourcePlaces places = {};
    for (std::size_t s = 0; s < node.sources.size(); ++s) {
      if (view.has_source(s)) places[s] = place(node.sources[s]);
    }
    SourceForms forms = {};
    for (std::size_t s = 0; s < node.sources.size(); ++s) {
      if (!view.has_source(s)) continue;
      SHUNT_ASSIGN(prepared.sources[s], source(view, *kernel, s, places));
      forms[s] = prepared.sources[s].form;
    }
    if (asked != id) {
      made_.needs.fused.push_back({asked, id});
      const NodeView sum(graph_, id, segment_.memory);
      SHUNT_ASSIGN(prepared.sources[kAddedRow],
                   source(sum, *shared_.table.find(*sum.node().op), 1, {}));
    }
    const KernelUse use{view, shared_.machine, forms};
    for (const Dims& dims : kernel->temporaries(use)) {
      prepared.temporaries.push_back({pieces_.size(), dims});
      pieces_.push_back({stick_bytes(dims), now(), now()});
    }
    if (!kernel->gives_plain(view, shared_.machine)) {
      slot_of_[id] = prepared.result = new_slot(id, max_dims(node.result));
      if (!is_always_dense(node.result)) stage(element_count(node.result.shape));
    }
    staging_ = std::max(staging_, kernel->staging(use));
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

  std::size_t new_slot(NodeId node, const Dims& dims) {
    made_.slots.push_back({node, pieces_.size()});
    pieces_.push_back({stick_bytes(dims), now(), now()});
    return made_.slots.size() - 1;
  }

  /// Room for numbers on their way in or out.
  void stage(std::int64_t numbers) {
    staging_ = std::max(staging_, static_cast<std::size_t>(numbers) * sizeof(float));
  }

  bool is_in_layout(NodeId owner) const { return made_here_[owner] && slot_of_[owner] != kNone; }

  SourcePlace place(NodeId id) const {
    const NodeId owner = graph_.node(id).storage;
    return is_in_layout(owner) ? place_in(graph_.node(id), graph_.node(owner))
                               : SourcePlace::kOutside;
  }

  Result<PreparedSource> source(const NodeView& view, const ZdnnKernel& kernel, std::size_t s,
                                const SourcePlaces& places) {
    const NodeId id = view.node().sources[s];
    const NodeId owner = graph_.node(id).storage;
    if (const WeightMemory* const weights = as_weight_memory(view.source_memory(s))) {
      if (id == owner && kernel.takes_weight(view, s)) {
        const bool row = WeightSticks::is_row(graph_.node(id).result);
        return PreparedSource{id, row ? SourceKind::kWeightRow : SourceKind::kWeight};
      }
      return fail(ErrorCode::kUnsupported, "{} can't read {} in {} memory",
                  view.node().op->info().name, graph_.describe(id), weights->name());
    }
    const SourceForm form = kernel.form(view, shared_.machine, s, places);
    if (form == SourceForm::kPlain) {
      read_plain_[owner] = true;
      return PreparedSource{id, SourceKind::kPlain, form};
    }
    const SourcePlace wanted =
        form == SourceForm::kTransposed ? SourcePlace::kTurned : SourcePlace::kInLayout;
    const bool as_it_is = form == SourceForm::kSticks || form == SourceForm::kTransposed;
    const bool there = as_it_is && place(id) == wanted;
    const std::size_t slot = there ? slot_of_[owner] : incoming(view, kernel, s, form);
    pieces_[made_.slots[slot].piece].last = now();
    return PreparedSource{id, SourceKind::kSticks, form, slot};
  }

  /// The slot of a tensor that comes in, in a form.
  std::size_t incoming(const NodeView& view, const ZdnnKernel& kernel, std::size_t s,
                       SourceForm form) {
    const NodeId id = view.node().sources[s];
    const Tensor& tensor = graph_.node(id).result;
    const float max_bias = form == SourceForm::kMask ? kernel.max_bias(view) : 0;
    const float scale = form == SourceForm::kLevelled ? kernel.scale(view) : 1;
    for (std::size_t i = 0; i < made_.slots.size(); ++i) {
      const PreparedSlot& slot = made_.slots[i];
      if (!slot.comes_in || slot.node != id || slot.form != form) continue;
      const bool same =
          max_bias == slot.max_bias && scale == slot.scale &&
          (max_bias == 0 || graph_.node(slot.scores).result.shape[2] == view.source(0).shape[2]);
      if (same) return i;
    }
    read_plain_[graph_.node(id).storage] = true;
    Sizes sizes = max_sizes(tensor.shape);
    const std::int64_t numbers = element_count(tensor.shape);
    if (form == SourceForm::kTransposed) std::swap(sizes[0], sizes[1]);
    if (form == SourceForm::kMask) {
      sizes = mask_sizes(sizes, max_sizes(view.source(0).shape), max_bias);
      sizes[3] *= 2;  // and what it shows
    }
    const std::size_t index = new_slot(id, dims_of(sizes));
    PreparedSlot& slot = made_.slots[index];
    slot.comes_in = true;
    slot.form = form;
    slot.max_bias = max_bias;
    slot.scale = scale;
    if (form == SourceForm::kMask) slot.scores = view.node().sources[0];
    const bool direct = form == SourceForm::kSticks && goes_in_directly(tensor);
    slot.by_parts = form == SourceForm::kTransposed && numbers > kTransposedAtOnce;
    if (slot.by_parts) {
      staging_ = std::max(staging_, transpose_bytes(tensor.size(0)));
    } else if (!direct) {
      // And a row, where that is transposed.
      stage(count_rows(sizes) * sizes[0] + max_sizes(tensor.shape)[0]);
    }
    return index;
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
  std::vector<std::size_t> slot_of_;  // by node that is computed here
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
