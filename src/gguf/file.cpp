#include <memory>
#include <utility>

#include "base/file.h"
#include "base/guarded.h"
#include "gguf/file_state.h"
#include "gguf/part.h"
#include "gguf/split.h"
#include "shunt/gguf.h"
#include "shunt/message.h"

namespace shunt::gguf {
namespace {

struct OpenPart {
  Part part;
  Split split;
  PartData data;
};

Result<OpenPart> parse_bytes(std::span<const std::byte> bytes, const std::string& name,
                             const ReadOptions& options) {
  auto part = parse_part(bytes, options);
  if (!part) return std::move(part.error()).with_context(name);
  auto split = read_split(part->metadata);
  if (!split) return std::move(split.error()).with_context(name);
  const std::size_t data_start = part->data_start;
  return OpenPart{std::move(*part), *split, {bytes, data_start, nullptr}};
}

Result<OpenPart> open_part(const std::string& path, const ReadOptions& options) {
  SHUNT_ASSIGN(auto mapped, MappedFile::open(path));
  const auto file = std::make_shared<const MappedFile>(std::move(mapped));
  SHUNT_ASSIGN(auto opened, parse_bytes(file->bytes(), path, options));
  opened.data.mapping = file;
  return opened;
}

/// Opens the other parts than the first and adds them.
Status add_other_parts(FileState* state, const std::string& prefix, const Split& first,
                       const ReadOptions& options) {
  for (std::uint32_t number = 1; number < first.count; ++number) {
    const std::string path = part_path(prefix, number, first.count);
    auto opened = open_part(path, options);
    if (!opened) {
      return std::move(opened.error())
          .with_context(fmt::format("{}: part {} of {}", state->path, number + 1, first.count));
    }
    const Split& split = opened->split;
    if (split.number != number || split.count != first.count) {
      return fail(ErrorCode::kBadFile,
                  "{}: expected part {} of {} by its name, found part {} of {} by its metadata",
                  path, number + 1, first.count, split.number + 1, split.count);
    }
    if (split.tensors && first.tensors && *split.tensors != *first.tensors) {
      return fail(ErrorCode::kBadFile, "{}: a part of a file with {} tensors; {} is of one with {}",
                  path, *split.tensors, state->path, *first.tensors);
    }
    add_part(state, std::move(opened->part), std::move(opened->data));
  }
  return ok();
}

Result<std::shared_ptr<const FileState>> finish(std::shared_ptr<FileState> state,
                                                const Split& split) {
  auto joined = join_parts(state.get(), split.tensors);
  if (!joined) return std::move(joined.error()).with_context(state->path);
  return std::shared_ptr<const FileState>(std::move(state));
}

Result<std::shared_ptr<const FileState>> open_all(const std::string& path,
                                                  const ReadOptions& options) {
  SHUNT_ASSIGN(auto first, open_part(path, options));
  const Split split = first.split;
  auto state = std::make_shared<FileState>();
  state->path = path;
  if (split.count > 1) {
    SHUNT_ASSIGN(const std::string prefix, check_first_part(path, split));
    add_part(state.get(), std::move(first.part), std::move(first.data));
    SHUNT_TRY(add_other_parts(state.get(), prefix, split, options));
  } else {
    add_part(state.get(), std::move(first.part), std::move(first.data));
  }
  return finish(std::move(state), split);
}

Result<std::shared_ptr<const FileState>> parse_all(std::span<const std::byte> bytes,
                                                   const std::string& name,
                                                   const ReadOptions& options) {
  SHUNT_ASSIGN(auto only, parse_bytes(bytes, name, options));
  if (only.split.count > 1) {
    return fail(ErrorCode::kUnsupported,
                "{}: part {} of {}: parts are found by path, not from bytes in memory", name,
                only.split.number + 1, only.split.count);
  }
  auto state = std::make_shared<FileState>();
  state->path = name;
  add_part(state.get(), std::move(only.part), std::move(only.data));
  return finish(std::move(state), only.split);
}

}  // namespace

Result<File> File::open(const std::string& path, const ReadOptions& options) {
  return guarded(
      [&]() -> Result<File> {
        SHUNT_ASSIGN(auto state, open_all(path, options));
        return File(std::move(state));
      },
      path);
}

Result<File> File::parse(std::span<const std::byte> bytes, const std::string& name,
                         const ReadOptions& options) {
  return guarded(
      [&]() -> Result<File> {
        SHUNT_ASSIGN(auto state, parse_all(bytes, name, options));
        return File(std::move(state));
      },
      name);
}

const std::string& File::path() const {
  return state_->path;
}
std::uint32_t File::version() const {
  return state_->version;
}
std::endian File::byte_order() const {
  return state_->order;
}
std::uint64_t File::alignment() const {
  return state_->alignment;
}
std::span<const KeyValue> File::metadata() const {
  return state_->metadata;
}
std::span<const TensorInfo> File::tensors() const {
  return state_->tensors;
}
std::size_t File::part_count() const {
  return state_->parts.size();
}

const TensorInfo* File::find_tensor(std::string_view name) const {
  const auto found = state_->names.find(name);
  return found ? &state_->tensors[*found] : nullptr;
}

std::size_t File::file_bytes() const {
  std::size_t bytes = 0;
  for (const PartData& part : state_->parts) bytes += part.bytes.size();
  return bytes;
}

std::span<const std::byte> File::part_bytes(std::uint32_t part) const {
  if (part >= state_->parts.size()) return {};
  return state_->parts[part].bytes;
}

std::span<const std::byte> File::data(const TensorInfo& info) const {
  if (info.part >= state_->parts.size()) return {};
  const PartData& part = state_->parts[info.part];
  const auto data = part.bytes.subspan(part.data_start);
  // Always true of this file's own tensors.
  // Of some columns of a matrix: from the first to the last of them.
  const std::uint64_t bytes =
      is_contiguous(info.tensor) ? info.bytes : static_cast<std::uint64_t>(byte_span(info.tensor));
  if (info.offset > data.size() || bytes > data.size() - info.offset) return {};
  return data.subspan(static_cast<std::size_t>(info.offset), static_cast<std::size_t>(bytes));
}

std::shared_ptr<const void> File::mapping(std::uint32_t part) const {
  if (part >= state_->parts.size()) return nullptr;
  return state_->parts[part].mapping;
}

}  // namespace shunt::gguf
