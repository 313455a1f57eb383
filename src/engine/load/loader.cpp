#include "engine/load/loader.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/available_memory.h"
#include "base/file.h"
#include "engine/load/copied_weights.h"
#include "engine/load/fit.h"
#include "engine/load/fit_by_file.h"
#include "engine/load/fitted_step.h"
#include "engine/load/memory_budget.h"
#include "engine/load/pin_weights.h"
#include "engine/load/session_steps.h"
#include "engine/load/weights_in_memory.h"
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
  Verdict verdict;
  std::vector<std::pair<DeviceIndex, WeightBlocks>> on_devices;
};

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
    if (model.weights.is_on(weight.info, device)) continue;
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

/// Memory for the missing weights, on all devices or on none.
Status allocate(const ModelState& model, const StepGraph& step, Blocks& blocks) {
  for (const DeviceIndex i : model.devices.indices()) {
    SHUNT_ASSIGN(auto missing, missing_on(model, step, blocks.fit, i));
    for (auto& [type, here] : missing) {
      auto weights = WeightBlocks::allocate(*type, std::move(here));
      if (!weights) return of_device(std::move(weights.error()), model, i);
      blocks.on_devices.emplace_back(i, std::move(*weights));
    }
  }
  return ok();
}

void log_lines(const LoadOptions& options, std::span<const std::string> lines) {
  for (const std::string& line : lines) {
    if (options.placement.fallback.log) options.placement.fallback.log(line);
  }
}

/// Decides the fit, applies the fallback policy, and allocates. If a device refuses memory that it
/// reported as free, the fit is repeated with less for it, and the policy is applied again.
Result<Blocks> fit_and_allocate(const ModelState& model, const StepGraph& step,
                                const LoadOptions& options, MemoryBudget& budget) {
  const auto homes = model.weights.homes();
  const auto attempt = [&]() -> Result<Blocks> {
    FitRequest request;
    request.steps = session_steps(options.session);
    request.limits = device_limits(model.devices, options.memory_margin);
    request.host_cache = options.session.host_cache_bytes;
    budget.limit(request);
    if (!homes.empty()) request.loaded = &homes;
    Blocks blocks;
    SHUNT_ASSIGN(blocks.fit, fit_model(model, request));
    SHUNT_ASSIGN(blocks.verdict, judge_fit(model, request, blocks.fit, options.placement.fallback));
    budget.plan(blocks.fit);
    SHUNT_TRY(allocate(model, step, blocks));
    return blocks;
  };
  return budget.run(attempt,
                    [&](const std::string& line) { log_lines(options, std::span(&line, 1)); });
}

/// Forgets the weights that move to another device, and frees memory that held only these.
void forget_moved(WeightStore& weights, const Homes& homes) {
  for (const auto& [info, home] : homes.weights) {
    WeightRecord& record = weights.records[info];
    if (record.is_loaded() && record.home != home) WeightStore::unload(record);
  }
  weights.free_unused();
}

/// Notes the decisions.
void apply(const Blocks& blocks, const MemoryBudget& budget, ModelState& model) {
  const Fit& fit = blocks.fit;
  model.fell_back = blocks.verdict.fell_back;
  Residency& residency = model.residency;
  residency.caches = fit.homes.caches;
  residency.most_streamed = fit.most_streamed;
  residency.used = fit.used;
  residency.overlap = fit.overlap;
  residency.short_of_room = residency.short_of_room || fit.short_of_room;
  forget_moved(model.weights, fit.homes);
  for (const auto& [info, home] : fit.homes.weights) {
    WeightRecord& record = model.weights.records[info];
    const auto other = fit.transcoded.find(info);
    if (other == fit.transcoded.end()) {
      record.transcoded.reset();
    } else {
      record.transcoded = other->second;
    }
  }
  model.predicted = weights_ledger(model);
  model.predicted.add(fit.ledger);
  model.notes = fit.notes;
  const auto add = [&](const std::vector<std::string>& lines) {
    model.notes.insert(model.notes.end(), lines.begin(), lines.end());
  };
  add(budget.refusals());
  add(model.left_out);
}

