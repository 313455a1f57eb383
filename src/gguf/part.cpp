#include "gguf/part.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "gguf/metadata.h"
#include "gguf/printable.h"
#include "gguf/reader.h"
#include "gguf/tensor_list.h"

namespace shunt::gguf {
namespace {

Status check_magic(Reader& reader) {
  SHUNT_ASSIGN(const auto magic, reader.take(4, "the magic"));
  if (load_little<std::uint32_t>(magic.data()) == kMagic) return ok();
  const std::string_view found(reinterpret_cast<const char*>(magic.data()), magic.size());
  return bad_at(0, "expected a GGUF file, which starts with 'GGUF', found {}", printable(found));
}

Result<std::uint32_t> read_version(Reader& reader) {
  const std::size_t position = reader.position();
  SHUNT_ASSIGN(const auto version, reader.read<std::uint32_t>("the version"));
  if (version == 2 || version == 3) return version;
  // Versions are small numbers: one with its low half empty was written the other way around.
  if (version != 0 && (version & 0xffffu) == 0) {
    return fail(ErrorCode::kUnsupported,
                "byte {}: a big-endian GGUF file; only little-endian ones are read", position);
  }
  return fail(ErrorCode::kUnsupported,
              "byte {}: GGUF version {}; versions 2 and 3 are those that are read", position,
              version);
}

Result<std::uint64_t> alignment_of(std::span<const KeyValue> metadata) {
  const Value* value = find_value(metadata, kAlignmentKey);
  if (value == nullptr) return kDefaultAlignment;
  if (value->type != ValueType::kU32) {
    return fail(ErrorCode::kBadFile, "metadata '{}': expected a u32, found {}", kAlignmentKey,
                to_string(value->type));
  }
  const auto alignment = std::get<std::uint64_t>(value->data);
  if (!is_alignment(alignment)) {
    return fail(ErrorCode::kBadFile,
                "metadata '{}': expected a power of two of at least 8, found {}", kAlignmentKey,
                alignment);
  }
  return alignment;
}

}  // namespace

Result<Part> parse_part(std::span<const std::byte> bytes, const ReadOptions& options) {
  if (bytes.empty()) return bad_at(0, "expected a GGUF file, found an empty one");
  Reader reader(bytes);
  Part part;
  SHUNT_TRY(check_magic(reader));
  SHUNT_ASSIGN(part.version, read_version(reader));
  SHUNT_ASSIGN(part.listed_tensors, reader.read_count("the number of tensors", kLeastTensorBytes));
  SHUNT_ASSIGN(const auto entries,
               reader.read_count("the number of metadata entries", kLeastEntryBytes));
  SHUNT_ASSIGN(part.metadata, read_metadata(reader, entries));
  SHUNT_ASSIGN(part.alignment, alignment_of(part.metadata));
  SHUNT_ASSIGN(auto tensors, read_tensor_list(reader, part.listed_tensors, options));

  // A file without tensors may end before its data would start.
  const std::uint64_t start = align_up(reader.position(), part.alignment);
  part.data_start = static_cast<std::size_t>(std::min<std::uint64_t>(start, bytes.size()));
  const DataRange range{start, bytes.size() - part.data_start, part.alignment};
  SHUNT_TRY(check_data(tensors, part.listed_tensors, range));
  part.tensors.reserve(tensors.size());
  for (ListedTensor& tensor : tensors) part.tensors.push_back(std::move(tensor.info));
  return part;
}

}  // namespace shunt::gguf
