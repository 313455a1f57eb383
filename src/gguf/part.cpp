#include "gguf/part.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "gguf/metadata.h"
#include "gguf/reader.h"
#include "gguf/tensor_list.h"
#include "shunt/gguf.h"

namespace shunt::gguf {
namespace {

Result<std::string_view> read_magic(Reader& reader) {
  SHUNT_ASSIGN(const auto magic, reader.take(4, "the magic"));
  const std::string_view found(reinterpret_cast<const char*>(magic.data()), magic.size());
  if (found == kMagic || found == kBigEndianMagic) return found;
  return bad_at(0, "expected a GGUF file, which starts with 'GGUF' or 'FUGG', found {}",
                printable(found));
}

/// Versions are small numbers: one with its low half empty was written the other way around.
bool is_reversed(std::uint32_t version) {
  return version != 0 && (version & 0xffffu) == 0;
}

/// The version, and with it the byte order of all that follows.
Result<std::uint32_t> read_version(Reader& reader, std::string_view magic) {
  const std::size_t position = reader.position();
  Reader as_little = reader;
  SHUNT_ASSIGN(const auto little, as_little.read<std::uint32_t>("the version"));
  if (is_reversed(little)) reader.set_order(std::endian::big);
  SHUNT_ASSIGN(const auto version, reader.read<std::uint32_t>("the version"));
  const bool big = reader.order() == std::endian::big;
  if (magic == kBigEndianMagic && !big) {
    return bad_at(position, "expected a big-endian version after 'FUGG', found {}", version);
  }
  if (version == 2 || version == 3) return version;
  return fail(ErrorCode::kUnsupported,
              "byte {}: GGUF version {}{}; only versions 2 and 3 are supported", position, version,
              big ? ", big-endian" : "");
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
  SHUNT_ASSIGN(const auto magic, read_magic(reader));
  SHUNT_ASSIGN(part.version, read_version(reader, magic));
  part.order = reader.order();
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
