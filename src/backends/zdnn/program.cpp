#include "backends/zdnn/program.h"

#include <algorithm>

#include "backend_support/node_launch.h"
#include "backend_support/score_mask.h"
#include "backends/zdnn/fusion.h"
#include "backends/zdnn/weight_memory.h"

namespace shunt::zdnn {

namespace {

class Preparer {
 public:
  Preparer(const SegmentView& segment, const Shared& shared)
      : segment_(segment),
        graph_(segment.graph),
        shared_(shared),
        fusions_(find_fusions(segment, shared)),
        made_{segment.graph, shared},
        slot_of_(graph_.size(), kNoSlot),
        read_plain_(graph_.size(), false) {}

  Result<Prepared> run() {
    for (const NodeId id : segment_.nodes) SHUNT_TRY(add(id));
    for (PreparedNode& node : made_.nodes) {
      node.plain = segment_.live_out[node.id] || read_plain_[node.id] || node.result == kNoSlot;
      if (!node.plain) made_.needs.fused.push_back({node.id, node.id});
    }
    SHUNT_ASSIGN(made_.scratch, scratch_.lay_out(kPage));
    made_.needs.scratch_bytes = made_.scratch.bytes;
    return std::move(made_);
  }

 private:
  Status add(NodeId id) {
    if (fusions_.is_inside(id)) return ok();  // computed with the node that adds a row to it
    const Fused* const fused = fusions_.ending_at(id);
    const NodeId asked = fused == nullptr ? id : fused->asked;
    const Node& node = graph_.node(asked);
    const NodeView view(graph_, asked, segment_.memory);
    SHUNT_ASSIGN(const ZdnnKernel* const kernel,
                 find_kernel(shared_.table, segment_, asked, shared_.machine));
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
      add_fused(graph_, *fused, made_.needs);
      const NodeView sum(graph_, id, segment_.memory);
      SHUNT_ASSIGN(prepared.sources[kAddedRow],
                   source(sum, *shared_.table.find(*sum.node().op), 1, {}));
    }
    const KernelUse use{view, shared_.machine, forms};
    for (const Dims& dims : kernel->temporaries(use)) {
      prepared.temporaries.push_back({scratch_.add(stick_bytes(dims)), dims});
    }
    if (!kernel->gives_plain(view, shared_.machine)) {
      slot_of_[id] = prepared.result = new_slot(id, max_dims(node.result));
      if (!is_always_dense(node.result)) stage(element_count(node.result.shape));
    }
    scratch_.stage(kernel->staging(use));
    made_.nodes.push_back(std::move(prepared));
    scratch_.next();
    return ok();
  }

  std::size_t new_slot(NodeId node, const Dims& dims) {
    made_.slots.push_back({node, scratch_.add(stick_bytes(dims))});
    return made_.slots.size() - 1;
  }

  /// Room for numbers on their way in or out.
  void stage(std::int64_t numbers) {
    scratch_.stage(static_cast<std::size_t>(numbers) * sizeof(float));
  }

  SourcePlace place(NodeId id) const {
    const NodeId owner = graph_.node(id).storage;
    return slot_of_[owner] == kNoSlot
               ? SourcePlace::kOutside
               : place_in_blocks(graph_.node(id), graph_.node(owner), kStickElements);
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
    scratch_.use(made_.slots[slot].piece);
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
      sizes[3] *= 2;  // and the shown elements
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
      scratch_.stage(transpose_bytes(tensor.size(0), tensor.size(1)));
    } else if (!direct) {
      // And a row, where that is transposed.
      stage(count_rows(sizes) * sizes[0] + max_sizes(tensor.shape)[0]);
    }
    return index;
  }

  const SegmentView& segment_;
  const Graph& graph_;
  const Shared& shared_;
  const Fusions fusions_;
  Prepared made_;
  ScratchPlan scratch_;
  std::vector<std::size_t> slot_of_;  // by node that is computed here
  std::vector<bool> read_plain_;      // by owner of memory: a node here reads it so
};

}  // namespace

Result<std::unique_ptr<Program>> prepare(const SegmentView& segment, const Shared& shared) {
  SHUNT_ASSIGN(Prepared prepared, Preparer(segment, shared).run());
  return std::make_unique<PreparedProgram<ZdnnBinding, Prepared>>(std::move(prepared));
}

}  // namespace shunt::zdnn
