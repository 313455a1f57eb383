/// \file
/// GGUF files of either byte order: read in place (mapped, no copy of weights), checked in full
/// before use, written (little-endian, as other programs expect them). Include it to look into
/// model files, or to write them. Model::load() (engine.h) reads a model without it.
///
/// \code
/// SHUNT_ASSIGN(const gguf::File file, gguf::File::open("model.gguf"));
/// SHUNT_ASSIGN(const std::string architecture, file.get_string("general.architecture"));
/// for (const gguf::TensorInfo& each : file.tensors()) {
///   std::cout << each.name << ": " << to_string(each.tensor) << "\n";
/// }
/// \endcode
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "shunt/error.h"
#include "shunt/tensor.h"

/// GGUF files.
namespace shunt::gguf {

/// Metadata value types; the numbers are the format's.
enum class ValueType : std::uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};
/// The name of a type of values, for messages.
std::string_view to_string(ValueType type);

struct Array;
/// A metadata value: unsigned integers of all widths are kept as uint64, signed ones as int64,
/// floats as double.
struct Value {
  ValueType type = ValueType::kU32;
  std::variant<std::uint64_t, std::int64_t, double, bool, std::string, std::shared_ptr<const Array>>
      data;
};
/// An array of one element type. Numbers and strings are kept apart, so that a vocabulary of
/// 200,000 strings is not 200,000 variants. Arrays of arrays are refused when read.
struct Array {
  ValueType type = ValueType::kU32;
  std::vector<std::string> strings;  ///< if type is kString
  std::vector<double> floats;        ///< if type is kF32 or kF64
  std::vector<std::int64_t>
      integers;  ///< every other type; kU64 values over 2^63-1 are refused when read
  /// Number of elements.
  std::size_t size() const;
};

/// An entry of the metadata.
struct KeyValue {
  std::string key;
  Value value;
};

/// A tensor as the file describes it. `offset` counts from the start of the file's (part's) data.
struct TensorInfo {
  std::string name;
  Tensor tensor;  ///< contiguous
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t part = 0;                   ///< which part of a file in several
  std::endian order = std::endian::little;  ///< of the file's (part's) numbers
};

/// Options of File::open() and File::parse().
struct ReadOptions {
  /// Read metadata only (for a tokenizer): tensors of types that this build lacks are then no error
  /// and are left out.
  bool metadata_only = false;
};

struct FileState;

/// A GGUF file (all its parts), mapped. Const after open, cheap to copy: may be used from many
/// threads. The mapping lives as long as any copy of the File or of mapping(part). The file on disk
/// must not be made shorter meanwhile. Data are in the file's byte order: see convert_byte_order()
/// in tensor.h.
class File {
 public:
  /// Opens and checks `path`. If it is the first part of several ("NAME-00001-of-00003.gguf" with
  /// split.count), opens all; metadata are then the first part's. NotFound, Io, BadFile,
  /// Unsupported or, for another part than the first, InvalidArgument, each naming the file, the
  /// place in it and the expected content.
  static Result<File> open(const std::string& path, const ReadOptions& options = {});
  /// The same on bytes in memory, which must outlive the File. Messages use `name` as the file's
  /// name.
  static Result<File> parse(std::span<const std::byte> bytes, const std::string& name,
                            const ReadOptions& options = {});

  /// As it was opened; after parse() the name for messages.
  const std::string& path() const;
  /// Of the format, as the file states it.
  std::uint32_t version() const;
  std::endian byte_order() const;  ///< the first part's
  /// Bytes; offsets of tensors are multiples of it.
  std::uint64_t alignment() const;
  /// All entries, in the order of the file. Valid as long as the File.
  std::span<const KeyValue> metadata() const;
  /// All tensors, part by part. Valid as long as the File.
  std::span<const TensorInfo> tensors() const;
  /// The tensor with a name; null if there is none.
  const TensorInfo* find_tensor(std::string_view name) const;
  /// 1 for a file that is not split.
  std::size_t part_count() const;
  std::size_t file_bytes() const;  ///< of all parts

