#include "gguf/parts_writer.h"

#include <algorithm>
#include <filesystem>

#include "gguf/format.h"
#include "gguf/split.h"
#include "shunt/message.h"

namespace shunt::gguf {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSplitKeys = "split.";
// More than the bytes of a part's header, and of a tensor's description without its name.
constexpr std::uint64_t kPartHeader = 256;
constexpr std::uint64_t kTensorHeader = 64;

KeyValue number_key(std::string_view key, ValueType type, std::uint64_t value) {
  if (type == ValueType::kI32) return {std::string(key), {type, static_cast<std::int64_t>(value)}};
  return {std::string(key), {type, value}};
}

/// A part's content.
FileContent content_of(const FileContent& whole, std::size_t first, std::size_t end,
                       std::size_t number, std::size_t count) {
  FileContent part;
  part.alignment = whole.alignment;
  if (number == 0) part.metadata = whole.metadata;
  part.metadata.push_back(number_key("split.no", ValueType::kU16, number));
  part.metadata.push_back(number_key("split.count", ValueType::kU16, count));
  part.metadata.push_back(number_key("split.tensors.count", ValueType::kI32, whole.tensors.size()));
  const auto at = [&](std::size_t index) {
    return whole.tensors.begin() + static_cast<std::ptrdiff_t>(index);
  };
  part.tensors.assign(at(first), at(end));
  return part;
}

/// Complete files become parts. An old first part goes before others take their names, and the
/// new one comes last: at no time do parts of two files look like one. Links stay.
Status commit_all(std::vector<OutputFile>& files) {
  std::error_code ignored;
  if (files.size() > 1) fs::remove(files[0].path(), ignored);
  for (std::size_t i = 1; i <= files.size(); ++i) {
    Status named = files[i % files.size()].commit();
    if (named) continue;
    for (std::size_t made = 1; made < i; ++made) fs::remove(files[made].path(), ignored);
    return named;
  }
  return ok();
}

}  // namespace

std::string prefix_of(const std::string& path) {
  constexpr std::string_view kEnding = ".gguf";
  const bool has_ending = path.ends_with(kEnding) && path.size() > kEnding.size();
  return has_ending ? path.substr(0, path.size() - kEnding.size()) : path;
}

bool is_split_key(std::string_view key) {
  return key.starts_with(kSplitKeys);
}

std::vector<std::string> paths_of(const File& file) {
  return file.part_count() > 1 ? part_paths(file.path()) : std::vector{file.path()};
}

Status check_not_read(const std::string& path, std::span<const std::string> read) {
  const auto is_same = [&](const std::string& other) {
    std::error_code error;
    return fs::equivalent(path, other, error) && !error;
  };
  if (std::ranges::none_of(read, is_same)) return ok();
  return invalid("{} is a file that is read", path);
}

Result<std::vector<std::size_t>> part_starts(const FileContent& content, const PartLimits& limits) {
  if (limits.bytes == 0 && limits.tensors == 0)
    return invalid("parts need a limit of bytes or tensors");
  FileContent first;
  first.metadata = content.metadata;
  SHUNT_ASSIGN(const HeaderBytes header, header_of(std::move(first)));
  std::vector<std::size_t> starts = {0};
  std::uint64_t bytes = header.bytes().size() + kPartHeader + content.alignment;
  for (std::size_t i = 0; i < content.tensors.size(); ++i) {
    const TensorInfo& info = content.tensors[i];
    const std::uint64_t added =
        align_up(info.bytes, content.alignment) + info.name.size() + kTensorHeader;
    const std::size_t tensors = i - starts.back();
    const bool is_full = (limits.tensors > 0 && tensors == limits.tensors) ||
                         (limits.bytes > 0 && added > limits.bytes - std::min(bytes, limits.bytes));
    if (tensors > 0 && is_full) {
      starts.push_back(i);
      bytes = kPartHeader + content.alignment;
    }
    bytes += added;
  }
  if (starts.size() <= kMostParts) return starts;
  return invalid("{} parts of this size; there may be up to {}, of larger parts", starts.size(),
                 kMostParts);
}

Result<std::vector<std::string>> write_parts(const std::string& prefix, const FileContent& content,
                                             const PartLimits& limits,
                                             std::span<const std::string> read,
                                             const Writer::Pieces& pieces) {
  SHUNT_ASSIGN(const std::vector<std::size_t> starts, part_starts(content, limits));
  const std::size_t count = starts.size();
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < count; ++i) {
    paths.push_back(
        part_path(prefix, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(count)));
    SHUNT_TRY(check_not_read(paths.back(), read));
  }
  std::vector<OutputFile> files;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t end = i + 1 < count ? starts[i + 1] : content.tensors.size();
    const auto of_part = [&](std::size_t index, const Writer::Sink& sink) {
      return pieces(starts[i] + index, sink);
    };
    SHUNT_ASSIGN(OutputFile file,
                 write_content(paths[i], content_of(content, starts[i], end, i, count), of_part));
    SHUNT_TRY(file.close());  // there may be more parts than descriptors
    files.push_back(std::move(file));
  }
  SHUNT_TRY(commit_all(files));
  return paths;
}

}  // namespace shunt::gguf