/// The parts of the file as buffers of the host, if a device computes in plain host memory.
void map_file(ModelState& model) {
  const auto uses = [](Device* device) { return uses_mapped_file(*device); };
  if (!model.weights.mapped_parts.empty() || std::ranges::none_of(model.devices, uses)) return;
  for (std::uint32_t part = 0; part < model.file.part_count(); ++part) {
    model.weights.mapped_parts.push_back(
        wrap_read_only_memory(model.file.part_bytes(part), model.file.mapping(part)));
  }
}

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

/// Brings weights into the memory that was allocated on a device. The message about a weight with
/// values that its other type can't hold; empty if there is none.
Result<std::string> fill(ModelState& model, DeviceIndex device, WeightBlocks& weights,
                         Progress& progress) {
  const auto ring = open_ring(model, device, weights);
  if (!ring) return of_device(ring.error(), model, device);
  auto errors = weights.fill(
      model.file, [&](std::uint64_t bytes) { progress.add(bytes); }, ring->get());
  if (!errors) return of_device(std::move(errors.error()), model, device);
  for (std::size_t i = 0; i < errors->size(); ++i) {
    WeightRecord& record = model.weights.records[weights.weights[i].info];
    record.address = weights.address(i);
    record.home = device;
    record.lossy = lossy_weight(weights.weights[i], record.address, *model.devices[device]);
    if (!record.transcoded) continue;
    const TranscodeError& error = record.transcoded->error.emplace((*errors)[i]);
    if (error.lost > 0) return lost_text(*record.transcoded);
  }
  for (auto& block : weights.blocks) model.weights.buffers[device].push_back(std::move(block));
  return std::string();
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
    if (model.weights.is_on(weight.info, home)) continue;
    WeightRecord& record = model.weights.records[weight.info];
    record.address = model.mapped_address(*weight.info);
    record.home = home;
    if (model.file.mapping(weight.info->part) != nullptr)
      mapped.push_back(model.file.data(*weight.info));
  }
  const std::uint64_t memory = model.devices.cpu_device().info().memory_total;
  const bool fits = memory == 0 || bytes_in_host_memory(model) < memory / 10 * 8;
  const bool has_copies = model.weights.any_copied();
  for (const std::span<const std::byte> bytes : mapped) {
    // Otherwise each norm between copied weights would map some of their pages again.
    if (has_copies) set_apart(bytes);
    if (fits) read_mapped(bytes, progress);
  }
}

/// The error of transcoding, for the user.
void say_transcoded(ModelState& model, const LoadOptions& options, const std::string& lost) {
  std::vector<std::string> lines = to_lines(model.weights.all_transcoded());
  if (!lost.empty()) lines.push_back(lost + ", so nothing was transcoded");
  for (Device* device : model.devices) {
    if (model.placement.transcode != Transcode::kLossy || device->why_not_lossy().empty()) continue;
    lines.push_back(
        fmt::format("{}: no lossy form of weights: {}", device->name(), device->why_not_lossy()));
  }
  log_lines(options, lines);
  model.notes.insert(model.notes.end(), lines.begin(), lines.end());
}

/// Weights that the CPU would use in the file if it had the order of memory.
void note_reversed(ModelState& model) {
  Device& cpu = model.devices.cpu_device();
  const DeviceIndex home = model.devices.cpu();
  std::uint64_t bytes = 0;
  for (const auto& [info, record] : model.weights.records) {
    const bool asked = record.copy != nullptr;
    const bool reversed = !is_as_in_memory(info->tensor.dtype, info->order);
    if (record.home == home && !asked && reversed) bytes += info->bytes;
  }
  if (bytes == 0 || !uses_mapped_file(cpu)) return;
  model.notes.push_back(
      fmt::format("{} of weights are copied, as the file has their numbers in another byte order",
                  size_text(bytes)));
}

/// An attempt to load: the state that it reached, and the problem that ended it, if one did.
struct Attempt {
  ModelState model;
  std::optional<Error> error = {};
  std::string lost = {};  ///< a weight with values that its other type can't hold

