#include "backends/zdnn/binding.h"

#include <algorithm>

#include "backends/zdnn/weight_memory.h"
#include "shunt/message.h"

namespace shunt::zdnn {

/// A weight, or the address of plain data. Numbers of a slot come in during a run.
Status ZdnnBinding::bind_source(const PreparedNode& node, std::size_t s, const Address& at,
                                Call& call) {
  const PreparedSource& source = node.sources[s];
  if (source.kind == SourceKind::kWeight || source.kind == SourceKind::kWeightRow) {
    SourceArg& arg = call.launch->sources[s];
    arg.weight = find_weight(at);
    if (arg.weight == nullptr) {
      return invalid("{}: {} is in a buffer of {} that was not allocated for it",
                     graph_.describe(node.id), graph_.describe(source.id),
                     at ? at.buffer->type().name() : "no");
    }
  } else if (source.kind == SourceKind::kPlain) {
    SHUNT_ASSIGN(call.sources[s], host_address(graph_, node.id, source.id, at));
  }
  return ok();
}

Status ZdnnBinding::bind(const Addresses& addresses) {
  const auto address = [&](NodeId node, NodeId of) {
    return host_address(graph_, node, of, addresses.nodes[of]);
  };
  scratch_ = scratch_address(addresses);
  slot_sources_.assign(slots_.size(), nullptr);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const PreparedSlot& slot = prepared_.slots[i];
    if (!slot.comes_in) continue;
    SHUNT_ASSIGN(slot_sources_[i], address(slot.node, slot.node));
  }
  for (const PreparedNode& node : prepared_.nodes) {
    Call& call = calls_.emplace_back();
    call.launch = std::make_unique<Launch>(shared_.machine, shared_.constants);
    Launch& launch = *call.launch;
    launch.params = &graph_.node(node.asked).params;
    launch.staging = scratch_ == nullptr ? nullptr : scratch_ + prepared_.scratch.staging;
    for (const PreparedTemporary& piece : node.temporaries) {
      launch.temporaries.emplace_back();
      launch.rooms.push_back({scratch_ + prepared_.scratch.offsets[piece.piece], piece.dims});
    }
    for (std::size_t s = 0; s < kMaxSources; ++s) {
      const PreparedSource& source = node.sources[s];
      if (source.kind == SourceKind::kAbsent) continue;
      SHUNT_TRY(bind_source(node, s, addresses.nodes[source.id], call));
    }
    if (node.plain) {
      SHUNT_ASSIGN(call.result, address(node.id, node.id));
    }
  }
  return ok();
}

Stick& ZdnnBinding::place(std::size_t slot, const Dims& dims) {
  const std::size_t offset = prepared_.scratch.offsets[prepared_.slots[slot].piece];
  slots_[slot].stick.set(shared_.machine.zdnn(), scratch_ + offset, dims);
  return slots_[slot].stick;
}

HostTensor ZdnnBinding::host(NodeId id, std::byte* data) const {
  return tensor_in_run(graph_.node(id).result, data, *dynamic_dims_);
}

Status ZdnnBinding::run(const RunArgs& args) {
  dynamic_dims_ = &args.dynamic_dims;
  for (SlotState& slot : slots_) {
    slot.filled = slot.saturated = slot.looked_at = slot.hides = false;
    slot.in_range = true;
    slot.exact.clear();
  }
  return run_node_by_node(
      graph_, calls_.size(), args.cancel, [&](std::size_t i) { return prepared_.nodes[i].id; },
      [&](std::size_t i) { return run_node(i); });
}

