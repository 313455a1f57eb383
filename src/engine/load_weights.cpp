#include "engine/load_weights.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/available_memory.h"
#include "base/file.h"
#include "engine/copied_weights.h"
#include "engine/fit.h"
#include "engine/fitted_step.h"
#include "engine/pin_weights.h"
#include "engine/session_steps.h"
#include "engine/weights_in_memory.h"
#include "shunt/message.h"
#include "shunt/plan.h"

namespace shunt {

namespace {

constexpr std::size_t kUploadBytes = std::size_t{8} << 20;  // of each pinned buffer
constexpr std::size_t kReadPiece = std::size_t{32} << 20;   // bytes between two calls of progress

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

/// Reads mapped weights into memory piece by piece with progress reports, so that the first token
/// does not wait for the disk.
void read_mapped(std::span<const std::byte> bytes, Progress& progress) {
  for (std::size_t done = 0; done < bytes.size(); done += kReadPiece) {
    const std::size_t piece = std::min(kReadPiece, bytes.size() - done);
    read_ahead(bytes.subspan(done, piece));
    progress.add(piece);
  }
}

/// The decisions, and uninitialised memory for the missing weights.
struct Blocks {
  Fit fit;
  std::vector<std::pair<DeviceIndex, WeightBlocks>> on_devices;
  std::optional<DeviceIndex> refused_by;  ///< a device that had too little
};

bool is_there(const ModelState& model, const gguf::TensorInfo* info, DeviceIndex device) {
  const auto found = model.homes.find(info);
  return found != model.homes.end() && found->second == device;
}

Error of_device(Error error, const ModelState& model, DeviceIndex device) {
  const std::string name(model.devices[device]->name());
  return std::move(error).with_device(name).with_context(name + ": weights");
}

/// Weights that need memory on a device, by the memory they get.
Result<std::map<BufferType*, std::vector<WeightInMemory>>> missing_on(const ModelState& model,
                                                                      const StepGraph& step,
                                                                      const Fit& fit,
                                                                      DeviceIndex device) {
  std::map<BufferType*, std::vector<WeightInMemory>> missing;
  for (const WeightLeaf& weight : step.weights) {
    if (fit.homes.weights.at(weight.info) != device) continue;
    if (is_there(model, weight.info, device)) continue;
    BufferType* const memory = model.memory_to_fill(*weight.info, device);
    if (memory == nullptr) continue;
    SHUNT_ASSIGN(Tensor tensor, compact_tensor(*weight.info));
    if (const auto other = fit.transcoded.find(weight.info); other != fit.transcoded.end()) {
      SHUNT_ASSIGN(tensor, make_tensor(other->second.to, tensor.shape));
    }
    missing[memory].push_back({weight.info, tensor, step.graph.node(weight.leaf).name});
  }
  return missing;
}

Result<Blocks> allocate(const ModelState& model, const StepGraph& step, Fit fit) {
  Blocks blocks;
  blocks.fit = std::move(fit);
  for (const DeviceIndex i : model.devices.indices()) {
    SHUNT_ASSIGN(auto missing, missing_on(model, step, blocks.fit, i));
    for (auto& [type, here] : missing) {
      auto weights = WeightBlocks::allocate(*type, std::move(here));
      if (weights) {
        blocks.on_devices.emplace_back(i, std::move(*weights));
        continue;
      }
      const bool cpu = model.devices.is_cpu(i);
      if (weights.error().code() != ErrorCode::kOutOfMemory || cpu) {
        return of_device(std::move(weights.error()), model, i);
      }
      blocks.on_devices.clear();
      blocks.refused_by = i;
      return blocks;
    }
  }
  return blocks;
}

/// Drops weights that move to another device, and frees memory that held only these.
void forget_moved(ModelState& model, const Homes& homes) {
  std::set<const Buffer*> needed;
  std::erase_if(model.homes, [&](const auto& entry) {
    const auto& [info, home] = entry;
    const bool moved = homes.weights.at(info) != home;
    if (moved) {
      model.weights.erase(info);
      model.lossy.erase(info);
    } else {
      needed.insert(model.weights.at(info).buffer);
    }
    return moved;
  });
  for (auto& buffers : model.buffers)
    std::erase_if(buffers, [&](const auto& buffer) { return !needed.contains(buffer.get()); });
}

void say(const LoadOptions& options, std::span<const std::string> lines) {
  for (const std::string& line : lines) {
    if (options.fallback.say) options.fallback.say(line);
  }
}

/// Decides the fit, applies the fallback policy, and allocates. If a device refuses memory that it
/// reported as free, the fit is repeated with less for it, and the policy is applied again.
Result<Blocks> fit_and_allocate(ModelState& model, const StepGraph& step,
                                const LoadOptions& options) {
  PerDevice<int> attempts(model.devices.size(), 0);
  PerDevice<std::uint64_t> caps(model.devices.size(), kNoLimit);
  std::vector<std::string> refusals;
  while (true) {
    FitRequest request;
    request.steps = session_steps(options.session);
    request.limits = device_limits(model.devices, options.memory_margin);
    for (const DeviceIndex i : caps.indices()) request.limits[i].cap = caps[i];
    if (!model.homes.empty()) request.loaded = &model.homes;
    SHUNT_ASSIGN(Fit fit, fit_model(model, request));
    SHUNT_ASSIGN(const Verdict verdict, judge_fit(model, request, fit, options.fallback));
    SHUNT_ASSIGN(Blocks blocks, allocate(model, step, std::move(fit)));
    if (!blocks.refused_by) {
      say(options, verdict.lines);
      model.fell_back = verdict.fell_back;
      model.cache_homes = blocks.fit.homes.caches;
      model.most_streamed = blocks.fit.most_streamed;
      model.used = blocks.fit.used;
      model.overlap = blocks.fit.overlap;
      model.short_of_room = model.short_of_room || blocks.fit.short_of_room;
      model.transcoded = blocks.fit.transcoded;
      forget_moved(model, blocks.fit.homes);
      model.predicted = weights_ledger(model);
      model.predicted.add(blocks.fit.ledger);
      model.notes = blocks.fit.notes;
      model.notes.insert(model.notes.end(), refusals.begin(), refusals.end());
      model.notes.insert(model.notes.end(), model.left_out.begin(), model.left_out.end());
      return blocks;
    }
    const DeviceIndex device = *blocks.refused_by;
    const std::uint64_t planned = blocks.fit.planned[device];
    caps[device] = lower_cap(planned, attempts[device]++);
    refusals.push_back(
        fmt::format("{}: refused memory for weights out of {}, so it gets at most {}",
                    model.devices[device]->name(), size_text(planned), size_text(caps[device])));
    say(options, std::span(&refusals.back(), 1));
  }
}

/// The parts of the file as buffers of the host, if a device computes in plain host memory.
void map_file(ModelState& model) {
  const auto uses = [](Device* device) { return uses_mapped_file(*device); };
  if (!model.mapped_parts.empty() || std::ranges::none_of(model.devices, uses)) return;
  for (std::uint32_t part = 0; part < model.file.part_count(); ++part) {
    model.mapped_parts.push_back(
        wrap_read_only_memory(model.file.part_bytes(part), model.file.mapping(part)));
  }
}

/// The result of filling weights.
struct Filled {
  /// A weight with values that its other type can't hold; empty: there is none.
  std::string lost;
};

/// A weight in a lossy form; nothing if it has none.
std::optional<TranscodedWeight> lossy_weight(const WeightInMemory& weight, Address at,
                                             Device& device) {
  const auto cost = device.lossy_cost(at);
  if (!cost) return std::nullopt;
  TranscodedWeight lossy;
  lossy.name = weight.name;
  lossy.device = device.name();
  lossy.from = weight.tensor.dtype;
  lossy.to = cost->form;
  lossy.bytes_before = weight.info->bytes;
  lossy.bytes = at.buffer->type().size_of(weight.tensor);
  lossy.error = TranscodeError{cost->squared_error, cost->squares};
  return lossy;
}

/// For memory out of the host's reach: pinned buffers to upload from. Null if the device has none,
/// or no memory for them.
Result<std::unique_ptr<UploadRing>> open_ring(ModelState& model, DeviceIndex device,
                                              const WeightBlocks& weights) {
  Device& to = *model.devices[device];
  const auto out_of_reach = [](const auto& block) { return !block->type().host_accessible(); };
  if (to.staging_memory() == nullptr || !std::ranges::any_of(weights.blocks, out_of_reach)) {
    return nullptr;
  }
  auto ring = UploadRing::create(to, kUploadBytes);
  if (ring || ring.error().code() != ErrorCode::kOutOfMemory) return ring;
  model.notes.push_back(fmt::format("{}: weights are uploaded without pinned buffers: {}",
                                    to.name(), to_text(ring.error())));
  return nullptr;
}

/// Brings weights into the memory that was allocated on a device.
Result<Filled> fill(ModelState& model, DeviceIndex device, WeightBlocks& weights,
                    Progress& progress) {
  const auto ring = open_ring(model, device, weights);
  if (!ring) return of_device(ring.error(), model, device);
  auto errors = weights.fill(
      model.file, [&](std::uint64_t bytes) { progress.add(bytes); }, ring->get());
  if (!errors) return of_device(std::move(errors.error()), model, device);
  for (std::size_t i = 0; i < errors->size(); ++i) {
    const gguf::TensorInfo* info = weights.weights[i].info;
    model.weights[info] = weights.address(i);
    model.homes[info] = device;
    if (auto lossy = lossy_weight(weights.weights[i], weights.address(i), *model.devices[device])) {
      model.lossy.insert_or_assign(info, std::move(*lossy));
    }
    const auto other = model.transcoded.find(info);
    if (other == model.transcoded.end()) continue;
    TranscodedWeight& weight = other->second;
    const TranscodeError& error = weight.error.emplace((*errors)[i]);
    if (error.lost == 0) continue;
    return Filled{lost_text(weight)};
  }
  for (auto& block : weights.blocks) model.buffers[device].push_back(std::move(block));
  return Filled{};
}

/// Bytes of weights in the host's memory, where devices that have none of their own have theirs.
std::uint64_t bytes_in_host_memory(const ModelState& model) {
  const Ledger ledger = weights_ledger(model);
  std::uint64_t bytes = ledger.total(Purpose::kMappedWeights);
  for (const Device* device : model.devices) {
    const DeviceInfo info = device->info();
    if (info.kind == DeviceKind::kCpu || info.host_memory)
      bytes += ledger.bytes(info.name, Purpose::kWeights);
  }
  return bytes;
}

/// Those that are to be used in place in the file.
void use_mapped(ModelState& model, const StepGraph& step, const Homes& homes, Progress& progress) {
  std::vector<std::span<const std::byte>> mapped;
  for (const WeightLeaf& weight : step.weights) {
    const DeviceIndex home = homes.weights.at(weight.info);
    if (is_there(model, weight.info, home)) continue;
    model.weights[weight.info] = model.mapped_address(*weight.info);
    model.homes[weight.info] = home;
    mapped.push_back(model.file.data(*weight.info));
  }
  const std::uint64_t memory = model.devices.cpu_device().info().memory_total;
  const bool fits = memory == 0 || bytes_in_host_memory(model) < memory / 10 * 8;
  for (const std::span<const std::byte> bytes : mapped) {
    // Otherwise each norm between copied weights would map some of their pages again.
    if (!model.copied.empty()) set_apart(bytes);
    if (fits) read_mapped(bytes, progress);
  }
}

/// Places and fills, as far as nothing is lost.
Result<Filled> try_to_load(ModelState& model, const StepGraph& step, const LoadOptions& options,
                           Progress& progress) {
  SHUNT_ASSIGN(Blocks blocks, fit_and_allocate(model, step, options));
  for (const auto& [info, home] : model.homes) progress.add(info->bytes);
  for (auto& [device, weights] : blocks.on_devices) {
    SHUNT_ASSIGN(Filled filled, fill(model, device, weights, progress));
    if (!filled.lost.empty()) return filled;
  }
  use_mapped(model, step, blocks.fit.homes, progress);
  return Filled{};
}

/// Undoes a failed attempt.
void start_over(ModelState& model, Progress& progress) {
  model.transcoded.clear();
  model.lossy.clear();
  model.homes.clear();
  model.weights.clear();
  for (auto& buffers : model.buffers) buffers.clear();
  progress.start_again();
}

/// The same, without optional copies if there is no memory for them.
Result<Filled> load_or_map(ModelState& model, const StepGraph& step, const LoadOptions& options,
                           Progress& progress) {
  auto loaded = try_to_load(model, step, options, progress);
  const bool unasked = model.weight_mode == WeightMode::kAuto && !model.copied.empty();
  if (loaded || !unasked || loaded.error().code() != ErrorCode::kOutOfMemory) return loaded;
  start_over(model, progress);
  model.copied.clear();
  const std::string line =
      fmt::format("can't allocate memory for copies of weights, so the mapped file is used: {}",
                  to_text(loaded.error()));
  say(options, std::span(&line, 1));
  loaded = try_to_load(model, step, options, progress);
  model.notes.push_back(line);
  return loaded;
}

/// The error of transcoding, for the user.
void say_transcoded(ModelState& model, const LoadOptions& options, const Filled& filled) {
  std::vector<std::string> lines = to_lines(model.all_transcoded());
  if (!filled.lost.empty()) lines.push_back(filled.lost + ", so nothing was transcoded");
  for (Device* device : model.devices) {
    if (model.transcode != Transcode::kLossy || device->why_not_lossy().empty()) continue;
    lines.push_back(
        fmt::format("{}: no lossy form of weights: {}", device->name(), device->why_not_lossy()));
  }
  say(options, lines);
  model.notes.insert(model.notes.end(), lines.begin(), lines.end());
}

/// Weights that the CPU would use in the file if it had the order of memory.
void note_reversed(ModelState& model) {
  Device& cpu = model.devices.cpu_device();
  const DeviceIndex home = model.devices.cpu();
  std::uint64_t bytes = 0;
  for (const auto& [info, device] : model.homes) {
    const bool asked = model.copied.contains(info);
    const bool reversed = !is_as_in_memory(info->tensor.dtype, info->order);
    if (device == home && !asked && reversed) bytes += info->bytes;
  }
  if (bytes == 0 || !uses_mapped_file(cpu)) return;
  model.notes.push_back(
      fmt::format("{} of weights are copied, as the file has their numbers in another byte order",
                  size_text(bytes)));
}

}  // namespace

Ledger weights_ledger(const ModelState& model) {
  Ledger ledger;
  for (const DeviceIndex i : model.buffers.indices()) {
    for (const auto& buffer : model.buffers[i])
      ledger.add(model.devices[i]->name(), Purpose::kWeights, buffer->size());
  }
  std::set<std::pair<DeviceIndex, FileRange>> counted;  // two leaves may be one tensor
  for (const auto& [info, address] : model.weights) {
    if (model.mapped_address(*info).buffer != address.buffer) continue;
    const DeviceIndex home = model.homes.at(info);
    if (!counted.emplace(home, file_range(model.file, *info)).second) continue;
    ledger.add(model.devices[home]->name(), Purpose::kMappedWeights, info->bytes);
  }
  return ledger;
}

Status load_weights(ModelState& model, const LoadOptions& options) {
  const auto shapes = session_steps(options.session);
  SHUNT_ASSIGN(const auto built, model.build(shapes.front()));
  const StepGraph& step = *built;
  model.info.weights = model.info.weight_bytes = 0;
  std::uint64_t to_load = 0;
  std::set<const std::byte*> counted;  // two leaves may be one tensor
  for (const WeightLeaf& weight : step.weights) {
    to_load += weight.info->bytes;
    const gguf::TensorInfo& tensor = weight.file_tensor();
    if (!counted.insert(model.file.data(tensor).data()).second) continue;
    model.info.weights += static_cast<std::uint64_t>(element_count(tensor.tensor.shape));
    model.info.weight_bytes += tensor.bytes;
  }
  model.memory_margin = options.memory_margin;
  model.buffers.resize(model.devices.size());
  map_file(model);
  Progress progress(options, to_load);
  SHUNT_ASSIGN(Filled filled, load_or_map(model, step, options, progress));
  if (!filled.lost.empty()) {
    // This is rare, so everything is read again.
    model.transcode = Transcode::kNone;
    SHUNT_TRY(choose_weight_memory(model, shapes));
    // The choice may have split a tied output matrix into two leaves.
    SHUNT_ASSIGN(const auto as_it_is, model.build(shapes.front()));
    start_over(model, progress);
    auto again = try_to_load(model, *as_it_is, options, progress);
    if (!again) return std::move(again.error()).with_context(filled.lost);
  }
  model.ledger = weights_ledger(model);
  pin_streamed_weights(model, shapes, available_memory());
  say_transcoded(model, options, filled);
  note_reversed(model);
  return ok();
}

}  // namespace shunt
