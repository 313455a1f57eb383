#include "engine/load_weights.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/fail.h"
#include "schedule/memory_planner.h"
#include "shunt/plan.h"

namespace shunt {

namespace {

// What a session typically asks; where weights go hardly hangs on it.
constexpr StepShape kTypicalStep = {
    .tokens = 512, .outputs = 1, .context = 4096, .cache_type = DType::kF16};
constexpr std::size_t kPiece = std::size_t{32} << 20;  // bytes between two calls of progress

/// Files are little-endian; where the host is not, weights can't be used in place.
constexpr bool kUsedInPlace = std::endian::native == std::endian::little;

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

/// Weights of one device in memory of its own.
Status upload(ModelState& model, Device& device, std::span<const gguf::TensorInfo* const> infos,
              Progress& progress) {
  BufferType& type = device.memory();
  std::vector<MemoryRequest> requests;
  for (const gguf::TensorInfo* info : infos) requests.push_back({type.size_of(info->tensor), 0, 0});
  SHUNT_ASSIGN(const MemoryLayout layout, plan_memory(requests, type.alignment(), type.max_size()));
  std::vector<Buffer*> blocks;
  for (std::size_t bytes : layout.block_bytes) {
    auto block = type.allocate(bytes);
    if (!block) {
      return std::move(block.error())
          .with_context(fmt::format("{}: {} bytes for weights", device.info().name, bytes));
    }
    blocks.push_back(block->get());
    model.buffers.push_back(std::move(*block));
  }
  std::vector<std::byte> converted;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    std::span<const std::byte> bytes = model.file.data(*infos[i]);
    if (!kUsedInPlace) {
      converted.assign(bytes.begin(), bytes.end());
      convert_little_endian(infos[i]->tensor.dtype, converted);
      bytes = converted;
    }
    Buffer* block = blocks[layout.places[i].block];
    SHUNT_TRY(block->write(layout.places[i].offset, bytes));
    model.weights[infos[i]] = {block, layout.places[i].offset};
    progress.add(bytes.size());
  }
  return ok();
}

}  // namespace

Status load_weights(ModelState& model, const LoadOptions& options) {
  StepShape shape = kTypicalStep;
  shape.context = std::min(shape.context, model.info.context);
  SHUNT_ASSIGN(const StepGraph step, model.definition->build(shape));
  SHUNT_ASSIGN(const Placement placement, place(step.graph, model.devices));

  std::vector<std::vector<const gguf::TensorInfo*>> by_device(model.devices.size());
  for (const WeightLeaf& weight : step.weights) {
    by_device[static_cast<std::size_t>(placement.decisions[weight.leaf].device)].push_back(
        weight.info);
    model.info.weights += static_cast<std::uint64_t>(element_count(weight.info->tensor.shape));
    model.info.weight_bytes += weight.info->bytes;
  }
  std::uint64_t total = model.info.weight_bytes;
  Progress progress(options, total);
  for (std::size_t i = 0; i < model.devices.size(); ++i) {
    if (by_device[i].empty()) continue;
    Device& device = *model.devices[i];
    const bool mapped = kUsedInPlace && &device.memory() == &host_memory();
    if (!mapped) {
      SHUNT_TRY(upload(model, device, by_device[i], progress));
      continue;
    }
    std::vector<Buffer*> parts;
    for (std::uint32_t part = 0; part < model.file.part_count(); ++part) {
      const auto bytes = model.file.part_bytes(part);
      model.buffers.push_back(wrap_read_only_memory(bytes, model.file.mapping(part)));
      parts.push_back(model.buffers.back().get());
      const std::uint64_t memory = device.info().memory_total;
      if (memory == 0 || model.file.file_bytes() < memory / 10 * 8) read_ahead(bytes, progress);
    }
    for (const gguf::TensorInfo* info : by_device[i]) {
      const std::byte* start = model.file.part_bytes(info->part).data();
      model.weights[info] = {parts[info->part],
                             static_cast<std::size_t>(model.file.data(*info).data() - start)};
    }
  }
  return ok();
}

}  // namespace shunt
