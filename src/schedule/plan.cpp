// Compiling: cut, prepare, lay out memory, bind. Running: a walk over a flat array of steps.
#include "shunt/plan.h"

#include <algorithm>
#include <new>

#include "base/fail.h"
#include "schedule/allocation.h"
#include "schedule/segments.h"
#include "schedule/storage_users.h"

namespace shunt {

namespace {

/// Bytes from the first to past the last element at a run's actual sizes.
std::size_t actual_span(const Tensor& tensor, const ExtentValues& extents) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    const std::int64_t size = actual_size(tensor.shape[i], extents);
    if (size == 0) return 0;
    if (i == 0 && tensor.strides[0] == static_cast<std::int64_t>(trait(tensor.dtype).block_bytes)) {
      bytes += size / trait(tensor.dtype).block_elements * tensor.strides[0];
    } else if (i == 0) {
      bytes += (size - 1) * tensor.strides[0] +
               static_cast<std::int64_t>(trait(tensor.dtype).block_bytes);
    } else {
      bytes += (size - 1) * tensor.strides[i];
    }
  }
  return static_cast<std::size_t>(bytes);
}

/// One entry of a plan's list of work: a segment to run (`binding`), or a tensor to copy. `event`
/// is signalled by the stream that does it; a copy between two devices that share nothing reads
/// into `staging` first.
struct Step {
  Stream* stream = nullptr;
  Binding* binding = nullptr;
  std::size_t segment = 0;
  const Tensor* tensor = nullptr;
  Address from;
  Address to;
  std::byte* staging = nullptr;
  Stream* staging_stream = nullptr;
  std::unique_ptr<Event> staged;
  std::unique_ptr<Event> done;
};

class CompiledPlan final : public Plan {
 public:
  CompiledPlan(std::shared_ptr<const Graph> graph, Placement placement)
      : graph_(std::move(graph)),
        placement_(std::move(placement)),
        extents_(graph_->max_extents()) {}

  ~CompiledPlan() override {
    for (const auto& stream : streams_) {
      if (stream) (void)stream->synchronize();  // nothing may run on when its memory goes
    }
  }

  Status compile(const CompileOptions& options);

  const Graph& graph() const override { return *graph_; }
  const Placement& placement() const override { return placement_; }
  std::span<const Segment> segments() const override { return cut_.segments; }
  std::span<const MemoryUse> memory() const override { return memory_use_; }