  bool is_complete() const { return !error && lost.empty(); }
};

/// Counts the weights of the file, and returns the bytes to load.
std::uint64_t count_weights(ModelState& model, const StepGraph& step) {
  model.info.weights = model.info.weight_bytes = 0;
  std::uint64_t to_load = 0;
  std::set<const std::byte*> counted;  // two leaves may be one tensor
  for (const WeightLeaf& weight : step.weights) {
    to_load += weight.info->bytes;
    const gguf::TensorInfo& tensor = weight.file_tensor();
    if (model.file.mapping(tensor.part) == nullptr) continue;  // of adapters
    if (!counted.insert(model.file.data(tensor).data()).second) continue;
    model.info.weights += static_cast<std::uint64_t>(element_count(tensor.tensor.shape));
    model.info.weight_bytes += tensor.bytes;
  }
  return to_load;
}

/// Places and fills, as far as nothing is lost. `before`: the weights that the attempt began with.
/// It forgets those that move, so that their memory is free for the attempt.
Status load_into(Attempt& attempt, const LoadOptions& options, WeightStore& before) {
  ModelState& model = attempt.model;
  SHUNT_ASSIGN(const auto step, model.build(session_steps(options.session).front()));
  Progress progress(options, count_weights(model, *step));
  model.memory_margin = options.memory_margin;
  model.weights.buffers.resize(model.devices.size());
  map_file(model);
  MemoryBudget budget(model.devices, MemoryBudget::For::kWeights);
  SHUNT_ASSIGN(Blocks blocks, fit_and_allocate(model, *step, options, budget));
  log_lines(options, blocks.verdict.lines);
  forget_moved(before, blocks.fit.homes);
  apply(blocks, budget, model);
  for (const auto& [info, record] : model.weights.records) {
    if (record.is_loaded()) progress.add(info->bytes);
  }
  for (auto& [device, weights] : blocks.on_devices) {
    SHUNT_ASSIGN(attempt.lost, fill(model, device, weights, progress));
    if (!attempt.lost.empty()) return ok();
  }
  use_mapped(model, *step, blocks.fit.homes, progress);
  return ok();
}

/// Makes attempts, each with its own copy of the state, until one is complete.
class Loader {
 public:
  Loader(ModelState model, const LoadOptions& options)
      : base_(std::move(model)), options_(options), shapes_(session_steps(options.session)) {}

  Result<std::shared_ptr<const ModelState>> run() {
    while (true) {
      Attempt attempt{.model = base_};
      if (Status loaded = load_into(attempt, options_, base_.weights); !loaded) {
        attempt.error = std::move(loaded.error());
      }
      if (attempt.is_complete()) return finish(std::move(attempt.model));
      if (!attempt.error) {
        Status changed = load_without_transcoding(attempt.lost);
        if (changed) continue;
        attempt.error = std::move(changed.error());
      }
      if (!change_plan(attempt)) return with_lost(std::move(*attempt.error));
    }
  }

 private:
  /// The plan for the next attempt where a weight lost values. This is rare, so everything is read
  /// again.
  Status load_without_transcoding(const std::string& lost) {
    if (!lost_.empty()) return fail(ErrorCode::kInternal, "{}, though no weight changes", lost);
    lost_ = lost;
    unload_all();
    base_.placement.transcode = Transcode::kNone;
    return choose_weight_memory(base_, shapes_);
  }

  /// Changes the plan after an error. False if there is nothing to change.
  bool change_plan(const Attempt& failed) {
    const Error& error = *failed.error;
    if (error.code() == ErrorCode::kOutOfMemory && base_.weight_mode == WeightMode::kAuto &&
        base_.weights.any_copied()) {
      unload_all();
      for (auto& [info, record] : base_.weights.records) record.copy = nullptr;
      no_copies_ =
          fmt::format("can't allocate memory for copies of weights, so the mapped file is used: {}",
                      to_text(error));
      log_lines(options_, std::span(&no_copies_, 1));
      return true;
    }
    const auto device = device_to_leave_out(failed.model, error);
    if (!device) return false;
    base_ = without(failed.model, *device, error);
    return true;
  }

