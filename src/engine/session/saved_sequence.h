// The file of a saved sequence: tokens, and the content of the caches that belongs to them. Bytes
// only: no model, session or device. docs/internals/engine.md has a table of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/session/xxh64.h"
#include "shunt/files.h"
#include "shunt/tensor.h"

namespace shunt {

/// The way in which the size of a cache depends on tokens.
enum class SavedKind : std::uint32_t {
  kRows = 0,    ///< a row for each token
  kState = 1,   ///< a state of fixed size after the last token with rows
  kWindow = 2,  ///< a row for each of the last tokens with rows
};
/// "rows", "state", "window".
std::string_view to_string(SavedKind kind);

struct SavedCache {
  std::string name;
  SavedKind kind = SavedKind::kRows;
  DType dtype = DType::kF32;
  std::uint64_t row_bytes = 0;
  std::int64_t window = 0;  ///< of kWindow: the tokens that a token sees, with itself
  bool operator==(const SavedCache&) const = default;
};

/// The header of a file.
struct SavedSequence {
  std::uint64_t model = 0;  ///< model_fingerprint()
  std::int64_t cached = 0;  ///< number of first tokens whose rows are in the file
  std::vector<std::int32_t> tokens = {};
  std::vector<SavedCache> caches = {};
  bool operator==(const SavedSequence&) const = default;
};

/// The first token whose row of a cache is in a file.
std::int64_t first_saved_row(const SavedSequence& sequence, const SavedCache& cache);
/// Bytes of a cache in a file. Those of a file that read_header() accepts do not overflow.
std::uint64_t data_bytes(const SavedSequence& sequence, const SavedCache& cache);
/// The first bytes of a file, up to its data.
std::vector<std::byte> write_header(const SavedSequence& sequence);

/// Writes a file: the header, then the data in any number of pieces. The file has its name once all
/// of it is on the disk.
class SavedSequenceWriter {
 public:
  /// The errors of OutputFile.
  static Result<SavedSequenceWriter> create(const std::string& path, const SavedSequence& sequence);
  /// The next bytes of the data, little-endian.
  Status add(std::span<const std::byte> data);
  Status commit();

 private:
  explicit SavedSequenceWriter(OutputFile file) : file_(std::move(file)) {}

  OutputFile file_;
  Xxh64 hash_;
};

/// A file, or bytes in memory.
struct SavedBytes {
  std::uint64_t size = 0;
  /// Reads bytes from an offset on. They end before `size`.
  std::function<Status(std::uint64_t offset, std::span<std::byte> to)> read = {};
};

/// A header, and the place of the data.
struct ReadHeader {
  SavedSequence sequence = {};
  std::uint64_t data = 0;  ///< offset of the first byte after the header
};

/// Reads and checks a header. BadFile, naming the byte, if it is damaged, or if the file's size is
/// not the stated one. Unsupported for another version. Tokens may be any numbers.
Result<ReadHeader> read_header(const SavedBytes& file);
/// Reads all data and compares their checksum. BadFile if it differs.
Status check_data(const SavedBytes& file, const ReadHeader& header);

}  // namespace shunt