  Status set_extent(Dim extent, std::int64_t value) override {
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

  Result<std::span<std::byte>> input(Value leaf) override {
    if (leaf.id >= graph_->size() || graph_->node(leaf.id).role != Role::kInput) {
      return invalid("{} is not an input", graph_->describe(leaf.id));
    }
    const Address& at = homes_[leaf.id];
    return std::span<std::byte>(at.buffer->host_data() + at.offset,
                                static_cast<std::size_t>(byte_span(graph_->node(leaf.id).result)));
  }

  Result<std::span<const std::byte>> output(Value node) const override {
    for (const auto& [id, at] : readable_) {
      if (id != node.id) continue;
      return std::span<const std::byte>(
          at.buffer->host_data() + at.offset,
          static_cast<std::size_t>(byte_span(graph_->node(id).result)));
    }
    return invalid("{} is neither an output nor observed", graph_->describe(node.id));
  }

  Status run() override {
    Event* previous = nullptr;
    Stream* previous_stream = nullptr;
    for (Step& step : steps_) {
      Status status = run_step(step, previous, previous_stream);
      if (!status) {
        for (const auto& stream : streams_) {
          if (stream) (void)stream->synchronize();
        }
        return name_step(std::move(status.error()), step);
      }
      previous = step.done.get();
      previous_stream = step.stream;
    }
    // Late errors travel with the events: the first step that failed is the one to name.
    for (Step& step : steps_) {
      Status status = step.done->wait();
      if (!status) return name_step(std::move(status.error()), step);
    }
    return ok();
  }

 private:
  Status check_leaves(const CompileOptions& options);
  Status prepare(std::span<const NodeId> kept);
  Status allocate(std::span<const NodeId> kept);
  Status build_steps(std::span<const NodeId> kept);
  Status add_copy(const Copy& copy, Address to);
  Result<Stream*> stream_of(int device);
  Address place_in(int device, std::size_t request) const {
    const MemoryPlace& place =
        allocation_.devices[static_cast<std::size_t>(device)].layout.places[request];
    const auto& blocks = blocks_[static_cast<std::size_t>(device)];
    return place.block < blocks.size() ? Address{blocks[place.block].get(), place.offset}
                                       : Address{empty_.get(), 0};
  }
  std::string device_name(int device) const {
    return placement_.devices[static_cast<std::size_t>(device)]->info().name;
  }

  Status run_step(Step& step, Event* previous, Stream* previous_stream) {
    const bool ordered =
        previous == nullptr || (previous_stream == step.stream && step.staging == nullptr);
    const std::span<Event* const> waits(&previous, ordered ? 0 : 1);
    if (step.binding != nullptr)
      return step.stream->run(*step.binding, extents_, waits, step.done.get());
    const std::size_t bytes = actual_span(*step.tensor, extents_);
    if (step.staging != nullptr) {
      SHUNT_TRY(
          step.staging_stream->read({step.staging, bytes}, step.from, waits, step.staged.get()));
      Event* staged = step.staged.get();
      return step.stream->write(step.to, {step.staging, bytes}, {&staged, 1}, step.done.get());
    }
    if (const std::byte* from = step.from.buffer->host_data()) {
      return step.stream->write(step.to, {from + step.from.offset, bytes}, waits, step.done.get());
    }
    return step.stream->read({step.to.buffer->host_data() + step.to.offset, bytes}, step.from,
                             waits, step.done.get());
  }

  Error name_step(Error error, const Step& step) const {
    if (error.code() == ErrorCode::kCancelled) return error;
    const std::string what = step.binding == nullptr
                                 ? fmt::format("copying to segment {}", step.segment)
                                 : fmt::format("segment {} on {}", step.segment,
                                               device_name(cut_.segments[step.segment].device));
    return std::move(error).with_context(what);
  }

  std::shared_ptr<const Graph> graph_;
  Placement placement_;
  Cut cut_;
  Allocation allocation_;
  ExtentValues extents_;
  std::vector<MemoryUse> memory_use_;
  // What runs uses what stands above it: destroyed in the order steps, bindings, programs, buffers,
  // streams.
  std::vector<std::unique_ptr<Stream>> streams_;  // by device
  std::unique_ptr<Buffer> empty_;                 // where tensors without bytes are
  std::unique_ptr<Buffer> inputs_;
  std::unique_ptr<Buffer> staging_;
  std::vector<std::vector<std::unique_ptr<Buffer>>> blocks_;  // by device
  std::vector<Address> homes_;                                // by node id, where it was made
  std::vector<std::pair<NodeId, Address>> readable_;  // outputs and observed nodes, on the host
  std::vector<std::unique_ptr<Program>> programs_;    // by segment
  std::vector<std::unique_ptr<Binding>> bindings_;    // by segment
  std::vector<Step> steps_;
};

Status CompiledPlan::check_leaves(const CompileOptions& options) {
  if (placement_.decisions.size() != graph_->size())
    return invalid("the placement is of another graph");
  homes_.assign(graph_->size(), {});
  for (const LeafMemory& leaf : options.memory) {
    if (leaf.leaf >= graph_->size() || !graph_->node(leaf.leaf).is_leaf()) {
      return invalid("memory is given for {}, which is not a leaf", graph_->describe(leaf.leaf));
    }
    const std::size_t bytes = static_cast<std::size_t>(byte_span(graph_->node(leaf.leaf).result));
    const Address& at = leaf.address;
    if (!at || at.offset > at.buffer->size() || bytes > at.buffer->size() - at.offset) {
      return invalid("{} takes {} bytes, which are not inside the buffer it is given",
                     graph_->describe(leaf.leaf), bytes);
    }
    homes_[leaf.leaf] = at;
  }
  std::vector<MemoryRequest> requests;
  for (NodeId id = 0; id < graph_->size(); ++id) {
    const Node& node = graph_->node(id);
    if (!node.is_leaf()) continue;
    if (node.role == Role::kInput) {
      requests.push_back({static_cast<std::size_t>(byte_span(node.result)), 0, 0});
    } else if (!homes_[id]) {
      return invalid("{} has no memory", graph_->describe(id));
    }
  }
  BufferType& host = host_memory();
  SHUNT_ASSIGN(const MemoryLayout layout, plan_memory(requests, host.alignment(), host.max_size()));
  SHUNT_ASSIGN(inputs_, host.allocate(layout.block_bytes.empty() ? 0 : layout.block_bytes[0]));
  std::size_t next = 0;
  for (NodeId id = 0; id < graph_->size(); ++id) {
    if (graph_->node(id).role == Role::kInput)
      homes_[id] = {inputs_.get(), layout.places[next++].offset};
  }
  return ok();
}

Status CompiledPlan::prepare(std::span<const NodeId> kept) {
  // A result must be in memory if it is kept, or somebody outside its segment reads it, through a
  // view or not.
  const auto outside = std::make_unique<bool[]>(graph_->size());
  for (NodeId id : kept) outside[id] = outside[graph_->node(id).storage] = true;
  for (const Copy& copy : cut_.copies)
    outside[copy.node] = outside[graph_->node(copy.node).storage] = true;
  for (NodeId id = 0; id < graph_->size(); ++id) {
    const Node& node = graph_->node(id);
    if (!is_computed(node)) continue;
    if (node.writes_storage) outside[id] = true;
    for (NodeId source : node.sources) {
      if (source == kNoNode) continue;
      const NodeId owner = graph_->node(source).storage;
      if (cut_.segment_of[owner] != cut_.segment_of[id]) outside[owner] = outside[source] = true;
    }
  }
  for (std::size_t i = 0; i < cut_.segments.size(); ++i) {
    const Segment& segment = cut_.segments[i];
    const SegmentView view{*graph_, segment.nodes, {outside.get(), graph_->size()}};
    auto program = placement_.devices[static_cast<std::size_t>(segment.device)]->prepare(view);
    if (!program) {
      return std::move(program.error())
          .with_context(fmt::format("segment {} on {}", i, device_name(segment.device)));
    }
    programs_.push_back(std::move(*program));
  }
  return ok();
}

Status CompiledPlan::allocate(std::span<const NodeId> kept) {
  SHUNT_ASSIGN(allocation_, allocate_plan(*graph_, placement_, cut_, programs_, kept));
  SHUNT_ASSIGN(empty_, host_memory().allocate(1));
  blocks_.resize(placement_.devices.size());
  for (std::size_t i = 0; i < placement_.devices.size(); ++i) {
    std::size_t total = 0;
    for (std::size_t bytes : allocation_.devices[i].layout.block_bytes) {
      auto block = placement_.devices[i]->memory().allocate(bytes);
      if (!block) {
        return std::move(block.error())
            .with_context(
                fmt::format("{}: {} bytes for results", device_name(static_cast<int>(i)), bytes));
      }
      blocks_[i].push_back(std::move(*block));
      total += bytes;
    }
    memory_use_.push_back(
        {static_cast<int>(i), total, i + 1 == placement_.devices.size() ? inputs_->size() : 0});
  }
  for (NodeId id = 0; id < graph_->size(); ++id) {
    const Node& node = graph_->node(id);
    if (allocation_.of_node[id] != kNoRequest) {
      homes_[id] = place_in(placement_.decisions[id].device, allocation_.of_node[id]);
    } else if (node.storage != id && homes_[node.storage]) {
      homes_[id] = homes_[node.storage];
      homes_[id].offset += static_cast<std::size_t>(node.offset);
    }
  }
  return ok();
}

Result<Stream*> CompiledPlan::stream_of(int device) {
  streams_.resize(placement_.devices.size());
  auto& stream = streams_[static_cast<std::size_t>(device)];
  if (!stream) {
    SHUNT_ASSIGN(stream, placement_.devices[static_cast<std::size_t>(device)]->open_stream());
  }
  return stream.get();
}

Status CompiledPlan::add_copy(const Copy& copy, Address to) {
  Step step;
  step.segment = copy.segment;
  step.tensor = &graph_->node(copy.node).result;
  step.from = homes_[copy.node];
  step.to = to;
  // Who lies in memory the host can't touch does the copying itself.
  const bool from_host = step.from.buffer->host_data() != nullptr;
  const bool to_host = to.buffer->host_data() != nullptr;
  SHUNT_ASSIGN(step.stream, stream_of(from_host || !to_host ? copy.to : copy.from));
  SHUNT_ASSIGN(step.done, step.stream->create_event());
  if (!from_host && !to_host) {
    step.staging = staging_->host_data();
    SHUNT_ASSIGN(step.staging_stream, stream_of(copy.from));
    SHUNT_ASSIGN(step.staged, step.staging_stream->create_event());
  }
  steps_.push_back(std::move(step));
  return ok();
}

Status CompiledPlan::build_steps(std::span<const NodeId> kept) {
  std::size_t largest = 0;
  for (const Copy& copy : cut_.copies) {
    largest =
        std::max(largest, static_cast<std::size_t>(byte_span(graph_->node(copy.node).result)));
  }
  if (largest > 0) {
    SHUNT_ASSIGN(staging_, host_memory().allocate(largest));
  }
  std::vector<Address> addresses;
  std::size_t next_copy = 0;
  for (std::size_t i = 0; i <= cut_.segments.size(); ++i) {
    for (; next_copy < cut_.copies.size() && cut_.copies[next_copy].segment == i; ++next_copy) {
      const Copy& copy = cut_.copies[next_copy];
      SHUNT_TRY(add_copy(copy, place_in(copy.to, allocation_.of_copy[next_copy])));
    }
    // What this segment reads from elsewhere is at its copy; everything else is where it was made.
    addresses = homes_;
    for (const Cut::Use& use : cut_.uses[i]) {
      addresses[use.node] = place_in(cut_.copies[use.copy].to, allocation_.of_copy[use.copy]);
    }
    if (i == cut_.segments.size()) break;
    Addresses where{addresses, {}};
    if (allocation_.of_scratch[i] != kNoRequest) {
      where.scratch = place_in(cut_.segments[i].device, allocation_.of_scratch[i]);
    }
    SHUNT_ASSIGN(auto binding, programs_[i]->bind(where));
    Step step;
    step.segment = i;
    step.binding = binding.get();
    SHUNT_ASSIGN(step.stream, stream_of(cut_.segments[i].device));
    SHUNT_ASSIGN(step.done, step.stream->create_event());
    bindings_.push_back(std::move(binding));
    steps_.push_back(std::move(step));
  }
  for (NodeId id : kept) readable_.emplace_back(id, addresses[id]);
  return ok();
}

Status CompiledPlan::compile(const CompileOptions& options) {
  std::vector<NodeId> kept(graph_->outputs().begin(), graph_->outputs().end());
  for (NodeId id : options.observe) {
    if (id >= graph_->size()) return invalid("{} can't be observed", graph_->describe(id));
    kept.push_back(id);
  }
  SHUNT_TRY(check_leaves(options));
  std::vector<const BufferType*> leaf_types(graph_->size(), nullptr);
  for (NodeId id = 0; id < graph_->size(); ++id) {
    if (graph_->node(id).is_leaf()) leaf_types[id] = &homes_[id].buffer->type();
  }
  cut_ = cut_segments(*graph_, placement_, kept, leaf_types);
  SHUNT_TRY(prepare(kept));
  SHUNT_TRY(allocate(kept));
  return build_steps(kept);
}

}  // namespace

Result<std::unique_ptr<Plan>> compile(std::shared_ptr<const Graph> graph, Placement placement,
                                      const CompileOptions& options) {
  if (graph == nullptr) return invalid("there is no graph to compile");
  try {
    auto plan = std::make_unique<CompiledPlan>(std::move(graph), std::move(placement));
    SHUNT_TRY(plan->compile(options));
    return plan;
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kOutOfMemory, "out of host memory while compiling a plan");
  }
}

}  // namespace shunt
