#include "gguf/with_memory.h"

#include <memory>
#include <utility>

#include "gguf/file_state.h"

namespace shunt::gguf {

namespace {

/// Where the data of each part start: in front of any tensor, by its offset.
std::vector<std::size_t> data_starts(const File& file) {
  std::vector<std::size_t> starts(file.part_count(), 0);
  for (const TensorInfo& info : file.tensors()) {
    const std::byte* const part = file.part_bytes(info.part).data();
    starts[info.part] = static_cast<std::size_t>(file.data(info).data() - part) -
                        static_cast<std::size_t>(info.offset);
  }
  return starts;
}

}  // namespace

File with_memory(const File& file, std::span<const std::byte> bytes) {
  auto state = std::make_shared<FileState>();
  state->path = file.path();
  state->version = file.version();
  state->order = file.byte_order();
  state->alignment = file.alignment();
  state->metadata.assign(file.metadata().begin(), file.metadata().end());
  state->tensors.assign(file.tensors().begin(), file.tensors().end());
  state->listed_tensors = state->tensors.size();
  const std::vector<std::size_t> starts = data_starts(file);
  for (std::uint32_t part = 0; part < file.part_count(); ++part)
    state->parts.push_back({file.part_bytes(part), starts[part], file.mapping(part)});
  state->parts.push_back({bytes, 0, nullptr});
  // Names were unique in the file, and no tensor is added.
  (void)join_parts(state.get(), std::nullopt);
  return File(std::shared_ptr<const FileState>(std::move(state)));
}

}  // namespace shunt::gguf
