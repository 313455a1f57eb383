#include "backends/zdnn/binding.h"

#include <algorithm>
#include <cstring>

#include "base/fail.h"

namespace shunt::zdnn {

Status ZdnnBinding::check_address(NodeId node, NodeId of, const Address& at,
                                  std::byte*& data) const {
  data = at ? at.buffer->host_data() : nullptr;
  if (data == nullptr) {
    return fail(ErrorCode::kInternal, "{}: {} has no address in host memory", graph_.describe(node),
                graph_.describe(of));
  }
  data += at.offset;
  return ok();
}

Status ZdnnBinding::bind(const Addresses& addresses) {
  if (addresses.scratch) {
    scratch_ = addresses.scratch.buffer->host_data() + addresses.scratch.offset;
  }
  slot_sources_.assign(slots_.size(), nullptr);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const PreparedSlot& slot = prepared_.slots[i];
    if (!slot.comes_in) continue;
    SHUNT_TRY(check_address(slot.node, slot.node, addresses.nodes[slot.node], slot_sources_[i]));
  }
  for (const PreparedNode& node : prepared_.nodes) {
    Call& call = calls_.emplace_back();
    call.launch = std::make_unique<Launch>(shared_.machine, shared_.constants);
    Launch& launch = *call.launch;
    launch.params = &graph_.node(node.asked).params;
    launch.staging = scratch_ == nullptr ? nullptr : scratch_ + prepared_.staging;
    for (const PreparedTemporary& piece : node.temporaries) {
      launch.temporaries.emplace_back();
      launch.rooms.push_back({scratch_ + prepared_.offsets[piece.piece], piece.dims});
    }
    for (std::size_t s = 0; s < kMaxSources; ++s) {
      const PreparedSource& source = node.sources[s];
      if (source.kind == SourceKind::kAbsent) continue;
      const Address& at = addresses.nodes[source.id];
      if (source.kind == SourceKind::kWeight || source.kind == SourceKind::kWeightRow) {
        launch.sources[s].weight = find_weight(at);
        if (launch.sources[s].weight == nullptr) {
          return invalid("{}: {} lies in a buffer of {} that was not allocated for it",
                         graph_.describe(node.id), graph_.describe(source.id),
                         at ? at.buffer->type().name() : "no");
        }
      } else if (source.kind == SourceKind::kPlain) {
        SHUNT_TRY(check_address(node.id, source.id, at, call.sources[s]));
      }
    }
    if (node.plain) {
      SHUNT_TRY(check_address(node.id, node.id, addresses.nodes[node.id], call.result));
    }
  }
  return ok();
}

HostTensor ZdnnBinding::host(NodeId id, std::byte* data) const {
  const Tensor& tensor = graph_.node(id).result;
  return {data, tensor.dtype, actual_sizes(tensor, *extents_), tensor.strides};
}

Status ZdnnBinding::run(const RunArgs& args) {
  extents_ = &args.extents;
  for (SlotState& slot : slots_) {
    slot.filled = slot.saturated = slot.looked_at = slot.hides = false;
    slot.in_range = true;
    slot.exact.clear();
  }
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    if (args.cancel != nullptr && args.cancel->load(std::memory_order_relaxed)) {
      return fail(ErrorCode::kCancelled, "cancelled");
    }
    Status status = run_node(i);
    if (status) continue;
    const std::string node = graph_.describe(prepared_.nodes[i].id);
    return std::move(status.error()).with_node(node).with_context(node);
  }
  return ok();
}

Result<ZdnnBinding::Ready> ZdnnBinding::fill_sources(std::size_t index) {
  const PreparedNode& node = prepared_.nodes[index];
  Call& call = calls_[index];
  Ready ready;
  for (std::size_t s = 0; s < kMaxSources; ++s) {
    const PreparedSource& source = node.sources[s];
    if (source.kind == SourceKind::kAbsent) continue;
    SourceArg& arg = call.launch->sources[s];
    arg.sizes = actual_sizes(graph_.node(source.id).result, *extents_);
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

Status ZdnnBinding::run_node(std::size_t index) {
  const PreparedNode& node = prepared_.nodes[index];
  Call& call = calls_[index];
  Launch& launch = *call.launch;
  launch.sizes = actual_sizes(graph_.node(node.id).result, *extents_);
  if (is_empty(launch.sizes)) return ok();
  SHUNT_ASSIGN(Ready ready, fill_sources(index));
  const auto empty = [](const SourceArg& source) {
    return source.sizes != Sizes{} && is_empty(source.sizes);
  };
  const bool sums_nothing = std::ranges::any_of(launch.sources, empty);
  if (!sums_nothing && node.result < slots_.size()) {
    SlotState& slot = slots_[node.result];
    const std::size_t piece = prepared_.slots[node.result].piece;
    slot.stick.set(shared_.machine.zdnn(), scratch_ + prepared_.offsets[piece],
                   dims_of(launch.sizes));
    slot.filled = true;
    launch.result = &slot.stick;
  }
  if (call.result != nullptr) launch.host_result = host(node.id, call.result);
  if (!sums_nothing && ready.in_range) {
    compute(index);
    if (launch.outcome() == Outcome::kOutOfRange && shared_.machine.saturates()) {
      SHUNT_ASSIGN(const bool other, saturate_sources(index));
      if (other) {
        SHUNT_ASSIGN(ready, fill_sources(index));
        if (ready.in_range) compute(index);
      }
    }
    if (launch.outcome() == Outcome::kFailed) return std::move(*launch.error());
    if (launch.outcome() == Outcome::kOk) {
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

/// Into plain memory, whose rows may lie further apart than those of this run follow each other.
void ZdnnBinding::bring_out(Launch& launch, const SlotState& slot) const {
  const HostTensor& to = launch.host_result;
  if (to.is_dense()) {
    (void)launch.to_host(slot.stick, reinterpret_cast<float*>(to.data));
    return;
  }
  const auto* from = reinterpret_cast<const float*>(launch.staging);
  if (!launch.to_host(slot.stick, reinterpret_cast<float*>(launch.staging))) return;
  const Sizes& n = to.sizes;
  for (std::int64_t i3 = 0; i3 < n[3]; ++i3) {
    for (std::int64_t i2 = 0; i2 < n[2]; ++i2) {
      for (std::int64_t i1 = 0; i1 < n[1]; ++i1, from += n[0]) {
        std::memcpy(to.data + i1 * to.strides[1] + i2 * to.strides[2] + i3 * to.strides[3], from,
                    static_cast<std::size_t>(n[0]) * sizeof(float));
      }
    }
  }
}

}  // namespace shunt::zdnn
