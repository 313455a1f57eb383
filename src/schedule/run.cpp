// Running: a walk over the list of actions, each waiting for just those events that matter to it.
#include <algorithm>

#include "base/fail.h"
#include "schedule/compiled_plan.h"

namespace shunt {

namespace {

/// Bytes from the first to past the last element at a run's actual sizes.
std::size_t actual_span(const Tensor& tensor, const ExtentValues& extents) {
  const DTypeTrait& type = trait(tensor.dtype);
  const auto block = static_cast<std::int64_t>(type.block_bytes);
  std::int64_t bytes = block;
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    const std::int64_t size = actual_size(tensor.shape[i], extents);
    if (size == 0) return 0;
    bytes += (i == 0 ? size / type.block_elements - 1 : size - 1) * tensor.strides[i];
  }
  return static_cast<std::size_t>(bytes);
}

}  // namespace

Status Plan::run(const std::atomic<bool>* cancel) {
  SHUNT_ASSIGN(const std::uint64_t step, start(cancel));
  return wait(step);
}

Status CompiledPlan::set_extent(Dim extent, std::int64_t value) {
  if (extent.is_fixed() || extent.extent >= graph_->extents().size()) {
    return invalid("this dimension is no extent of the graph");
  }
  const Extent& known = graph_->extents()[extent.extent];
  if (value < 0 || value > known.max) {
    return invalid("extent {} is {}; it may be from 0 to {}", known.name, value, known.max);
  }
  extents_[extent.extent] = value;
  return ok();
}

/// The next step's own memory, with the inputs of the step before it in it.
CompiledPlan::Instance& CompiledPlan::make_ready() {
  const auto at = [this](std::uint64_t step) -> Instance& {
    return instances_[static_cast<std::size_t>(step % instances_.size())];
  };
  Instance& instance = at(next_step_);
  // Its last step may still be read from; if that failed, wait() will tell.
  if (instance.pending) (void)finish(instance);
  if (ready_ || next_step_ == 0) return instance;
  ready_ = true;
  const Instance& before = at(next_step_ - 1);
  if (&before == &instance) return instance;
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    std::copy_n(before.inputs[i]->host_data(), before.inputs[i]->size(),
                instance.inputs[i]->host_data());
  }
  return instance;
}

Result<std::span<std::byte>> CompiledPlan::input(Value leaf) {
  if (leaf.id >= graph_->size() || graph_->node(leaf.id).role != Role::kInput) {
    return invalid("{} is not an input", graph_->describe(leaf.id));
  }
  const Instance& instance = make_ready();
  const Address& at = instance.homes[leaf.id];
  return std::span<std::byte>(at.buffer->host_data() + at.offset, bytes_of(leaf.id));
}

Result<std::span<const std::byte>> CompiledPlan::output(Value node) const {
  for (const auto& [id, at] : instances_[last_waited_].readable) {
    if (id != node.id) continue;
    return std::span<const std::byte>(at.buffer->host_data() + at.offset, bytes_of(id));
  }
  return invalid("{} is neither an output nor observed", graph_->describe(node.id));
}

/// Before what the host does itself, which begins when it has waited.
Status CompiledPlan::wait_on_host(Instance& instance, std::size_t action,
                                  std::span<Event* const> waits) {
  for (Event* event : waits) SHUNT_TRY(event->wait());
  if (traced_) traced_->submitting(number_of(instance), action);
  return ok();
}

Status CompiledPlan::show(Instance& instance, std::size_t action) {
  SHUNT_TRY(wait_on_host(instance, action, instance.places[action].waits));
  const NodeId id = actions_[action].node;
  const Tensor& tensor = graph_->node(id).result;
  const Observed observed{
      .node = id,
      .tensor = tensor,
      .sizes = actual_sizes(tensor, instance.extents),
      .bytes = {instance.places[action].host, actual_span(tensor, instance.extents)}};
  if (observer_.visit(observed)) return ok();
  return fail(ErrorCode::kCancelled, "the observer stopped it at {}", graph_->describe(id));
}

/// Each write waits for the one before, so that an error of any of them reaches the last.
Status CompiledPlan::write_picked(const Action& action, Place& place,
                                  std::span<Event* const> waits) {
  const auto runs = place.picked->slices.runs();
  if (runs.empty()) return action.stream->write(place.to, {}, waits, place.done.get());
  Event* before = nullptr;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const PickedSlices::Run& run = runs[i];
    // The first keeps its own, which tells a trace when all of it began.
    Event* const link = place.picked->links[i == 0 ? 0 : 1 + i % 2].get();
    Event* const signal = i + 1 < runs.size() ? link : place.done.get();
    SHUNT_TRY(action.stream->write({place.to.buffer, place.to.offset + run.offset},
                                   {place.host + run.offset, run.bytes},
                                   i == 0 ? waits : std::span<Event* const>(&before, 1), signal));
    before = link;
  }
  return ok();
}

