#include "backends/zdnn/binding.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/fail.h"
#include "graph/tensor_values.h"

namespace shunt::zdnn {

namespace {

bool is_empty(const Sizes& sizes) {
  return std::ranges::any_of(sizes, [](std::int64_t size) { return size == 0; });
}

}  // namespace

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
    for (const std::size_t piece : node.temporaries) {
      launch.temporaries.emplace_back();
      launch.temporary_memory.push_back(scratch_ + prepared_.offsets[piece]);
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
    slot.filled = false;
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

/// A tensor that comes in, once a run.
Status ZdnnBinding::fill(std::size_t index) {
  SlotState& slot = slots_[index];
  if (slot.filled) return ok();
  const PreparedSlot& prepared = prepared_.slots[index];
  const HostTensor from = host(prepared.node, slot_sources_[index]);
  const Symbols& zdnn = shared_.machine.zdnn();
  slot.stick.set(zdnn, scratch_ + prepared_.offsets[prepared.piece], dims_of(from.sizes));
  const void* data = from.data;
  const bool direct = from.is_dense() && (from.dtype == DType::kF32 || from.dtype == DType::kF16 ||
                                          from.dtype == DType::kBF16);
  if (direct) {
    slot.stick.set_host_type(from.dtype);
  } else {
    auto* const staging = reinterpret_cast<float*>(scratch_ + prepared_.staging);
    gather(from, from.sizes, staging);
    data = staging;
  }
  const std::uint32_t status = zdnn.transform_ztensor(slot.stick.get(), data);
  if (outcome_of(status) == Outcome::kFailed) {
    return error_of(zdnn, "zdnn_transform_ztensor", status);
  }
  slot.filled = true;
  slot.in_range = status == kOk;
  return ok();
}

Result<bool> ZdnnBinding::fill_sources(std::size_t index) {
  const PreparedNode& node = prepared_.nodes[index];
  Launch& launch = *calls_[index].launch;
  bool in_range = true;
  for (std::size_t s = 0; s < kMaxSources; ++s) {
    const PreparedSource& source = node.sources[s];
    if (source.kind == SourceKind::kAbsent) continue;
    SourceArg& arg = launch.sources[s];
    arg.sizes = actual_sizes(graph_.node(source.id).result, *extents_);
    if (source.kind == SourceKind::kPlain) {
      arg.host = host(source.id, calls_[index].sources[s]);
    } else if (source.kind == SourceKind::kWeight || source.kind == SourceKind::kWeightRow) {
      SHUNT_ASSIGN(const bool settled, arg.weight->settle());
      in_range &= settled;
      if (source.kind == SourceKind::kWeightRow) arg.stick = &arg.weight->piece(0, 0);
    } else {
      if (!is_empty(arg.sizes)) SHUNT_TRY(fill(source.slot));
      arg.stick = &slots_[source.slot].stick;
      in_range &= slots_[source.slot].in_range;
    }
  }
  return in_range;
}

Status ZdnnBinding::run_node(std::size_t index) {
  const PreparedNode& node = prepared_.nodes[index];
  Call& call = calls_[index];
  Launch& launch = *call.launch;
  launch.start();
  launch.sizes = actual_sizes(graph_.node(node.id).result, *extents_);
  if (is_empty(launch.sizes)) return ok();
  SHUNT_ASSIGN(const bool ready, fill_sources(index));
  const auto empty = [](const SourceArg& source) {
    return source.sizes != Sizes{} && is_empty(source.sizes);
  };
  if (std::ranges::any_of(launch.sources, empty)) return compute_plainly(index);
  SlotState* slot = nullptr;
  if (node.result < slots_.size()) {
    slot = &slots_[node.result];
    const std::size_t piece = prepared_.slots[node.result].piece;
    slot->stick.set(shared_.machine.zdnn(), scratch_ + prepared_.offsets[piece],
                    dims_of(launch.sizes));
    slot->filled = true;
    launch.result = &slot->stick;
  }
  if (call.result != nullptr) launch.host_result = host(node.id, call.result);
  if (ready) {
    node.kernel->run(launch);
    if (launch.outcome() == Outcome::kOk && slot != nullptr && call.result != nullptr) {
      bring_out(launch, *slot);
    }
    if (launch.outcome() == Outcome::kOk) return ok();
    if (launch.outcome() == Outcome::kFailed) return std::move(*launch.error());
  }
  shared_.ranges.count(graph_.describe(node.id));
  return compute_plainly(index);
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

/// The values of a source, from where they are nearest to what they should be.
Result<RefTensor> ZdnnBinding::values_of(std::size_t index, std::size_t source) {
  const PreparedNode& node = prepared_.nodes[index];
  const PreparedSource& from = node.sources[source];
  const Tensor& tensor = graph_.node(from.id).result;
  const Sizes sizes = actual_sizes(tensor, *extents_);
  if (from.kind == SourceKind::kWeight || from.kind == SourceKind::kWeightRow) {
    SHUNT_ASSIGN(const std::vector<float> floats,
                 calls_[index].launch->sources[source].weight->values());
    RefTensor values(sizes);
    std::ranges::copy(floats, values.data.begin());
    return values;
  }
  if (from.kind == SourceKind::kPlain) {
    return read_tensor(calls_[index].sources[source], tensor, sizes);
  }
  if (prepared_.slots[from.slot].comes_in) {
    return read_tensor(slot_sources_[from.slot], tensor, sizes);
  }
  RefTensor values(sizes);
  if (values.data.empty()) return values;
  const SlotState& slot = slots_[from.slot];
  std::vector<float> floats = slot.exact;
  if (floats.empty()) {
    floats.resize(values.data.size());
    const Symbols& zdnn = shared_.machine.zdnn();
    const std::uint32_t status = zdnn.transform_origtensor(slot.stick.get(), floats.data());
    if (status != kOk) return error_of(zdnn, "zdnn_transform_origtensor", status);
  }
  std::ranges::copy(floats, values.data.begin());
  return values;
}

/// By the plain meaning of its ops: what the machine can't do with these numbers.
Status ZdnnBinding::compute_plainly(std::size_t index) {
  const PreparedNode& prepared = prepared_.nodes[index];
  const Node& node = graph_.node(prepared.id);
  const Node& asked = graph_.node(prepared.asked);
  std::array<RefTensor, kMaxSources> values;
  std::array<const RefTensor*, kMaxSources> sources = {};
  for (std::size_t s = 0; s < kMaxSources; ++s) {
    if (prepared.sources[s].kind == SourceKind::kAbsent) continue;
    SHUNT_ASSIGN(values[s], values_of(index, s));
    sources[s] = &values[s];
  }
  RefTensor result(actual_sizes(asked.result, *extents_));
  asked.op->reference(std::span(sources).first(asked.sources.size()), asked.params, result);
  if (prepared.asked != prepared.id) {
    const RefTensor product = std::move(result);
    const std::array<const RefTensor*, 2> both = {&product, sources[kAddedRow]};
    result = RefTensor(actual_sizes(node.result, *extents_));
    node.op->reference(both, node.params, result);
  }
  if (std::byte* const to = calls_[index].result) write_tensor(result, node.result, to);
  if (prepared.result >= slots_.size()) return ok();
  SlotState& slot = slots_[prepared.result];
  const PreparedSlot& at = prepared_.slots[prepared.result];
  slot.stick.set(shared_.machine.zdnn(), scratch_ + prepared_.offsets[at.piece],
                 dims_of(result.sizes));
  slot.exact.assign(result.data.begin(), result.data.end());
  slot.filled = true;
  slot.in_range =
      std::ranges::all_of(slot.exact, [](float value) { return std::fabs(value) <= kLargest; });
  if (!slot.in_range) return ok();
  const Symbols& zdnn = shared_.machine.zdnn();
  const std::uint32_t status = zdnn.transform_ztensor(slot.stick.get(), slot.exact.data());
  if (outcome_of(status) == Outcome::kFailed) {
    return error_of(zdnn, "zdnn_transform_ztensor", status);
  }
  slot.in_range = status == kOk;
  return ok();
}

}  // namespace shunt::zdnn
