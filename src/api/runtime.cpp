#include "shunt/runtime.h"

#include <fmt/format.h>

#include <utility>

#include "api/builder_state.h"
#include "base/guarded.h"
#include "device/device_set.h"
#include "shunt/device.h"
#include "shunt/message.h"

namespace shunt {

struct Executable::State {
  std::shared_ptr<const Registry> registry;  // goes last
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::shared_ptr<const Graph> graph;
  std::map<std::string, Value, std::less<>> inputs;
  std::map<std::string, Value, std::less<>> outputs;
  std::unique_ptr<Plan> plan;
  std::optional<Error> misuse;
  bool ran = false;
};

namespace {

using Names = std::map<std::string, Value, std::less<>>;

/// "no input \"z\" (there are x, y)", or the value.
Result<Value> find_value(const Names& values, std::string_view kind, std::string_view name,
                         std::optional<DType> wanted, const Graph& graph) {
  const auto found = values.find(name);
  if (found == values.end()) {
    std::string known;
    for (const auto& [other, value] : values) known += (known.empty() ? "" : ", ") + other;
    return fail(ErrorCode::kNotFound, "no {} \"{}\" (there are: {})", kind, name,
                known.empty() ? "none" : known);
  }
  const Tensor& tensor = graph.node(found->second.id).result;
  if (wanted && tensor.dtype != *wanted) {
    return invalid("{} \"{}\" is {}, not {}", kind, name, to_string(tensor), to_string(*wanted));
  }
  return found->second;
}

/// The memory of a weight: on its device, or on the host if the device reads that or has no room.
Result<std::unique_ptr<Buffer>> weight_memory(const WeightContent& weight, const Tensor& tensor,
                                              Device& device) {
  const std::span<std::byte> bytes(weight.bytes.get(), weight.size);
  if (!device.can_read(host_memory()) && weight.size > 0) {
    BufferType& type = device.memory();
    auto buffer = type.allocate(type.size_of(tensor));
    if (buffer) {
      SHUNT_TRY((*buffer)->write(0, bytes));
      return buffer;
    }
    if (buffer.error().code() != ErrorCode::kOutOfMemory) return buffer;
  }
  return wrap_host_memory(bytes, weight.bytes);
}

Error moved_from() {
  return Error(ErrorCode::kInvalidArgument, "this executable has been moved from");
}

/// "no CPU device (off: cpu: vector level ...)".
Error no_cpu(const Registry& registry) {
  std::string off;
  for (const BackendStatus& backend : registry.backends()) {
    if (!backend.loaded)
      off += fmt::format("{}{}: {}", off.empty() ? "" : "; ", backend.name, backend.note);
  }
  return Error(ErrorCode::kNotFound, fmt::format("no CPU device (off: {})", off));
}

}  // namespace

Executable::Executable(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executable::Executable(Executable&&) noexcept = default;
Executable& Executable::operator=(Executable&&) noexcept = default;
Executable::~Executable() = default;

std::span<std::byte> Executable::input_bytes(std::string_view name, std::optional<DType> dtype) {
  if (state_ == nullptr) return {};
  const auto find = [&]() -> Result<std::span<std::byte>> {
    SHUNT_ASSIGN(const Value value,
                 find_value(state_->inputs, "input", name, dtype, *state_->graph));
    return state_->plan->input(value);
  };
  const auto bytes = guarded(find);
  if (bytes) return *bytes;
  if (!state_->misuse) state_->misuse = bytes.error();
  return {};
}

std::span<const std::byte> Executable::output_bytes(std::string_view name,
                                                    std::optional<DType> dtype) {
  if (state_ == nullptr) return {};
  const auto find = [&]() -> Result<std::span<const std::byte>> {
    SHUNT_ASSIGN(const Value value,
                 find_value(state_->outputs, "output", name, dtype, *state_->graph));
    if (!state_->ran) return invalid("output \"{}\" is read before a run has succeeded", name);
    return state_->plan->output(value);
  };
  const auto bytes = guarded(find);
  if (bytes) return *bytes;
  if (!state_->misuse) state_->misuse = bytes.error();
  return {};
}

Status Executable::set_dynamic_dim(std::string_view name, std::int64_t value) {
  if (state_ == nullptr) return moved_from();
  const std::span<const DynamicDim> dynamic_dims = state_->graph->dynamic_dims();
  std::string known;
  for (std::size_t i = 1; i < dynamic_dims.size(); ++i) {
    if (dynamic_dims[i].name == name) {
      return state_->plan->set_dynamic_dim(Dim(static_cast<DynamicDimId>(i), dynamic_dims[i].max),
                                           value);
    }
    known += (known.empty() ? "" : ", ") + dynamic_dims[i].name;
  }
  return fail(ErrorCode::kNotFound, "no dynamic dimension \"{}\" (there are: {})", name,
              known.empty() ? "none" : known);
}

Status Executable::run(const std::atomic<bool>* cancel) {
  if (state_ == nullptr) return moved_from();
  if (state_->misuse) {
    Error misuse = std::move(*state_->misuse);
    state_->misuse.reset();
    return misuse;
  }
  state_->ran = false;
  SHUNT_TRY(state_->plan->run(cancel));
  state_->ran = true;
  return ok();
}

const Plan& Executable::plan() const {
  return *state_->plan;
}

std::string Executable::explain() const {
  if (state_ == nullptr) return "";
  const Placement& placement = state_->plan->placement();
  std::string text;
  for (NodeId id = 0; id < state_->graph->size(); ++id) {
    const Node& node = state_->graph->node(id);
    const Decision& decision = placement.decisions[id];
    if (node.is_leaf() || decision.device < 0) continue;
    const Device& device = device_at(placement.devices, decision.device);
    text += fmt::format("{} runs on {}: {}\n", state_->graph->describe(id), device.name(),
                        decision.reason);
  }
  for (const std::string& note : placement.notes) text += note + "\n";
  return text;
}

Result<Runtime> Runtime::create() {
  SHUNT_ASSIGN(const Options options, options_from_environment());
  return create(options);
}

Result<Runtime> Runtime::create(const Options& options, std::span<const std::string> devices) {
  SHUNT_ASSIGN(auto created, Registry::create(options));
  const std::shared_ptr<const Registry> registry = std::move(created);
  SHUNT_ASSIGN(auto chosen, registry->select(devices));
  if (!DeviceSet(chosen).has_cpu()) return no_cpu(*registry);
  return Runtime(registry, std::move(chosen));
}

Result<Executable> Runtime::compile(Builder&& builder, const PlaceOptions& options) const {
  return guarded([&]() -> Result<Executable> {
    const std::shared_ptr<BuilderState> built = builder.state_;
    if (built->compiled) {
      return invalid("the graph of this builder has been compiled");
    }
    if (built->first_error) return Error(*built->first_error);
    if (built->outputs.empty()) return invalid("a graph without outputs computes nothing");
    built->compiled = true;
    auto state = std::make_unique<Executable::State>();
    SHUNT_ASSIGN(Graph graph, std::move(built->graph).build());
    state->registry = registry_;
    state->graph = std::make_shared<const Graph>(std::move(graph));
    state->inputs = std::move(built->inputs);
    state->outputs = std::move(built->outputs);
    PlaceOptions with_memory = options;
    with_memory.memory = {};
    with_memory.transcode = Transcode::kNone;
    SHUNT_ASSIGN(const Placement wanted, place(*state->graph, devices_, with_memory));
    std::vector<LeafMemory> memory;
    // Values of the builder that are still there keep no weights.
    const std::vector<WeightContent> weights = std::exchange(built->weights, {});
    for (const WeightContent& weight : weights) {
      const int home = std::max(wanted.decisions[weight.leaf].device, 0);
      SHUNT_ASSIGN(auto buffer, weight_memory(weight, state->graph->node(weight.leaf).result,
                                              *devices_[static_cast<std::size_t>(home)]));
      memory.push_back({weight.leaf, {buffer.get(), 0}});
      state->buffers.push_back(std::move(buffer));
    }
    with_memory.memory = memory;
    SHUNT_ASSIGN(state->plan,
                 make_plan(state->graph, devices_, with_memory, {.steps_in_flight = 1}));
    return Executable(std::move(state));
  });
}

}  // namespace shunt