  void unload_all() {
    for (auto& [info, record] : base_.weights.records) WeightStore::unload(record);
    base_.weights.free_unused();
  }

  Error with_lost(Error error) const {
    return lost_.empty() ? error : std::move(error).with_context(lost_);
  }

  Result<std::shared_ptr<const ModelState>> finish(ModelState model) const {
    if (auto note = model.adapters.note()) model.notes.push_back(std::move(*note));
    if (!no_copies_.empty()) model.notes.push_back(no_copies_);
    model.ledger = weights_ledger(model);
    pin_streamed_weights(model, shapes_, available_memory());
    say_transcoded(model, options_, lost_);
    note_reversed(model);
    return std::make_shared<const ModelState>(std::move(model));
  }

  ModelState base_;  // each attempt starts with a copy of it
  const LoadOptions& options_;
  const std::vector<StepShape> shapes_;
  std::string lost_;       // of an earlier attempt
  std::string no_copies_;  // the note about copies that there was no memory for
};

/// A line about a device that failed, for the user.
void note(ModelState& model, std::string line) {
  if (model.on_device_error.log) model.on_device_error.log(line);
  model.left_out.push_back(std::move(line));
}

/// Drops the user's pins to the device: they can't be applied any more.
void drop_wishes(ModelState& model, const std::string& device) {
  const auto names = [&](const auto& wish) { return wish.device == device; };
  for (const Pin& pin : model.placement.pins) {
    if (names(pin)) note(model, fmt::format("the pin {}={} is dropped", pin.pattern, device));
  }
  std::erase_if(model.placement.pins, names);
  if (!model.placement.file || !names_device(*model.placement.file, device)) return;
  note(model, fmt::format("the placement {} is no longer followed", model.placement.file->path));
  model.placement.file.reset();
}

}  // namespace

Ledger weights_ledger(const ModelState& model) {
  Ledger ledger;
  for (const DeviceIndex i : model.weights.buffers.indices()) {
    for (const auto& buffer : model.weights.buffers[i])
      ledger.add(model.devices[i]->name(), Purpose::kWeights, buffer->size());
  }
  std::set<std::pair<DeviceIndex, FileRange>> counted;  // two leaves may be one tensor
  for (const auto& [info, record] : model.weights.records) {
    if (!record.is_loaded()) continue;
    if (model.mapped_address(*info).buffer != record.address.buffer) continue;
    if (model.file.mapping(info->part) == nullptr) continue;  // of adapters
    if (!counted.emplace(record.home, file_range(model.file, *info)).second) continue;
    ledger.add(model.devices[record.home]->name(), Purpose::kMappedWeights, info->bytes);
  }
  ledger.add(model.devices.cpu_device().name(), Purpose::kAdapters, model.adapters.bytes());
  return ledger;
}

std::optional<DeviceIndex> device_to_leave_out(const ModelState& model, const Error& error) {
  if (model.on_device_error.mode != DeviceErrorMode::kFallback) return {};
  if (error.code() == ErrorCode::kCancelled || error.code() == ErrorCode::kInvalidArgument) {
    return {};
  }
  for (const DeviceIndex i : model.devices.accelerators()) {
    if (model.devices[i]->name() == error.device()) return i;
  }
  return {};
}

ModelState without(const ModelState& model, DeviceIndex device, const Error& error) {
  ModelState rest = model;
  const std::string name(model.devices[device]->name());
  std::uint64_t lost = 0;
  for (const auto& [info, record] : model.weights.records) {
    if (record.home == device) lost += info->bytes;
  }
  rest.devices.erase(rest.devices.begin() + device);
  rest.weights.erase_device(device);
  std::string line = fmt::format("{} failed and is left out: {}", name, to_text(error));
  if (lost > 0) line += fmt::format("; {} of weights are read again", size_text(lost));
  note(rest, std::move(line));
  drop_wishes(rest, name);
  return rest;
}

Result<std::shared_ptr<const ModelState>> load_state(ModelState model, const LoadOptions& options) {
  return Loader(std::move(model), options).run();
}

}  // namespace shunt
