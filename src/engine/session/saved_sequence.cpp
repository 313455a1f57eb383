#include "engine/session/saved_sequence.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "base/enum_table.h"
#include "base/to_size.h"
#include "gguf/header_bytes.h"
#include "gguf/reader.h"
#include "model/definition.h"
#include "shunt/gguf.h"
#include "shunt/message.h"
#include "tensor/byte_order.h"

namespace shunt {

namespace {

constexpr std::string_view kSavedMagic = "ShuntSeq";
constexpr std::uint32_t kSavedVersion = 1;
constexpr std::uint32_t kSwappedVersion = 0x01000000;  ///< as if it was written big-endian
constexpr std::size_t kSizesAt = kSavedMagic.size() + sizeof kSavedVersion;
constexpr std::size_t kStartBytes = kSizesAt + 2 * sizeof(std::uint64_t);
constexpr std::size_t kChecksumBytes = sizeof(std::uint64_t);

/// The least bytes of a cache in the list: a name's length, kind, type, bytes of a row.
constexpr std::size_t kLeastCacheBytes = 24;

constexpr std::array<std::string_view, 3> kSavedKinds = {"rows", "state", "window"};

using HeaderReader = gguf::Reader;

Result<SavedCache> read_cache(HeaderReader& reader) {
  SavedCache cache;
  SHUNT_ASSIGN(cache.name, reader.read_string("the name of a cache"));
  std::size_t at = reader.position();
  SHUNT_ASSIGN(const auto kind, reader.read<std::uint32_t>("the kind of a cache"));
  if (kind >= kSavedKinds.size()) return gguf::bad_at(at, "there is no kind {} of caches", kind);
  cache.kind = static_cast<SavedKind>(kind);
  at = reader.position();
  SHUNT_ASSIGN(const auto number, reader.read<std::uint32_t>("the type of a cache"));
  const auto dtype = dtype_from_gguf(number);
  if (!dtype) return gguf::bad_at(at, "{}", dtype.error().message());
  cache.dtype = *dtype;
  at = reader.position();
  SHUNT_ASSIGN(cache.row_bytes, reader.read<std::uint64_t>("the bytes of a row"));
  if (cache.row_bytes == 0 || cache.row_bytes % trait(cache.dtype).block_bytes != 0) {
    return gguf::bad_at(at, "rows of {} bytes are not whole blocks of {}", cache.row_bytes,
                        to_string(cache.dtype));
  }
  if (cache.kind != SavedKind::kWindow) return cache;
  at = reader.position();
  SHUNT_ASSIGN(const auto window, reader.read<std::uint64_t>("the tokens of a window"));
  if (window == 0 || window > to_size(std::numeric_limits<std::int64_t>::max()))
    return gguf::bad_at(at, "a window of {} tokens", window);
  cache.window = static_cast<std::int64_t>(window);
  return cache;
}

Result<SavedSequence> read_sequence(HeaderReader& reader) {
  SavedSequence sequence;
  SHUNT_ASSIGN(sequence.model, reader.read<std::uint64_t>("the model's fingerprint"));
  const std::size_t at = reader.position();
  SHUNT_ASSIGN(const auto cached, reader.read<std::uint64_t>("the number of rows"));
  SHUNT_ASSIGN(const auto count, reader.read_count("the number of tokens", sizeof(std::int32_t)));
  if (cached > count) return gguf::bad_at(at, "{} rows of {} tokens", cached, count);
  sequence.cached = static_cast<std::int64_t>(cached);
  SHUNT_ASSIGN(const auto tokens, reader.take(count * sizeof(std::int32_t), "the tokens"));
  sequence.tokens.reserve(to_size(count));
  for (std::size_t i = 0; i < tokens.size(); i += sizeof(std::int32_t))
    sequence.tokens.push_back(load_little<std::int32_t>(tokens.data() + i));
  SHUNT_ASSIGN(const auto caches, reader.read_count("the number of caches", kLeastCacheBytes));
  for (std::uint64_t i = 0; i < caches; ++i) {
    SHUNT_ASSIGN(SavedCache cache, read_cache(reader));
    sequence.caches.push_back(std::move(cache));
  }
  return sequence;
}

/// The rows of a cache in a file, or the one state.
std::uint64_t rows_of(const SavedSequence& sequence, const SavedCache& cache) {
  if (cache.kind != SavedKind::kState)
    return to_size(sequence.cached - first_saved_row(sequence, cache));
  return sequence.cached > 0 ? 1 : 0;
}

/// Whether the data of all caches take this many bytes.
bool has_data_bytes(const SavedSequence& sequence, std::uint64_t bytes) {
  for (const SavedCache& cache : sequence.caches) {
    const std::uint64_t rows = rows_of(sequence, cache);
    if (rows > bytes / cache.row_bytes) return false;
    bytes -= rows * cache.row_bytes;
  }
  return bytes == 0;
}

/// The sizes that a file's start states.
struct StatedSizes {
  std::uint64_t header = 0;
  std::uint64_t file = 0;
};

Result<StatedSizes> read_start(HeaderReader& reader) {
  SHUNT_ASSIGN(const auto magic, reader.take(kSavedMagic.size(), "the magic"));
  const std::string_view found(reinterpret_cast<const char*>(magic.data()), magic.size());
  if (found != kSavedMagic) {
    return gguf::bad_at(0, "expected '{}', found {}: this is no saved sequence", kSavedMagic,
                        gguf::printable(found));
  }
  SHUNT_ASSIGN(const auto version, reader.read<std::uint32_t>("the version"));
  if (version == kSwappedVersion) {
    return gguf::bad_at(kSavedMagic.size(),
                        "its numbers are big-endian; they are little-endian on every machine");
  }
  if (version != kSavedVersion) {
    return fail(ErrorCode::kUnsupported, "byte {}: version {} is not supported, only version {} is",
                kSavedMagic.size(), version, kSavedVersion);
  }
  StatedSizes sizes;
  SHUNT_ASSIGN(sizes.header, reader.read<std::uint64_t>("the size of the header"));
  SHUNT_ASSIGN(sizes.file, reader.read<std::uint64_t>("the size of the file"));
  return sizes;
}

Status check_sizes(const StatedSizes& stated, std::uint64_t size) {
  constexpr std::size_t kFileAt = kSizesAt + sizeof(std::uint64_t);
  if (stated.file != size) {
    return gguf::bad_at(kFileAt, "the file has {} bytes, but its header states {}", size,
                        stated.file);
  }
  const std::uint64_t most =
      size < kChecksumBytes ? 0
                            : std::min<std::uint64_t>(size - kChecksumBytes, gguf::kMaxHeaderBytes);
  if (stated.header < kStartBytes + kChecksumBytes || stated.header > most) {
    return gguf::bad_at(kSizesAt, "a header of {} bytes; there may be {} to {}", stated.header,
                        kStartBytes + kChecksumBytes, most);
  }
  return ok();
}

}  // namespace

std::string_view to_string(SavedKind kind) {
  return name_in(kSavedKinds, kind);
}

std::int64_t first_saved_row(const SavedSequence& sequence, const SavedCache& cache) {
  if (cache.kind != SavedKind::kWindow) return 0;
  return first_window_block(sequence.cached, cache.window) * kCacheBlock;
}

std::uint64_t data_bytes(const SavedSequence& sequence, const SavedCache& cache) {
  return rows_of(sequence, cache) * cache.row_bytes;
}

std::vector<std::byte> write_header(const SavedSequence& sequence) {
  gguf::HeaderBytes rest;
  rest.put_u64(sequence.model);
  rest.put_u64(static_cast<std::uint64_t>(sequence.cached));
  rest.put_u64(sequence.tokens.size());
  for (const std::int32_t token : sequence.tokens) rest.put_u32(static_cast<std::uint32_t>(token));
  rest.put_u64(sequence.caches.size());
  std::uint64_t data = 0;
  for (const SavedCache& cache : sequence.caches) {
    rest.put_string(cache.name);
    rest.put_u32(static_cast<std::uint32_t>(cache.kind));
    rest.put_u32(static_cast<std::uint32_t>(cache.dtype));
    rest.put_u64(cache.row_bytes);
    if (cache.kind == SavedKind::kWindow) rest.put_u64(to_size(cache.window));
    data += data_bytes(sequence, cache);
  }
  const std::uint64_t header = kStartBytes + rest.bytes().size() + kChecksumBytes;
  gguf::HeaderBytes start;
  start.put_text(kSavedMagic);
  start.put_u32(kSavedVersion);
  start.put_u64(header);
  start.put_u64(header + data + kChecksumBytes);
  std::vector<std::byte> bytes;
  bytes.reserve(to_size(header));
  bytes.insert(bytes.end(), start.bytes().begin(), start.bytes().end());
  bytes.insert(bytes.end(), rest.bytes().begin(), rest.bytes().end());
  gguf::HeaderBytes checksum;
  checksum.put_u64(xxh64(bytes));
  bytes.insert(bytes.end(), checksum.bytes().begin(), checksum.bytes().end());
  return bytes;
}

Result<SavedSequenceWriter> SavedSequenceWriter::create(const std::string& path,
                                                        const SavedSequence& sequence) {
  SHUNT_ASSIGN(OutputFile file, OutputFile::create(path, WriteTo::kFile));
  SHUNT_TRY(file.write(write_header(sequence)));
  return SavedSequenceWriter(std::move(file));
}

Status SavedSequenceWriter::add(std::span<const std::byte> data) {
  hash_.add(data);
  return file_.write(data);
}

Status SavedSequenceWriter::commit() {
  std::array<std::byte, kChecksumBytes> checksum;
  store_little(hash_.value(), checksum.data());
  SHUNT_TRY(file_.write(checksum));
  return file_.commit();
}

Result<ReadHeader> read_header(const SavedBytes& file) {
  std::vector<std::byte> bytes(to_size(std::min<std::uint64_t>(file.size, kStartBytes)));
  SHUNT_TRY(file.read(0, bytes));
  HeaderReader start(bytes);
  SHUNT_ASSIGN(const StatedSizes sizes, read_start(start));
  SHUNT_TRY(check_sizes(sizes, file.size));
  bytes.resize(to_size(sizes.header));
  SHUNT_TRY(file.read(0, bytes));
  const auto content = std::span<const std::byte>(bytes).first(bytes.size() - kChecksumBytes);
  if (xxh64(content) != load_little<std::uint64_t>(content.data() + content.size()))
    return gguf::bad_at(content.size(), "the header is damaged: its checksum is another one");
  HeaderReader reader(content);
  SHUNT_TRY(reader.take(kStartBytes, "the start"));
  ReadHeader header;
  header.data = sizes.header;
  SHUNT_ASSIGN(header.sequence, read_sequence(reader));
  if (reader.remaining() != 0)
    return gguf::bad_at(reader.position(), "{} bytes too many", reader.remaining());
  const std::uint64_t data = file.size - sizes.header - kChecksumBytes;
  if (!has_data_bytes(header.sequence, data)) {
    return gguf::bad_at(bytes.size(), "{} bytes of data are not those of {} in {}", data,
                        counted(static_cast<std::uint64_t>(header.sequence.cached), "row"),
                        counted(header.sequence.caches.size(), "cache"));
  }
  return header;
}

Status check_data(const SavedBytes& file, const ReadHeader& header) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
  const std::uint64_t end = file.size - kChecksumBytes;
  std::vector<std::byte> piece(to_size(std::min(kPiece, end - header.data)));
  Xxh64 hash;
  for (std::uint64_t at = header.data; at < end;) {
    const auto part =
        std::span(piece).first(to_size(std::min<std::uint64_t>(piece.size(), end - at)));
    SHUNT_TRY(file.read(at, part));
    hash.add(part);
    at += part.size();
  }
  std::array<std::byte, kChecksumBytes> checksum;
  SHUNT_TRY(file.read(end, checksum));
  if (hash.value() == load_little<std::uint64_t>(checksum.data())) return ok();
  return gguf::bad_at(to_size(header.data), "the data are damaged: their checksum is another one");
}

}  // namespace shunt
