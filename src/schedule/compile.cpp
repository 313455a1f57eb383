// Compiling: cut into segments, prepare programs, lay out memory, list the actions of a step.
#include <algorithm>

#include "base/fail.h"
#include "base/guarded.h"
#include "schedule/compiled_plan.h"
#include "schedule/device_run.h"
#include "schedule/storage_users.h"

namespace shunt {

namespace {

constexpr int kMostStepsInFlight = 64;

int steps_in_flight(const CompileOptions& options) {
  constexpr int kDefault = 4;
  return options.steps_in_flight.value_or(options.observer.nodes.empty() ? kDefault : 1);
}

}  // namespace

CompiledPlan::CompiledPlan(std::shared_ptr<const Graph> graph, Placement placement)
    : graph_(std::move(graph)), placement_(std::move(placement)), extents_(graph_->max_extents()) {}

CompiledPlan::~CompiledPlan() {
  drain();
}

std::string CompiledPlan::device_name(int device) const {
  return placement_.devices[static_cast<std::size_t>(device)]->info().name;
}

std::size_t CompiledPlan::bytes_of(NodeId node) const {
  return static_cast<std::size_t>(byte_span(graph_->node(node).result));
}

std::size_t CompiledPlan::size_in(const Buffer& buffer, NodeId node) const {
  return buffer.type().size_of(graph_->node(node).result);
}

Status CompiledPlan::check_options(const CompileOptions& options) {
  if (placement_.decisions.size() != graph_->size()) {
    return invalid("the placement is of another graph");
  }
  if (placement_.devices.empty()) return invalid("the placement has no devices");
  for (const Conversion& conversion : placement_.conversions) {
    if (graph_->node(conversion.leaf).result.dtype == conversion.to) continue;
    return invalid("{} is {}, but the placement wants it as {}: see with_types()",
                   graph_->describe(conversion.leaf),
                   to_string(graph_->node(conversion.leaf).result.dtype), to_string(conversion.to));
  }
  const int steps = steps_in_flight(options);
  if (steps < 1 || steps > kMostStepsInFlight) {
    return invalid("{} steps in flight; it may be 1 to {}", steps, kMostStepsInFlight);
  }
  for (NodeId id : options.observe) {
    if (id >= graph_->size()) return invalid("{} can't be observed", graph_->describe(id));
  }
  observer_ = options.observer;
  if (observer_.nodes.empty()) return ok();
  if (steps > 1) return invalid("an observer sees one step at a time, not {} in flight", steps);
  if (!observer_.visit) return invalid("an observer needs something to call");
  watched_.assign(graph_->size(), false);
  for (NodeId id : observer_.nodes) {
    if (id >= graph_->size() || !is_computed(graph_->node(id))) {
      return invalid("{} is not computed: there is nothing to observe", graph_->describe(id));
    }
    watched_[id] = true;
  }
  return ok();
}

Status CompiledPlan::find_leaves(const CompileOptions& options) {
  leaves_.assign(graph_->size(), {});
  for (const LeafMemory& leaf : options.memory) {
    if (leaf.leaf >= graph_->size() || !graph_->node(leaf.leaf).is_leaf()) {
      return invalid("memory is given for {}, which is not a leaf", graph_->describe(leaf.leaf));
    }
    const Address& at = leaf.address;
    const std::size_t bytes = at ? size_in(*at.buffer, leaf.leaf) : bytes_of(leaf.leaf);
    if (!at || at.offset > at.buffer->size() || bytes > at.buffer->size() - at.offset) {
      return invalid("{} takes {} bytes, which are not inside the buffer it is given",
                     graph_->describe(leaf.leaf), bytes);
    }
    leaves_[leaf.leaf] = at;
  }
  for (NodeId id = 0; id < graph_->size(); ++id) {
    const Node& node = graph_->node(id);
    if (node.is_leaf() && node.role != Role::kInput && !leaves_[id]) {
      return invalid("{} has no memory", graph_->describe(id));
    }
  }
  return ok();
}

Status CompiledPlan::prepare(std::span<const NodeId> kept) {
  // A result must be in memory if it is kept, or somebody outside its segment reads it, through a
  // view or not.
  const auto outside = std::make_unique<bool[]>(graph_->size());
  const auto needed = [&](NodeId id) { outside[id] = outside[graph_->node(id).storage] = true; };
  for (NodeId id : kept) needed(id);
  for (NodeId id : observer_.nodes) needed(id);
  for (const Copy& copy : cut_.copies) needed(copy.node);
  for (NodeId id = 0; id < graph_->size(); ++id) {
    const Node& node = graph_->node(id);
    if (!is_computed(node)) continue;
    if (node.writes_storage) outside[id] = true;
    for (NodeId source : node.sources) {
      if (source == kNoNode) continue;
      if (cut_.segment_of[graph_->node(source).storage] != cut_.segment_of[id]) needed(source);
    }
  }
  const std::vector<const BufferType*> memory = types_of(leaves_);
  for (std::size_t i = 0; i < cut_.segments.size(); ++i) {
    const Segment& segment = cut_.segments[i];
    const SegmentView view{*graph_, segment.nodes, {outside.get(), graph_->size()}, memory};
    auto program = placement_.devices[static_cast<std::size_t>(segment.device)]->prepare(view);
    if (!program) return name_segment(std::move(program.error()), i);
    programs_.push_back(std::move(*program));
  }
  return ok();
}

Status CompiledPlan::allocate() {
  blocks_.resize(placement_.devices.size());
  empty_.resize(placement_.devices.size());
  for (std::size_t i = 0; i < placement_.devices.size(); ++i) {
    memory_use_.push_back({.device = static_cast<int>(i)});
    const DeviceRequests& requests = allocation_.devices[i];
    if (requests.shared.only_empty() || requests.own.only_empty()) {
      auto empty = placement_.devices[i]->memory().allocate(0);
      if (!empty) return name_device(std::move(empty.error()), static_cast<int>(i));
      empty_[i] = std::move(*empty);
    }
    for (std::size_t bytes : allocation_.devices[i].shared.layout.block_bytes) {
      auto block = placement_.devices[i]->memory().allocate(bytes);
      if (!block) {
        return name_device(
            std::move(block.error()).with_context(fmt::format("{} bytes for results", bytes)),
            static_cast<int>(i));
      }
      blocks_[i].push_back(std::move(*block));
      memory_use_[i].activations += bytes;
    }
  }
  return ok();
}

const BufferType& CompiledPlan::type_of(NodeId owner) const {
  if (leaves_[owner]) return leaves_[owner].buffer->type();
  if (graph_->node(owner).is_leaf()) return input_memory(placement_.devices);
  return placement_.devices[static_cast<std::size_t>(placement_.decisions[owner].device)]->memory();
}

/// How a tensor crosses; nothing where it takes two copies, out to the host and in from there.
std::optional<CompiledPlan::Kind> CompiledPlan::way_of(const Copy& copy) const {
  Device& to = *placement_.devices[static_cast<std::size_t>(copy.to)];
  const BufferType& from = type_of(graph_->node(copy.node).storage);
  if (from.host_accessible()) return Kind::kWrite;
  if (to.memory().host_accessible()) return Kind::kRead;
  if (to.can_copy_from(from)) return Kind::kCopy;
  return std::nullopt;
}

/// The memory that a staged copy goes through: pinned memory of the device that gets it, else of
/// the one that has it, else the CPU's.
BufferType& CompiledPlan::staging_type(const Copy& copy) const {
  for (const int device : {copy.to, copy.from}) {
    BufferType* own = placement_.devices[static_cast<std::size_t>(device)]->staging_memory();
    if (own == nullptr || !own->host_accessible()) continue;
    if (bytes_of(copy.node) <= own->max_size()) return *own;
  }
  return input_memory(placement_.devices);
}

/// Of the copies that go by way of the host, the largest through each type of memory.
std::vector<const Copy*> CompiledPlan::largest_staged() const {
  std::vector<const Copy*> largest;
  for (const Copy& copy : cut_.copies) {
    if (way_of(copy)) continue;
    const auto same = std::find_if(largest.begin(), largest.end(), [&](const Copy* other) {
      return &staging_type(*other) == &staging_type(copy);
    });
    if (same == largest.end()) {
      largest.push_back(&copy);
    } else if (bytes_of(copy.node) > bytes_of((*same)->node)) {
      *same = &copy;
    }
  }
  return largest;
}

Result<MemoryLayout> CompiledPlan::lay_out_inputs() const {
  const BufferType& type = input_memory(placement_.devices);
  std::vector<MemoryRequest> requests;
  for (NodeId id = 0; id < graph_->size(); ++id) {
    const Node& node = graph_->node(id);
    if (node.role == Role::kInput) requests.push_back({type.size_of(node.result), 0, 0});
  }
  auto layout = plan_memory(requests, type.alignment(), type.max_size());
  if (!layout) return name_device(std::move(layout.error()).with_context("inputs"), cpu());
  return layout;
}

Status CompiledPlan::allocate_inputs(Instance& instance, const MemoryLayout& layout) {
  std::vector<std::size_t> sizes = layout.block_bytes;
  if (sizes.empty()) sizes.push_back(0);
  for (const std::size_t bytes : sizes) {
    auto block = input_memory(placement_.devices).allocate(bytes);
    if (!block) {
      return name_device(
          std::move(block.error()).with_context(fmt::format("{} bytes for inputs", bytes)), cpu());
    }
    std::fill_n((*block)->host_data(), bytes, std::byte{0});
    instance.inputs.push_back(std::move(*block));
    memory_use_.back().inputs += bytes;
  }
  return ok();
}

Status CompiledPlan::allocate_instance(Instance& instance) {
  SHUNT_ASSIGN(const MemoryLayout layout, lay_out_inputs());
  SHUNT_TRY(allocate_inputs(instance, layout));

  // What crosses between two devices that share nothing, piece after piece. The less goes to the
  // one that it is for, the less there is of it: so where there is no room, that one is named.
  for (const Copy* largest : largest_staged()) {
    const std::size_t bytes = bytes_of(largest->node);
    auto staging = staging_type(*largest).allocate(bytes);
    if (!staging)
      return name_device(std::move(staging.error()).with_context("staging"), largest->to);
    instance.staging[&staging_type(*largest)] = std::move(*staging);
    memory_use_.back().staging += bytes;
  }

  instance.blocks.resize(placement_.devices.size());
  for (std::size_t i = 0; i < placement_.devices.size(); ++i) {
    for (std::size_t bytes : allocation_.devices[i].own.layout.block_bytes) {
      auto block = placement_.devices[i]->memory().allocate(bytes);
      if (!block) {
        return name_device(std::move(block.error())
                               .with_context(fmt::format("{} bytes for a step in flight", bytes)),
                           static_cast<int>(i));
      }
      instance.blocks[i].push_back(std::move(*block));
      memory_use_[i].activations += bytes;
    }
  }

  instance.homes = leaves_;
  std::size_t next = 0;
  for (NodeId id = 0; id < graph_->size(); ++id) {
    const Node& node = graph_->node(id);
    if (node.role == Role::kInput) {
      const MemoryPlace& place = layout.places[next++];
      instance.homes[id] = {instance.inputs[place.block].get(), place.offset};
    } else if (allocation_.of_node[id]) {
      instance.homes[id] =
          place_of(instance, placement_.decisions[id].device, allocation_.of_node[id]);
    } else if (node.storage != id && instance.homes[node.storage]) {
      instance.homes[id] = instance.homes[node.storage];
      instance.homes[id].offset += static_cast<std::size_t>(node.offset);
    }
  }
  return ok();
}

Address CompiledPlan::place_of(const Instance& instance, int device, const Slot& slot) const {
  const auto index = static_cast<std::size_t>(device);
  const DeviceRequests& requests = allocation_.devices[index];
  const MemoryPlace& place = (slot.own ? requests.own : requests.shared).layout.places[slot.index];
  const auto& blocks = slot.own ? instance.blocks[index] : blocks_[index];
  if (place.block < blocks.size()) return {blocks[place.block].get(), place.offset};
  return {empty_[index].get(), 0};
}

bool CompiledPlan::is_own(const Instance& instance, const Buffer& buffer) const {
  const auto in = [&](const std::vector<std::unique_ptr<Buffer>>& blocks) {
    return std::any_of(blocks.begin(), blocks.end(),
                       [&](const auto& block) { return block.get() == &buffer; });
  };
  return in(instance.inputs) ||
         std::any_of(instance.staging.begin(), instance.staging.end(),
                     [&](const auto& staging) { return staging.second.get() == &buffer; }) ||
         std::any_of(instance.blocks.begin(), instance.blocks.end(), in);
}

Region CompiledPlan::region(const Instance& instance, const Address& at, std::size_t bytes) const {
  return {at.buffer, at.offset, at.offset + bytes, is_own(instance, *at.buffer)};
}

Status CompiledPlan::use_stream(Action& action, int device) {
  streams_.resize(placement_.devices.size());
  auto& stream = streams_[static_cast<std::size_t>(device)];
  if (!stream) {
    auto opened = placement_.devices[static_cast<std::size_t>(device)]->open_stream();
    if (!opened) {
      return name_device(std::move(opened.error()).with_context("opening a stream"), device);
    }
    stream = std::move(*opened);
  }
  action.device = device;
  action.stream = stream.get();
  return ok();
}

Result<std::unique_ptr<Event>> CompiledPlan::create_event(Stream& stream) const {
  return timed_ ? stream.create_timed_event() : stream.create_event();
}

Status CompiledPlan::add_action(Instance& instance, Action action, Place place,
                                Footprint footprint) {
  if (action.stream != nullptr) {
    auto event = create_event(*action.stream);
    if (!event) {
      return name_device(std::move(event.error()).with_context("an event"), action.device);
    }
    place.done = std::move(*event);
  }
  if (&instance == &instances_.front()) actions_.push_back(action);
  instance.places.push_back(std::move(place));
  instance.footprints.push_back(std::move(footprint));
  return ok();
}

Status CompiledPlan::add_copy(Instance& instance, const Copy& copy, Address to) {
  const std::size_t bytes = bytes_of(copy.node);
  const Address from = instance.homes[copy.node];
  const Region read = region(instance, from, bytes);
  const Region written = region(instance, to, bytes);
  const std::optional<Kind> way = way_of(copy);
  Action action{.kind = way.value_or(Kind::kWrite),
                .segment = copy.segment,
                .node = copy.node,
                .copy = &copy};
  Place place{.from = from, .to = to};
  if (way == Kind::kWrite) {
    std::byte* const host = from.buffer->host_data();
    if (host == nullptr) return invalid("{} is not in one piece", graph_->describe(copy.node));
    place.host = host + from.offset;
  }
  if (way == Kind::kRead) place.host = to.buffer->host_data() + to.offset;
  const int runs_on = way == Kind::kRead ? copy.from : copy.to;
  SHUNT_TRY(use_stream(action, runs_on));
  if (way) return add_action(instance, action, std::move(place), {runs_on, {read}, {written}});
  // By way of the host: out of the one, then into the other.
  Buffer& staging = *instance.staging.at(&staging_type(copy));
  const Region staged = region(instance, {&staging, 0}, bytes);
  place.host = staging.host_data();
  Action out = action;
  out.kind = Kind::kRead;
  SHUNT_TRY(use_stream(out, copy.from));
  Place out_place{.from = from, .to = to, .host = place.host};
  SHUNT_TRY(add_action(instance, out, std::move(out_place), {copy.from, {read}, {staged}}));
  return add_action(instance, action, std::move(place), {copy.to, {staged}, {written}});
}

/// First the host reads the numbers of the slices, then they are sent.
Status CompiledPlan::add_picked_copy(Instance& instance, const Copy& copy, Address to,
                                     Address ids) {
  auto picked =
      std::make_unique<PickedWrite>(PickedWrite{PickedSlices(*graph_, copy.node, copy.picked), {}});
  Action through;
  SHUNT_TRY(use_stream(through, copy.to));
  for (auto& link : picked->links) {
    auto event = create_event(*through.stream);
    if (!event) return name_device(std::move(event.error()), copy.to);
    link = std::move(*event);
  }
  const Region numbers = region(instance, ids, bytes_of(copy.picked.ids));
  SHUNT_TRY(add_action(
      instance, {.kind = Kind::kPick, .segment = copy.segment, .node = copy.node, .copy = &copy},
      {.host = ids.buffer->host_data() + ids.offset, .picked = picked.get()}, {-1, {numbers}, {}}));
  SHUNT_TRY(add_copy(instance, copy, to));
  instance.places.back().picked = picked.get();
  instance.picked.push_back(std::move(picked));
  return ok();
}

void CompiledPlan::add_observe(Instance& instance, std::size_t segment,
                               std::span<const Address> addresses) {
  const NodeId node = cut_.segments[segment - 1].nodes.back();
  if (!watched_[node]) return;
  const Address& at = addresses[node];
  Place place{.from = at, .host = at.buffer->host_data() + at.offset};
  (void)add_action(instance, {.kind = Kind::kObserve, .segment = segment, .node = node},
                   std::move(place), {-1, {region(instance, at, bytes_of(node))}, {}});
}

Status CompiledPlan::add_run(Instance& instance, std::size_t segment,
                             std::span<const Address> addresses) {
  const int device = cut_.segments[segment].device;
  Addresses where{addresses, {}};
  Footprint footprint{device, {}, {}};
  if (allocation_.of_scratch[segment]) {
    where.scratch = place_of(instance, device, allocation_.of_scratch[segment]);
    footprint.writes.push_back(
        region(instance, where.scratch, programs_[segment]->needs().scratch_bytes));
  }
  for (NodeId id : cut_.segments[segment].nodes) {
    const auto touch = [&](std::vector<Region>& regions, NodeId node) {
      const Address& at = addresses[node];
      // A kernel may touch the padding, too.
      if (at) regions.push_back(region(instance, at, size_in(*at.buffer, node)));
    };
    touch(footprint.writes, id);
    for (NodeId source : graph_->node(id).sources) {
      if (source != kNoNode) touch(footprint.reads, source);
    }
  }
  auto binding = programs_[segment]->bind(where);
  if (!binding) return name_segment(std::move(binding.error()), segment);
  Action action{.kind = Kind::kRun, .segment = segment};
  SHUNT_TRY(use_stream(action, device));
  Place place{.binding = binding->get()};
  instance.bindings.push_back(std::move(*binding));
  return add_action(instance, action, std::move(place), std::move(footprint));
}

Status CompiledPlan::build_actions(Instance& instance, std::span<const NodeId> kept) {
  std::size_t next_copy = 0;
  for (std::size_t i = 0; i <= cut_.segments.size(); ++i) {
    // What is read from elsewhere is at its copy; everything else is where it was made.
    const auto seen_by = [&](int device) {
      std::vector<Address> seen = instance.homes;
      for (const Cut::Use& use : cut_.uses[i]) {
        const Copy& copy = cut_.copies[use.copy];
        if (copy.to != device) continue;
        seen[use.node] = place_of(instance, copy.to, allocation_.of_copy[use.copy]);
      }
      return seen;
    };
    for (; next_copy < cut_.copies.size() && cut_.copies[next_copy].segment == i; ++next_copy) {
      const Copy& copy = cut_.copies[next_copy];
      const Address to = place_of(instance, copy.to, allocation_.of_copy[next_copy]);
      SHUNT_TRY(copy.picked ? add_picked_copy(instance, copy, to, seen_by(cpu())[copy.picked.ids])
                            : add_copy(instance, copy, to));
    }
    if (i > 0 && !watched_.empty()) add_observe(instance, i, seen_by(cpu()));
    if (i < cut_.segments.size()) {
      SHUNT_TRY(add_run(instance, i, seen_by(cut_.segments[i].device)));
      continue;
    }
    const std::vector<Address> on_host = seen_by(cpu());
    for (NodeId id : kept) instance.readable.emplace_back(id, on_host[id]);
  }
  return ok();
}

/// Who waits for whom is the same in all steps; only the events differ.
void CompiledPlan::connect() {
  const std::vector<Waits> waits = find_waits(instances_.front().footprints);
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    Instance& instance = instances_[i];
    const Instance& before = instances_[(i + instances_.size() - 1) % instances_.size()];
    for (std::size_t action = 0; action < actions_.size(); ++action) {
      Place& place = instance.places[action];
      const auto add = [&](const Instance& of, std::size_t other) {
        if (Event* event = of.places[other].done.get()) place.waits.push_back(event);
      };
      for (std::size_t other : waits[action].same_step) add(instance, other);
      place.same_step = place.waits.size();
      for (std::size_t other : waits[action].step_before) add(before, other);
    }
    instance.footprints.clear();
  }
}

