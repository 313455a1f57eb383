#include "engine/load/fit_predict.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/load/promised_memory.h"
#include "engine/load/session_steps.h"
#include "engine/load/weights_in_memory.h"
#include "graph/storage_users.h"
#include "memory/planner.h"
#include "schedule/place/facts.h"
#include "schedule/plan/predict.h"
#include "shunt/message.h"

namespace shunt {

namespace {

Result<std::uint64_t> bytes_side_by_side(const BufferType& type,
                                         std::span<const Tensor* const> tensors,
                                         const Device& device) {
  auto layout = side_by_side(type, tensors);
  if (layout) return layout->total();
  const std::string name(device.name());
  return std::move(layout.error()).with_device(name).with_context(name);
}

class Predictor {
 public:
  Predictor(const ModelState& model, std::span<const FitLeaf> leaves,
            std::span<const DeviceIndex> homes, const FitBounds& bounds,
            PerDevice<DeviceBytes>& takes)
      : model_(model),
        leaves_(leaves),
        homes_(homes),
        by_name_(homes_of(leaves, homes)),
        transcoded_(transcoded_at(leaves, homes)),
        devices_(bounds.of_used(model.devices)),
        stream_bytes_(bounds.of_used(bounds.most_streamed)),
        bounds_(bounds),
        takes_(takes) {
    takes_.assign(model.devices.size(), {});
  }

  Status add_leaves() {
    for (const DeviceIndex d : takes_.indices()) SHUNT_TRY(add_leaves_on(d));
    takes_[model_.devices.cpu()].host_cache = bounds_.host_cache;
    return ok();
  }

  Status add_step(const std::shared_ptr<const StepGraph>& step) {
    const std::vector<LeafMemory> memory = promised_.promise(model_, *step, by_name_);
    SHUNT_ASSIGN(const auto typed, model_.with_types(step, transcoded_));
    const auto graph = graph_of(typed);
    SHUNT_ASSIGN(Placement placement, model_.place_step(typed, memory, devices_, stream_bytes_));
    add_streamed(*graph, placement, memory);
    CompileOptions options;
    options.memory = memory;
    const bool overlaps = bounds_.overlap && step->token_count.max > bounds_.lone_tokens;
    options.steps_in_flight = overlaps ? steps_in_flight(*step, *graph, placement) : 1;
    SHUNT_ASSIGN(const auto uses, predict_memory(graph, std::move(placement), options));
    for (const MemoryUse& use : uses) {
      DeviceBytes& bytes = takes_[of_model(use.device)];
      bytes.activations += use.activations;
      bytes.inputs += use.inputs;
      bytes.staging += use.staging;
      bytes.pinned += use.pinned;
    }
    return ok();
  }

 private:
  Status add_leaves_on(DeviceIndex device) {
    Device& home = *model_.devices[device];
    DeviceBytes& takes = takes_[device];
    std::map<BufferType*, std::vector<const Tensor*>> weights;
    std::vector<const Tensor*> caches;
    std::set<FileRange> mapped = mapped_there(device);  // two leaves may be one tensor
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const FitLeaf& leaf = leaves_[i];
      if (homes_[i] != device || leaf.there == device) continue;
      const Tensor* tensor = &leaf.on(device).tensor;
      if (leaf.is_cache()) {
        caches.push_back(tensor);
      } else if (BufferType* const memory = model_.memory_to_fill(*leaf.info, device)) {
        weights[memory].push_back(tensor);
      } else if (mapped.insert(file_range(model_.file, *leaf.info)).second) {
        if (model_.file.mapping(leaf.info->part) != nullptr) takes.mapped += leaf.info->bytes;
      }
    }
    for (const auto& [memory, tensors] : weights) {
      SHUNT_ASSIGN(const std::uint64_t bytes, bytes_side_by_side(*memory, tensors, home));
      takes.weights += bytes;
    }
    SHUNT_ASSIGN(takes.cache, bytes_side_by_side(home.memory(), caches, home));
    return ok();
  }

  /// The weights that a device uses in the mapped file now and after the fit.
  std::set<FileRange> mapped_there(DeviceIndex device) const {
    std::set<FileRange> mapped;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const FitLeaf& leaf = leaves_[i];
      if (leaf.is_cache() || homes_[i] != device || leaf.there != device) continue;
      const Buffer* const buffer = model_.weights.at(leaf.info).address.buffer;
      if (buffer == model_.mapped_address(*leaf.info).buffer) {
        mapped.insert(file_range(model_.file, *leaf.info));
      }
    }
    return mapped;
  }

  void add_streamed(const Graph& graph, const Placement& placement,
                    std::span<const LeafMemory> memory) {
    const std::vector<const BufferType*> types = memory_of_leaves(graph, memory);
    for (NodeId id = 0; id < graph.size(); ++id) {
      if (!is_computed(graph.node(id))) continue;
      const DeviceIndex d = of_model(placement.decisions[id].device);
      DeviceBytes& takes = takes_[d];
      const std::uint64_t sent = bytes_to_send(graph, id, *model_.devices[d], types);
      takes.streamed = std::max(takes.streamed, sent);
      if (placement.decisions[id].rule == Rule::kPinned)
        takes.must_stream = std::max(takes.must_stream, sent);
    }
  }

  /// The number among the model's devices of one that is used.
  DeviceIndex of_model(DeviceIndex used) const { return model_.devices.find(devices_[used]); }

  const ModelState& model_;
  std::span<const FitLeaf> leaves_;
  std::span<const DeviceIndex> homes_;  // by leaf
  Homes by_name_;                       // the same
  Transcoded transcoded_;
  DeviceSet devices_;  // those that are used
  std::vector<std::uint64_t> stream_bytes_;
  const FitBounds& bounds_;
  PromisedMemory promised_;
  PerDevice<DeviceBytes>& takes_;
};

}  // namespace

void add_to(Ledger& ledger, const std::string& device, const DeviceBytes& takes) {
  ledger.add(device, Purpose::kWeights, takes.weights);
  ledger.add(device, Purpose::kMappedWeights, takes.mapped);
  ledger.add(device, Purpose::kCache, takes.cache);
  ledger.add(device, Purpose::kHostCache, takes.host_cache);
  ledger.add(device, Purpose::kActivations, takes.activations);
  ledger.add(device, Purpose::kInputs, takes.inputs);
  ledger.add(device, Purpose::kStaging, takes.staging);
}

Status predict_fit(const ModelState& model, std::span<const std::shared_ptr<const StepGraph>> steps,
                   std::span<const FitLeaf> leaves, std::span<const DeviceIndex> homes,
                   const FitBounds& bounds, PerDevice<DeviceBytes>& takes) {
  Predictor predictor(model, leaves, homes, bounds, takes);
  SHUNT_TRY(predictor.add_leaves());
  for (const auto& step : steps) SHUNT_TRY(predictor.add_step(step));
  return ok();
}

}  // namespace shunt