  /// The bytes of a tensor's data, inside the mapping; none for a tensor that is not this file's.
  std::span<const std::byte> data(const TensorInfo& info) const;
  /// The whole mapped part, and the object that keeps it mapped (null after parse(): the bytes are
  /// the caller's).
  std::span<const std::byte> part_bytes(std::uint32_t part) const;
  /// Keeps a part mapped as long as it lives: see part_bytes().
  std::shared_ptr<const void> mapping(std::uint32_t part) const;

  // Metadata by key. A key that is missing is NotFound; one of another kind is BadFile; both name
  // key and file.
  /// The value of a key; null if there is none.
  const Value* find(std::string_view key) const;
  /// A text. NotFound without the key; BadFile for a value of another kind, naming key and file.
  Result<std::string> get_string(std::string_view key) const;
  Result<std::int64_t> get_integer(std::string_view key) const;  ///< any integer type
  Result<double> get_number(std::string_view key) const;         ///< any integer or float type
  /// A truth value, with the errors of get_string().
  Result<bool> get_bool(std::string_view key) const;
  /// An array of elements like `element`: any integer type is as good as another, so are the float
  /// types.
  Result<std::shared_ptr<const Array>> get_array(std::string_view key, ValueType element) const;
  // The same for keys that may be missing: then `fallback`.
  /// As get_string(), but a missing key gives `fallback`.
  Result<std::string> get_string_or(std::string_view key, std::string fallback) const;
  /// As get_integer(), but a missing key gives `fallback`.
  Result<std::int64_t> get_integer_or(std::string_view key, std::int64_t fallback) const;
  /// As get_number(), but a missing key gives `fallback`.
  Result<double> get_number_or(std::string_view key, double fallback) const;
  /// As get_bool(), but a missing key gives `fallback`.
  Result<bool> get_bool_or(std::string_view key, bool fallback) const;

  /// How open() and parse() make one.
  explicit File(std::shared_ptr<const FileState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<const FileState> state_;
};

/// Writes a little-endian GGUF v3 file, data tensor by tensor, so that a large file is never in
/// memory as a whole. Invalid metadata (a key twice, a value not of its type) are errors of
/// write().
class Writer {
 public:
  /// Adds an entry to the metadata; a value that does not match its type fails write().
  void add(std::string key, Value value);
  void add_string(std::string key, std::string value);
  void add_u32(std::string key, std::uint32_t value);
  void add_f32(std::string key, float value);
  void add_bool(std::string key, bool value);
  void add_array(std::string key, Array value);
  /// Declares a tensor; data follow in this order. Invalid unless contiguous, of fixed size and not
  /// empty.
  Status add_tensor(std::string name, const Tensor& tensor);

  /// Gives the bytes of tensor `index`, exactly its size, little-endian; called once a tensor, in
  /// order. They must stay until the next call.
  using Data = std::function<Result<std::span<const std::byte>>(std::size_t index)>;
  /// Writes a temporary file in the same folder and renames it to `path` at the end: there is never
  /// a half-written file under the final name. `alignment` is a power of two of at least 8; one
  /// other than 32 is added to the metadata.
  Status write(const std::string& path, const Data& data, std::uint32_t alignment = 32) const;

  /// Takes the next bytes of a tensor.
  using Sink = std::function<Status(std::span<const std::byte> bytes)>;
  /// Hands all bytes of tensor `index` to `sink`, in any number of pieces; else as Data.
  using Pieces = std::function<Status(std::size_t index, const Sink& sink)>;
  /// The same for tensors that are too large to be in memory whole.
  Status write_pieces(const std::string& path, const Pieces& pieces,
                      std::uint32_t alignment = 32) const;

  /// The bytes of a file up to the data of tensors, for File::parse() with
  /// ReadOptions::metadata_only. Errors are those of write().
  Result<std::vector<std::byte>> header() const;

 private:
  std::vector<KeyValue> metadata_;
  std::vector<TensorInfo> tensors_;
};

/// `text` in single quotes. Bytes that are not printable UTF-8 (control and direction characters,
/// broken sequences), quotes and backslashes are written as \\xNN. Only the first `max_bytes` of
/// the text are used, and "..." stands for the rest.
std::string printable(std::string_view text, std::size_t max_bytes = 100);

/// The paths of all parts of the split model that `path` ("PREFIX-00002-of-00003.gguf") is a part
/// of; for any other name, `path` alone. The files need not exist.
std::vector<std::string> part_paths(const std::string& path);

}  // namespace shunt::gguf