Result<std::vector<NodeId>> CompiledPlan::lay_out(const CompileOptions& options) {
  SHUNT_TRY(check_options(options));
  std::vector<NodeId> kept(graph_->outputs().begin(), graph_->outputs().end());
  kept.insert(kept.end(), options.observe.begin(), options.observe.end());
  SHUNT_TRY(find_leaves(options));
  std::vector<const BufferType*> leaf_types(graph_->size(), nullptr);
  for (NodeId id = 0; id < graph_->size(); ++id) {
    if (!graph_->node(id).is_leaf()) continue;
    leaf_types[id] = &type_of(id);
  }
  cut_ = cut_segments(*graph_, placement_, kept, leaf_types, watched_);
  SHUNT_TRY(prepare(kept));
  instances_ = std::vector<Instance>(static_cast<std::size_t>(steps_in_flight(options)));
  SHUNT_ASSIGN(allocation_,
               allocate_plan(*graph_, placement_, cut_, programs_, kept, instances_.size() > 1));
  return kept;
}

Status CompiledPlan::compile(const CompileOptions& options) {
  timed_ = options.trace != nullptr;
  SHUNT_ASSIGN(const std::vector<NodeId> kept, lay_out(options));
  SHUNT_TRY(allocate());
  for (Instance& instance : instances_) {
    SHUNT_TRY(allocate_instance(instance));
    SHUNT_TRY(build_actions(instance, kept));
  }
  connect();
  if (options.trace != nullptr) declare_actions(*options.trace);
  return ok();
}

Result<std::unique_ptr<Plan>> compile(std::shared_ptr<const Graph> graph, Placement placement,
                                      const CompileOptions& options) {
  if (graph == nullptr) return invalid("there is no graph to compile");
  return guarded([&]() -> Result<std::unique_ptr<Plan>> {
    auto plan = std::make_unique<CompiledPlan>(std::move(graph), std::move(placement));
    SHUNT_TRY(plan->compile(options));
    return plan;
  });
}

}  // namespace shunt