Status CompiledPlan::submit(Instance& instance, std::size_t index, bool first,
                            const std::atomic<bool>* cancel) {
  const Action& action = actions_[index];
  Place& place = instance.places[index];
  // Without a step before it under way, only its own step's events matter.
  const std::span<Event* const> waits(place.waits.data(),
                                      first ? place.same_step : place.waits.size());
  if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) {
    return fail(ErrorCode::kCancelled, "cancelled");
  }
  if (action.kind == Kind::kRun) {
    return action.stream->run(*place.binding, {instance.extents, cancel}, waits, place.done.get());
  }
  if (action.kind == Kind::kObserve) return show(instance, index);
  if (action.kind == Kind::kPick) {
    SHUNT_TRY(wait_on_host(instance, index, waits));
    return place.picked->slices.find(place.host, instance.extents);
  }
  if (place.picked != nullptr) return write_picked(action, place, waits);
  const std::size_t bytes = copied_bytes(instance, index);
  if (action.kind == Kind::kWrite) {
    return action.stream->write(place.to, {place.host, bytes}, waits, place.done.get());
  }
  if (action.kind == Kind::kRead) {
    return action.stream->read({place.host, bytes}, place.from, waits, place.done.get());
  }
  return action.stream->copy(place.to, place.from, bytes, waits, place.done.get());
}

std::size_t CompiledPlan::copied_bytes(const Instance& instance, std::size_t action) const {
  const PickedWrite* picked = instance.places[action].picked;
  if (picked == nullptr) {
    return actual_span(graph_->node(actions_[action].node).result, instance.extents);
  }
  std::size_t bytes = 0;
  for (const PickedSlices::Run& run : picked->slices.runs()) bytes += run.bytes;
  return bytes;
}

Result<std::uint64_t> CompiledPlan::start(const std::atomic<bool>* cancel) {
  Instance& instance = make_ready();
  ready_ = false;
  bool first = true;
  for (const Instance& other : instances_) first = first && !other.pending;
  instance.extents = extents_;
  instance.step = next_step_++;
  instance.pending = true;
  instance.failed = ok();
  instance.submitted = 0;
  for (std::size_t i = 0; i < actions_.size(); ++i) {
    if (traced_) traced_->submitting(number_of(instance), i);
    Status status = submit(instance, i, first, cancel);
    if (traced_) traced_->submitted(number_of(instance), i);
    if (!status) {
      instance.failed = name_action(std::move(status.error()), actions_[i]);
      break;
    }
    ++instance.submitted;
  }
  return instance.step;
}

/// Waits until nothing of a step is under way, and keeps what went wrong.
Status CompiledPlan::finish(Instance& instance) {
  instance.pending = false;
  // Late errors travel with the events, also into actions that were refused because of them: the
  // first action that failed is the one to name.
  for (std::size_t i = 0; i < instance.submitted; ++i) {
    Event* event = instance.places[i].done.get();
    Status status = event != nullptr ? event->wait() : ok();
    if (!status) {
      instance.failed = name_action(std::move(status.error()), actions_[i]);
      break;
    }
    if (traced_) tell_trace(instance, i);
  }
  if (traced_) traced_->finish();
  if (!instance.failed) drain();  // what failed may have left others at work
  return instance.failed;
}

Status CompiledPlan::wait(std::uint64_t step) {
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    Instance& instance = instances_[i];
    if (step >= next_step_ || instance.step != step) continue;
    last_waited_ = i;
    return instance.pending ? finish(instance) : instance.failed;
  }
  return invalid("step {} is not one of those under way", step);
}

void CompiledPlan::drain() {
  for (const auto& stream : streams_) {
    if (stream) (void)stream->synchronize();  // nothing may run on when its memory goes
  }
}

Error CompiledPlan::name_device(Error error, int device) const {
  const std::string name = device_name(device);
  return std::move(error).with_device(name).with_context(name);
}

Error CompiledPlan::name_segment(Error error, std::size_t segment) const {
  const Segment& at = cut_.segments[segment];
  const std::string name = device_name(at.device);
  std::string where = fmt::format("segment {} on {}", segment, name);
  if (error.node().empty()) {  // the device does not know, or has not begun
    std::string nodes = graph_->describe(at.nodes.front());
    if (at.nodes.size() > 1) nodes += " to " + graph_->describe(at.nodes.back());
    where += ", " + nodes;
    error = std::move(error).with_node(nodes);
  }
  return std::move(error).with_device(name).with_context(where);
}

Error CompiledPlan::name_action(Error error, const Action& action) const {
  if (error.code() == ErrorCode::kCancelled) return error;
  if (action.kind == Kind::kRun) return name_segment(std::move(error), action.segment);
  const std::string node = graph_->describe(action.node);
  Error named = std::move(error).with_node(node).with_context(
      fmt::format("copying {} for segment {}", node, action.segment));
  return action.device < 0 ? named : name_device(std::move(named), action.device);
}

}  // namespace shunt
