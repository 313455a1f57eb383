#include "engine/load_weights.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/fail.h"
#include "engine/fit.h"
#include "engine/weights_in_memory.h"
#include "shunt/plan.h"

namespace shunt {

namespace {

constexpr std::size_t kPiece = std::size_t{32} << 20;  // bytes between two calls of progress

class Progress {
 public:
  Progress(const LoadOptions& options, std::uint64_t total) : options_(options), total_(total) {}
  void add(std::uint64_t bytes) {
    done_ += bytes;
    if (options_.progress) options_.progress(std::min(done_, total_), total_);
  }
  void start_again() { done_ = 0; }

 private:
  const LoadOptions& options_;
  std::uint64_t done_ = 0;
  std::uint64_t total_;
};

/// Brings a mapped part into memory piece by piece, so that the first token does not wait for the
/// disk unseen.
void read_ahead(std::span<const std::byte> bytes, Progress& progress) {
  for (std::size_t done = 0; done < bytes.size(); done += kPiece) {
    const std::size_t piece = std::min(kPiece, bytes.size() - done);
#ifdef MADV_POPULATE_READ
    // A mapping starts at a page, and a piece is a multiple of one. Failing is no harm: pages then
    // come when used.
    (void)madvise(const_cast<std::byte*>(bytes.data() + done), piece, MADV_POPULATE_READ);
#endif
    progress.add(piece);
  }
}

/// Memory for the weights of all devices, by device; nothing is in it yet.
struct Blocks {
  std::vector<WeightBlocks> by_device;
  std::optional<int> refused_by;  ///< a device that had too little
};

Result<Blocks> allocate(const ModelState& model, const StepGraph& step, const Fit& fit) {
  Blocks blocks;
  for (std::size_t i = 0; i < model.devices.size(); ++i) {
    std::vector<WeightInMemory> here;
    for (const WeightLeaf& weight : step.weights) {
      const bool is_here = fit.homes.weights.at(weight.info) == static_cast<int>(i);
      if (!is_here || uses_mapped_file(*model.devices[i])) continue;
      here.push_back({weight.info, weight.info->tensor});
      const auto other = fit.transcoded.find(weight.info);
      if (other == fit.transcoded.end()) continue;
      SHUNT_ASSIGN(here.back().tensor, make_tensor(other->second.to, weight.info->tensor.shape));
    }
    auto weights = WeightBlocks::allocate(*model.devices[i], std::move(here));
    if (!weights) {
      const bool cpu = i + 1 == model.devices.size();
      if (weights.error().code() != ErrorCode::kOutOfMemory || cpu) {
        return std::move(weights.error())
            .with_context(fmt::format("{}: weights", model.devices[i]->info().name));
      }
      blocks.by_device.clear();
      blocks.refused_by = static_cast<int>(i);
      return blocks;
    }
    blocks.by_device.push_back(std::move(*weights));
  }
  return blocks;
}

/// Decides what fits where, and allocates that. A device that gives less than it said gets less.
Result<Blocks> fit_and_allocate(ModelState& model, const StepGraph& step,
                                const LoadOptions& options) {
  std::vector<int> attempts(model.devices.size(), 0);
  std::vector<std::uint64_t> caps(model.devices.size(), kNoLimit);
  std::vector<std::string> refusals;
  while (true) {
    FitRequest request;
    request.steps = session_steps(model.info, options.session);
    request.limits = device_limits(model.devices, options.memory_margin);
    for (std::size_t i = 0; i < caps.size(); ++i) request.limits[i].cap = caps[i];
    SHUNT_ASSIGN(Fit fit, fit_model(model, request));
    SHUNT_ASSIGN(Blocks blocks, allocate(model, step, fit));
    if (!blocks.refused_by) {
      model.homes = std::move(fit.homes.weights);
      model.cache_homes = std::move(fit.homes.caches);
      model.transcoded = std::move(fit.transcoded);
      model.predicted = std::move(fit.ledger);
      model.notes = std::move(fit.notes);
      model.notes.insert(model.notes.end(), refusals.begin(), refusals.end());
      return blocks;
    }
    const auto device = static_cast<std::size_t>(*blocks.refused_by);
    const std::uint64_t planned = fit.planned[device];
    caps[device] = lower_cap(planned, attempts[device]++);
    refusals.push_back(fmt::format(
        "{}: refused memory for weights out of {}, so it gets at most {}",
        model.devices[device]->info().name, size_text(planned), size_text(caps[device])));
  }
}

/// The parts of the file as buffers of the host.
void map_file(ModelState& model) {
  if (!uses_mapped_file(*model.devices.back())) return;
  for (std::uint32_t part = 0; part < model.file.part_count(); ++part) {
    model.mapped_parts.push_back(
        wrap_read_only_memory(model.file.part_bytes(part), model.file.mapping(part)));
  }
}

/// Fills the memory of all devices. A weight with values that its other type can't hold is named.
Result<std::optional<std::string>> fill(ModelState& model, const Blocks& blocks,
                                        Progress& progress) {
  for (const WeightBlocks& weights : blocks.by_device) {
    SHUNT_ASSIGN(const auto errors,
                 weights.fill(model.file, [&](std::uint64_t bytes) { progress.add(bytes); }));
    for (std::size_t i = 0; i < errors.size(); ++i) {
      const auto other = model.transcoded.find(weights.weights[i].info);
      if (other == model.transcoded.end()) continue;
      TranscodedWeight& weight = other->second;
      weight.error = errors[i];
      if (errors[i].lost == 0) continue;
      return std::optional(fmt::format("{} has {} values that {} can't hold", weight.name,
                                       errors[i].lost, to_string(weight.to)));
    }
  }
  return std::optional<std::string>();
}

/// Weights are where they belong: takes over their memory.
void keep(ModelState& model, Blocks blocks) {
  for (std::size_t i = 0; i < model.devices.size(); ++i) {
    WeightBlocks& weights = blocks.by_device[i];
    for (std::size_t j = 0; j < weights.weights.size(); ++j)
      model.weights[weights.weights[j].info] = weights.address(j);
    for (auto& block : weights.blocks) {
      model.ledger.add(model.devices[i]->info().name, Purpose::kWeights, block->size());
      model.buffers.push_back(std::move(block));
    }
  }
}

/// The rest of the weights is used where it lies in the file.
void use_mapped(ModelState& model, const StepGraph& step, Progress& progress) {
  std::vector<bool> used(model.mapped_parts.size(), false);
  for (const WeightLeaf& weight : step.weights) {
    if (model.weights.contains(weight.info)) continue;
    model.weights[weight.info] = model.mapped_address(*weight.info);
    model.ledger.add(model.devices.back()->info().name, Purpose::kMappedWeights,
                     weight.info->bytes);
    used[weight.info->part] = true;
  }
  const std::uint64_t memory = model.devices.back()->info().memory_total;
  const bool fits = memory == 0 || model.file.file_bytes() < memory / 10 * 8;
  for (std::uint32_t part = 0; part < used.size(); ++part) {
    if (used[part] && fits) read_ahead(model.file.part_bytes(part), progress);
  }
}

/// Places and fills. If there is something that a type can't hold, it says so, and nothing is kept.
Result<std::optional<std::string>> try_to_load(ModelState& model, const StepGraph& step,
                                               const LoadOptions& options, Progress& progress) {
  SHUNT_ASSIGN(const Placement placement, model.place_step(step.graph, {}, model.devices));
  SHUNT_TRY(apply_fallback_policy(step.graph, placement, options.fallback));
  SHUNT_ASSIGN(Blocks blocks, fit_and_allocate(model, step, options));
  SHUNT_ASSIGN(auto lost, fill(model, blocks, progress));
  if (!lost) keep(model, std::move(blocks));
  return lost;
}

}  // namespace

Status load_weights(ModelState& model, const LoadOptions& options) {
  const auto shapes = session_steps(model.info, options.session);
  SHUNT_ASSIGN(const StepGraph step, model.definition->build(shapes.front()));
  for (const WeightLeaf& weight : step.weights) {
    model.info.weights += static_cast<std::uint64_t>(element_count(weight.info->tensor.shape));
    model.info.weight_bytes += weight.info->bytes;
  }
  model.memory_margin = options.memory_margin;
  map_file(model);
  Progress progress(options, model.info.weight_bytes);
  SHUNT_ASSIGN(const auto lost, try_to_load(model, step, options, progress));
  if (lost) {
    // Rare enough for all of it to stay as it is.
    model.transcode = Transcode::kNone;
    progress.start_again();
    auto again = try_to_load(model, step, options, progress);
    if (!again) return std::move(again.error()).with_context(*lost);
  }
  use_mapped(model, step, progress);
  std::vector<std::string> lines;
  if (lost) {
    lines.push_back(*lost + ", so nothing was transcoded");
  } else {
    std::vector<TranscodedWeight> weights;
    for (const auto& [info, weight] : model.transcoded) weights.push_back(weight);
    lines = to_lines(weights);
  }
  for (std::string& line : lines) {
    if (options.fallback.say) options.fallback.say(line);
    model.notes.push_back(std::move(line));
  }
  return ok();
}

}  // namespace shunt
