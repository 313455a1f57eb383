#include <algorithm>

#include "base/guarded.h"
#include "base/to_size.h"
#include "engine/load/copied_weights.h"
#include "engine/load/loader.h"
#include "engine/load/recover.h"
#include "engine/load/session_steps.h"
#include "engine/load/split_weights.h"
#include "engine/load/weights_in_memory.h"
#include "engine/model_state.h"
#include "schedule/place/pins.h"
#include "shunt/message.h"
#include "shunt/select_devices.h"
#include "shunt/vocabulary.h"

namespace shunt {

PlacementPolicy with_costs(PlacementPolicy policy) {
  if (!policy.costs) policy.costs = std::make_shared<const CostModel>();
  return policy;
}

std::vector<LeafMemory> ModelState::memory_of(const StepGraph& step) const {
  std::vector<LeafMemory> memory;
  for (const WeightLeaf& weight : step.weights) {
    const WeightRecord& record = weights.at(weight.info);
    if (record.is_loaded()) memory.push_back({weight.leaf, record.address});
  }
  return memory;
}

std::vector<LeafType> leaf_types(std::span<const WeightLeaf> weights, const Transcoded& types) {
  std::vector<LeafType> leaves;
  for (const WeightLeaf& weight : weights) {
    const auto found = types.find(weight.info);
    if (found != types.end()) leaves.push_back({weight.leaf, found->second.to});
  }
  return leaves;
}

Result<std::shared_ptr<const StepGraph>> ModelState::build(const StepShape& shape,
                                                           const Transcoded& types) const {
  SHUNT_ASSIGN(const auto step, steps->graph(definition, shape));
  return with_types(step, types);
}

Result<std::shared_ptr<const StepGraph>> ModelState::with_types(
    const std::shared_ptr<const StepGraph>& step, const Transcoded& types) const {
  return steps->with_types(step, leaf_types(step->weights, types));
}

Result<Placement> ModelState::place_step(const std::shared_ptr<const StepGraph>& step,
                                         std::span<const LeafMemory> memory,
                                         std::span<Device* const> among,
                                         std::span<const std::uint64_t> stream_bytes,
                                         std::span<const PartHome> parts) const {
  const Graph& graph = step->graph;
  const PlacementPolicy& policy = this->placement;
  if (policy.file) {
    return place_by_file(*policy.file, graph, among, memory, policy.costs.get(), policy.transcode);
  }
  PlaceOptions options;
  options.memory = memory;
  options.pins = policy.pins;
  options.costs = policy.costs.get();
  options.transcode = policy.transcode;
  options.rules_only = policy.rules_only;
  options.stream_rows = policy.stream_rows;
  options.searches = searches.get();
  options.stream_bytes = stream_bytes;
  options.parts = parts;
  PlacementKey key;
  key.graph = graph_of(step);
  key.devices.assign(among.begin(), among.end());
  for (const LeafMemory& leaf : memory) {
    if (leaf.address) key.memory.emplace_back(leaf.leaf, &leaf.address.buffer->type());
  }
  key.stream_bytes.assign(stream_bytes.begin(), stream_bytes.end());
  for (const PartHome& part : parts) key.parts.emplace_back(part.leaf, part.device);
  key.policy = policy;
  return steps->placement(std::move(key), [&] { return place(graph, among, options); });
}

Result<Placement> ModelState::place_freely(const std::shared_ptr<const StepGraph>& step) const {
  std::vector<PartHome> parts;
  for (const PartLeaf& each : step->parts) parts.push_back({each.leaf, part_devices[each.part]});
  return place_step(step, {}, devices, {}, parts);
}

Address ModelState::mapped_address(const gguf::TensorInfo& tensor) const {
  if (weights.mapped_parts.empty() || !is_as_in_memory(tensor.tensor.dtype, tensor.order) ||
      !is_contiguous(tensor.tensor)) {
    return {};
  }
  const std::byte* start = file.part_bytes(tensor.part).data();
  return {weights.mapped_parts[tensor.part].get(), to_size(file.data(tensor).data() - start)};
}

BufferType* ModelState::memory_to_fill(const gguf::TensorInfo& tensor, DeviceIndex device) const {
  Device& to = *devices[device];
  const WeightRecord& record = weights.at(&tensor);
  if (devices.is_cpu(device)) {
    if (record.copy != nullptr && !record.is_loaded()) return record.copy;
  } else if (const auto wish = record.layouts.find(&to); wish != record.layouts.end()) {
    return wish->second;
  }
  return is_used_in_place(tensor, to) ? nullptr : &to.memory();
}

const BufferType& ModelState::memory_type(const gguf::TensorInfo& tensor,
                                          DeviceIndex device) const {
  if (weights.is_on(&tensor, device)) return weights.at(&tensor).address.buffer->type();
  if (const BufferType* type = memory_to_fill(tensor, device)) return *type;
  return devices[device]->memory();
}

Model::Model(std::shared_ptr<const ModelState> state, text::Tokenizer tokenizer)
    : info_(state->info),
      tokenizer_(std::move(tokenizer)),
      current_(std::make_unique<CurrentState>(std::move(state))) {}
Model::~Model() = default;
const ModelInfo& Model::info() const {
  return info_;
}
const text::Tokenizer& Model::tokenizer() const {
  return tokenizer_;
}
std::shared_ptr<const ModelState> Model::state() const {
  return current_->get();
}
Ledger Model::ledger() const {
  const auto now = state();
  Ledger ledger = now->ledger;
  for (const Device* device : now->devices) {
    ledger.add_own(device->name(), device->own_memory());
    if (device->info().managed_memory) ledger.managed.emplace(device->name());
  }
  return ledger;
}
Ledger Model::predicted() const {
  return state()->predicted;
}
std::vector<std::string> Model::notes() const {
  return state()->notes;
}
std::vector<TranscodedWeight> Model::transcoded() const {
  return state()->weights.all_transcoded();
}

Status expect_logits(const ModelInfo& model) {
  if (!model.gives_embeddings) return ok();
  const char* const remedy =
      model.labels.empty() ? "`shunt embed`, or Embedder" : "`shunt rerank`, or Reranker";
  return fail(ErrorCode::kUnsupported,
              "the model computes embeddings, and no logits; use {} in a program", remedy);
}

Result<std::shared_ptr<const Model>> Model::load(const std::string& path, const Registry& registry,
                                                 const LoadOptions& options) {
  return guarded(
      [&]() -> Result<std::shared_ptr<const Model>> {
        SHUNT_ASSIGN(const auto devices, select_with_cpu(registry, options.devices,
                                                         devices_of(options.placement.pins)));
        return load(path, devices, options);
      },
      path);
}

Result<std::shared_ptr<const Model>> Model::load(const std::string& path,
                                                 std::span<Device* const> devices,
                                                 const LoadOptions& options) {
  return guarded(
      [&]() -> Result<std::shared_ptr<const Model>> {
        const DeviceSet all(devices);
        if (!all.has_cpu()) {
          return invalid("the last device must be a CPU");
        }
        SHUNT_ASSIGN(gguf::File file, gguf::File::open(path));
        SHUNT_ASSIGN(auto definition, read_model(file, {.more = options.architectures,
                                                        .ignored = options.ignore,
                                                        .can_ignore = true,
                                                        .embeddings = options.embeddings}));
        SHUNT_ASSIGN(LoadedAdapters adapters, load_adapters(options.adapters, file, *definition));
        SHUNT_ASSIGN(text::Vocabulary vocabulary, vocabulary_from_gguf(file));
        auto tokenizer = text::Tokenizer::create(std::move(vocabulary));
        if (!tokenizer) return std::move(tokenizer.error()).with_context(path);
        const ModelShape& shape = definition->shape();
        if (tokenizer->size() > shape.vocabulary) {
          return fail(ErrorCode::kBadFile,
                      "{}: the tokenizer has {} tokens, but there are embeddings for {}", path,
                      tokenizer->size(), shape.vocabulary);
        }
        ModelState state(file);
        state.devices = all;
        state.placement = with_costs(options.placement);
        state.placement.fallback.log = options.on_device_error.log;  // for lines after loading
        state.weight_mode = options.weights;
        SHUNT_ASSIGN(state.info.architecture, file.get_string("general.architecture"));
        SHUNT_ASSIGN(state.info.name, file.get_string_or("general.name", ""));
        state.info.layers = shape.layers;
        state.info.width = shape.width;
        state.info.vocabulary = shape.vocabulary;
        state.info.outputs = shape.outputs > 0 ? shape.outputs : shape.vocabulary;
        state.info.gives_embeddings = shape.gives_embeddings;
        state.info.is_encoder = shape.is_encoder;
        state.info.pooling = shape.pooling;
        if (shape.head) state.info.labels = shape.head->labels;
        state.info.context = shape.context;
        state.info.state_bytes = shape.state_bytes;
        state.info.windows = shape.windows;
        state.info.adapters = adapters.infos();
        state.adapters = std::move(adapters);
        state.definition = std::move(definition);
        LoadOptions complete_options = options;
        SHUNT_ASSIGN(complete_options.session, complete(options.session, state.info));
        state.session = complete_options.session;
        state.on_device_error = options.on_device_error;
        SHUNT_TRY(split_weights(state, options.split, options.devices));
        SHUNT_TRY(choose_weight_memory(state, session_steps(state.session)));
        auto loaded = load_state(std::move(state), complete_options);
        if (!loaded) return std::move(loaded.error()).with_context(path);
        return std::make_shared<const Model>(std::move(*loaded), std::move(*tokenizer));
      },
      path);
}

}  // namespace shunt
