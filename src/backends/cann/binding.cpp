#include "backends/cann/binding.h"

#include <algorithm>
#include <cstring>

#include "shunt/message.h"
#include "shunt/ops/matrix.h"

namespace shunt::cann {

Result<std::shared_ptr<FaultCounters>> FaultCounters::create(
    const std::shared_ptr<const DeviceContext>& context, std::vector<FaultText> texts,
    std::vector<std::string> names) {
  auto made = std::make_shared<FaultCounters>();
  made->context_ = context;
  made->texts_ = std::move(texts);
  made->names_ = std::move(names);
  SHUNT_ASSIGN(made->device_, Allocation::create(context, made->bytes() + kTailBytes));
  SHUNT_ASSIGN(made->host_, allocate_pinned(context, made->bytes()));
  SHUNT_TRY(made->reset());
  return made;
}

std::optional<Error> FaultCounters::found() const {
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    std::int32_t count = 0;
    std::memcpy(&count, host_.get() + i * kFaultBytes, sizeof count);
    if (count == 0) continue;
    return invalid("{}", texts_[i].text).with_node(names_[i]).with_context(names_[i]);
  }
  return std::nullopt;
}

Status FaultCounters::reset() const {
  std::memset(host_.get(), 0, bytes());
  return context_->call<&Symbols::memset>(static_cast<void*>(device()), bytes(), 0, bytes());
}

std::int64_t CannBinding::columns(const DynamicDimValues& dims) const {
  std::int64_t most = 0;
  for (const PreparedNode& node : parts_->nodes) {
    const Node& known = parts_->graph.node(node.id);
    if (known.op != &matmul_op() && known.op != &matmul_id_op()) continue;
    const Sizes sizes = actual_sizes(known.result, dims);
    most = std::max(most, sizes[1] * sizes[2] * sizes[3]);
  }
  return most;
}

Status CannBinding::call(const DeviceContext& context, StreamHandle stream, const RunArgs& args,
                         WorkspaceReserve& reserve, Recording* recording) {
  CallMemory of_run = memory;
  of_run.reserve = &reserve;
  of_run.recording = recording;
  Calls calls(context, parts_->plan, stream, of_run);
  for (const PreparedNode& node : parts_->nodes) {
    if (args.cancel != nullptr && args.cancel->load(std::memory_order_relaxed))
      return fail(ErrorCode::kCancelled, "cancelled");
    const NodeView view(parts_->graph, node.id, parts_->memory);
    const Operands operands(view, node.sources, node.result, &args.dynamic_dims, addresses,
                            parts_->writes);
    if (operands.is_empty()) continue;
    calls.begin(node.id);
    node.kernel->compute(calls, operands, parts_->target);
    if (calls.status()) continue;
    return Error(calls.status().error()).with_node(node.name).with_context(node.name);
  }
  return copy_faults(context, stream);
}

Status CannBinding::repeat(const DeviceContext& context, StreamHandle stream,
                           const Recording& recording) {
  SHUNT_TRY(recording.launch(stream));
  return copy_faults(context, stream);
}

Status CannBinding::copy_faults(const DeviceContext& context, StreamHandle stream) const {
  if (faults == nullptr) return ok();
  return context.check(
      context.symbols().memcpy_async(faults->host(), faults->bytes(), faults->device(),
                                     faults->bytes(), CopyKind::kToHost, stream),
      name_of<&Symbols::memcpy_async>());
}

}  // namespace shunt::cann