Result<ZdnnBinding::Ready> ZdnnBinding::fill_sources(std::size_t index) {
  const PreparedNode& node = prepared_.nodes[index];
  Call& call = calls_[index];
  Ready ready;
  for (std::size_t s = 0; s < kMaxSources; ++s) {
    const PreparedSource& source = node.sources[s];
    if (source.kind == SourceKind::kAbsent) continue;
    SourceArg& arg = call.launch->sources[s];
    arg.sizes = actual_sizes(graph_.node(source.id).result, *dynamic_dims_);
    arg.form = source.form;
    if (source.kind == SourceKind::kPlain) {
      arg.host = host(source.id, call.sources[s]);
    } else if (source.kind == SourceKind::kWeight || source.kind == SourceKind::kWeightRow) {
      SHUNT_ASSIGN(const bool settled, arg.weight->settle());
      ready.in_range &= settled;
      ready.saturated |= arg.weight->saturated();
      if (source.kind == SourceKind::kWeightRow) arg.stick = &arg.weight->piece(0, 0);
    } else if (!is_empty(arg.sizes)) {
      SHUNT_TRY(fill(source.slot));
      SlotState& slot = slots_[source.slot];
      ready.in_range &= slot.in_range;
      ready.saturated |= slot.saturated;
      arg.stick = &slot.stick;
      arg.hiding = slot.hides ? &slot.hiding : nullptr;
      if (source.form == SourceForm::kMask) continue;
      Sizes sizes = arg.sizes;
      if (source.form == SourceForm::kTransposed) std::swap(sizes[0], sizes[1]);
      if (dims_of(sizes) == slot.stick.dims()) continue;
      call.views[s].set(shared_.machine.zdnn(), slot.stick.buffer(), dims_of(sizes), true);
      arg.stick = &call.views[s];
    }
  }
  return ready;
}

void ZdnnBinding::compute(std::size_t index) {
  const PreparedNode& node = prepared_.nodes[index];
  Launch& launch = *calls_[index].launch;
  launch.start();
  node.kernel->run(launch);
  if (launch.outcome() == Outcome::kOk && launch.result != nullptr &&
      calls_[index].result != nullptr) {
    bring_out(launch, slots_[node.result]);
  }
}

/// By the machine, and again with saturated sources if the result is out of range. Returns whether
/// there is a result.
Result<bool> ZdnnBinding::compute_in_range(std::size_t index, Ready& ready) {
  Launch& launch = *calls_[index].launch;
  compute(index);
  if (launch.outcome() == Outcome::kOutOfRange && saturates()) {
    SHUNT_ASSIGN(const bool other, saturate_sources(index));
    if (other) {
      SHUNT_ASSIGN(ready, fill_sources(index));
      if (ready.in_range) compute(index);
    }
  }
  if (launch.outcome() == Outcome::kFailed) return std::move(*launch.error());
  return launch.outcome() == Outcome::kOk;
}

Status ZdnnBinding::run_node(std::size_t index) {
  const PreparedNode& node = prepared_.nodes[index];
  Call& call = calls_[index];
  Launch& launch = *call.launch;
  launch.sizes = actual_sizes(graph_.node(node.id).result, *dynamic_dims_);
  if (is_empty(launch.sizes)) return ok();
  SHUNT_ASSIGN(Ready ready, fill_sources(index));
  const auto empty = [](const SourceArg& source) {
    return source.sizes != Sizes{} && is_empty(source.sizes);
  };
  const bool sums_nothing = std::ranges::any_of(launch.sources, empty);
  if (!sums_nothing && node.result < slots_.size()) {
    slots_[node.result].filled = true;
    launch.result = &place(node.result, dims_of(launch.sizes));
  }
  if (call.result != nullptr) launch.host_result = host(node.id, call.result);
  if (!sums_nothing && ready.in_range) {
    SHUNT_ASSIGN(const bool done, compute_in_range(index, ready));
    if (done) {
      if (ready.saturated || launch.saturated())
        shared_.ranges.count(graph_.describe(node.id), true);
      return ok();
    }
  }
  SHUNT_ASSIGN(const bool saturated, compute_plainly(index));
  if (!sums_nothing) {
    shared_.ranges.count(graph_.describe(node.id), saturated || ready.saturated);
  }
  return ok();
}

/// Copies a result to plain memory. Its rows may be further apart than dense rows of this run.
void ZdnnBinding::bring_out(Launch& launch, const SlotState& slot) const {
  const HostTensor& to = launch.host_result;
  if (to.is_dense()) {
    (void)launch.to_host(slot.stick, reinterpret_cast<float*>(to.data));
    return;
  }
  auto* const numbers = reinterpret_cast<float*>(launch.staging);
  if (launch.to_host(slot.stick, numbers)) scatter(numbers, to);
}

}  // namespace shunt::zdnn
