// Cutting a file into parts, and joining them.
#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/guarded.h"
#include "gguf/format.h"
#include "gguf/parts_writer.h"
#include "gguf/split.h"
#include "shunt/message.h"
#include "tensor/byte_order.h"

namespace shunt::gguf {
namespace {

namespace fs = std::filesystem;

/// Copies the data of tensors, little-endian.
class DataCopier {
 public:
  DataCopier(const File& file, const CopyProgress& progress) : file_(file), progress_(progress) {
    for (const TensorInfo& info : file.tensors()) total_ += info.bytes;
  }

  Status copy(std::size_t index, const Writer::Sink& sink) {
    // Whole blocks of every type.
    constexpr std::size_t kPiece = std::size_t{16} << 20;
    const TensorInfo& info = file_.tensors()[index];
    const std::size_t block = trait(info.tensor.dtype).block_bytes;
    const std::span<const std::byte> all = file_.data(info);
    for (std::size_t done = 0; done < all.size();) {
      const std::size_t size = std::min(kPiece / block * block, all.size() - done);
      SHUNT_TRY(sink(in_order(info, all.subspan(done, size))));
      done += size;
      done_ += size;
      if (progress_) SHUNT_TRY(progress_(done_, total_));
    }
    let_go(all);
    return ok();
  }

 private:
  std::span<const std::byte> in_order(const TensorInfo& info, std::span<const std::byte> piece) {
    if (info.order == std::endian::little) return piece;
    converted_.assign(piece.begin(), piece.end());
    convert_byte_order(info.tensor.dtype, info.order, converted_);
    convert_byte_order(info.tensor.dtype, std::endian::little, converted_);
    return converted_;
  }

  const File& file_;
  const CopyProgress& progress_;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
  std::vector<std::byte> converted_;
};

FileContent content_of_file(const File& file) {
  FileContent content;
  for (const KeyValue& entry : file.metadata()) {
    if (!is_split_key(entry.key)) content.metadata.push_back(entry);
  }
  content.tensors.assign(file.tensors().begin(), file.tensors().end());
  content.alignment = static_cast<std::uint32_t>(file.alignment());
  return content;
}

/// The first file of a folder that is named like a part of this file, but by a number that it can't
/// have; empty: there is none.
Result<std::string> find_other_part(const PartName& first) {
  const fs::path prefix(first.prefix);
  const std::string begin = prefix.filename().string() + "-";
  const std::string end = part_path("", 0, first.count).substr(std::string_view("-00001").size());
  const fs::path folder = prefix.has_parent_path() ? prefix.parent_path() : fs::path(".");
  std::error_code error;
  auto entry = fs::directory_iterator(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool is_like_a_part =
        name.size() == begin.size() + std::string_view("00001").size() + end.size() &&
        name.starts_with(begin) && name.ends_with(end) &&
        std::ranges::all_of(name.substr(begin.size(), 5),
                            [](char c) { return c >= '0' && c <= '9'; });
    if (is_like_a_part && !parse_part_name(name)) return entry->path().string();
  }
  // Without the folder, opening the first part says so.
  if (!error || error == std::errc::no_such_file_or_directory) return std::string();
  return fail(ErrorCode::kIo, "cannot list {}: {}", folder.string(), error.message());
}

}  // namespace

Result<std::vector<std::string>> write_split(const std::string& prefix, const File& file,
                                             const PartLimits& limits,
                                             const CopyProgress& progress) {
  DataCopier copier(file, progress);
  const auto pieces = [&](std::size_t index, const Writer::Sink& sink) {
    return copier.copy(index, sink);
  };
  return guarded(
      [&] { return write_parts(prefix, content_of_file(file), limits, paths_of(file), pieces); },
      prefix);
}

Status write_merged(const std::string& path, const File& file, const CopyProgress& progress) {
  DataCopier copier(file, progress);
  const auto pieces = [&](std::size_t index, const Writer::Sink& sink) {
    return copier.copy(index, sink);
  };
  const auto write = [&]() -> Status {
    SHUNT_TRY(check_not_read(path, paths_of(file)));
    SHUNT_ASSIGN(OutputFile out, write_content(path, content_of_file(file), pieces));
    return out.commit();
  };
  return guarded(write, path);
}

Status check_no_other_parts(const std::string& path) {
  const auto check = [&]() -> Status {
    const auto first = parse_part_name(path);
    if (!first) return ok();
    SHUNT_ASSIGN(const std::string other, find_other_part(*first));
    if (other.empty()) return ok();
    return fail(ErrorCode::kBadFile, "{}: a part that is none of {}; parts are numbered from 1",
                other, counted(first->count, "part"));
  };
  return guarded(check, path);
}

}  // namespace shunt::gguf
