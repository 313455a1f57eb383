#include "gguf/file_writer.h"

#include <algorithm>
#include <utility>

#include "gguf/metadata.h"
#include "gguf/name_index.h"
#include "gguf/part.h"
#include "shunt/message.h"
#include "tensor/checked.h"

namespace shunt::gguf {
namespace {

constexpr std::uint32_t kVersion = 3;

Status check_keys(std::span<const KeyValue> metadata) {
  std::vector<std::string_view> keys;
  for (const KeyValue& entry : metadata) {
    if (entry.key.empty() || entry.key.size() > kMaxKeyBytes) {
      return invalid("metadata {}: a key has 1 to {} bytes", printable(entry.key), kMaxKeyBytes);
    }
    keys.push_back(entry.key);
  }
  const auto twice = NameIndex(keys).duplicate();
  if (twice) return invalid("metadata {}: the key occurs twice", printable(keys[twice->first]));
  return ok();
}

/// The metadata and, where a reader would assume another one, the alignment.
Result<std::vector<KeyValue>> with_alignment(std::vector<KeyValue> metadata,
                                             std::uint32_t alignment) {
  if (!is_alignment(alignment)) {
    return invalid("alignment {} is not a power of two of at least 8", alignment);
  }
  const Value* given = find_value(metadata, kAlignmentKey);
  if (given != nullptr) {
    const auto* value = std::get_if<std::uint64_t>(&given->data);
    if (given->type == ValueType::kU32 && value != nullptr && *value == alignment) return metadata;
    return invalid("metadata '{}' differs from the alignment that is written, {}", kAlignmentKey,
                   alignment);
  }
  if (alignment != kDefaultAlignment) {
    metadata.push_back({std::string(kAlignmentKey), {ValueType::kU32, std::uint64_t{alignment}}});
  }
  return metadata;
}

/// Gives each tensor its offset.
Status place_tensors(std::vector<TensorInfo>* tensors, std::uint32_t alignment) {
  std::vector<std::string_view> names;
  std::int64_t end = 0;
  for (TensorInfo& info : *tensors) {
    names.push_back(info.name);
    if (end > kMaxSize - alignment)
      return invalid("the size of the tensors' data in bytes has more than 63 bits");
    info.offset = align_up(static_cast<std::uint64_t>(end), alignment);
    end = saturating_add(static_cast<std::int64_t>(info.offset),
                         static_cast<std::int64_t>(info.bytes));
  }
  const auto twice = NameIndex(names).duplicate();
  if (twice) return invalid("tensor {}: the name occurs twice", printable(names[twice->first]));
  return ok();
}

Result<HeaderBytes> joined_header(std::span<const KeyValue> metadata,
                                  std::span<const TensorInfo> tensors) {
  HeaderBytes header;
  header.put_text(kMagic);
  header.put_u32(kVersion);
  header.put_u64(tensors.size());
  header.put_u64(metadata.size());
  for (const KeyValue& entry : metadata) SHUNT_TRY(header.put_metadata(entry));
  for (const TensorInfo& info : tensors) header.put_tensor(info);
  return header;
}

Status write_tensor(OutputFile* file, const TensorInfo& info, std::size_t index,
                    const Writer::Pieces& pieces) {
  std::uint64_t given = 0;
  Status written;
  const auto sink = [&](std::span<const std::byte> bytes) -> Status {
    given += bytes.size();
    // Excess bytes are not written: they might be without end.
    if (written && given <= info.bytes) written = file->write(bytes);
    return written;
  };
  Status done = pieces(index, sink);
  if (!written) return written;
  if (!done) return std::move(done.error()).with_context("tensor " + printable(info.name));
  if (given != info.bytes) {
    return invalid("tensor {}: {} bytes were given for {}, which takes {}", printable(info.name),
                   given, to_string(info.tensor), info.bytes);
  }
  return ok();
}

/// Checks all, and gives tensors their offsets.
Result<HeaderBytes> finish(FileContent& content) {
  SHUNT_TRY(check_keys(content.metadata));
  SHUNT_ASSIGN(content.metadata, with_alignment(std::move(content.metadata), content.alignment));
  for (const TensorInfo& info : content.tensors) SHUNT_TRY(check_writable(info.name, info.tensor));
  SHUNT_TRY(place_tensors(&content.tensors, content.alignment));
  return joined_header(content.metadata, content.tensors);
}

}  // namespace

Status check_writable(const std::string& name, const Tensor& tensor) {
  if (name.empty() || name.size() > kMaxNameBytes) {
    return invalid("tensor {}: a name has 1 to {} bytes", printable(name), kMaxNameBytes);
  }
  const bool fixed = std::ranges::all_of(tensor.shape, &Dim::is_fixed);
  if (fixed && is_contiguous(tensor) && element_count(tensor.shape) > 0) return ok();
  return invalid("tensor {}: {}: only contiguous, non-empty tensors of fixed size can be written",
                 printable(name), to_string(tensor));
}

Result<HeaderBytes> header_of(FileContent content) {
  return finish(content);
}

Result<OutputFile> write_content(const std::string& path, FileContent content,
                                 const Writer::Pieces& pieces) {
  SHUNT_ASSIGN(const HeaderBytes header, finish(content));
  SHUNT_ASSIGN(OutputFile file, OutputFile::create(path, WriteTo::kFile));
  SHUNT_TRY(file.write(header.bytes()));
  const auto padding = [&] { return align_up(file.size(), content.alignment) - file.size(); };
  for (std::size_t i = 0; i < content.tensors.size(); ++i) {
    SHUNT_TRY(file.write_zeros(padding()));
    SHUNT_TRY(write_tensor(&file, content.tensors[i], i, pieces));
  }
  // Some readers require padding after the last tensor as well.
  SHUNT_TRY(file.write_zeros(padding()));
  return file;
}

}  // namespace shunt::gguf
