// GGUF images put together byte by byte, so that tests can choose the exact contents of a file,
// right or wrong. Knows nothing of Writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::test {

/// The numbers of the format, spelled out again.
enum GgufType : std::uint32_t {
  kGgufU8 = 0,
  kGgufI8 = 1,
  kGgufU16 = 2,
  kGgufI16 = 3,
  kGgufU32 = 4,
  kGgufI32 = 5,
  kGgufF32 = 6,
  kGgufBool = 7,
  kGgufString = 8,
  kGgufArray = 9,
  kGgufU64 = 10,
  kGgufI64 = 11,
  kGgufF64 = 12,
};

/// Bytes that grow at the end; numbers are little-endian.
class Bytes {
 public:
  Bytes& u8(std::uint64_t value) { return number(value, 1); }
  Bytes& u16(std::uint64_t value) { return number(value, 2); }
  Bytes& u32(std::uint64_t value) { return number(value, 4); }
  Bytes& u64(std::uint64_t value) { return number(value, 8); }
  Bytes& f32(float value);
  Bytes& f64(double value);
  Bytes& text(std::string_view characters);
  /// Its length in 64 bits, then its characters.
  Bytes& string(std::string_view characters);
  Bytes& zeros(std::size_t count);
  Bytes& pad(std::size_t alignment);
  Bytes& append(const Bytes& other);

  std::span<const std::byte> span() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }

 private:
  Bytes& number(std::uint64_t value, std::size_t bytes);

  std::vector<std::byte> bytes_;
};

/// One metadata entry.
Bytes gguf_entry(std::string_view key, std::uint32_t type, const Bytes& value);
/// The value of an array.
Bytes gguf_array(std::uint32_t type, std::uint64_t count, const Bytes& elements);
/// One entry of the list of tensors.
Bytes gguf_tensor(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                  std::uint64_t offset);

/// The first 24 bytes.
Bytes gguf_header(std::uint32_t version, std::uint64_t tensors, std::uint64_t entries);

/// The parts of a file; with the defaults an empty but right one.
struct GgufParts {
  std::uint32_t version = 3;
  std::vector<Bytes> entries = {};
  std::vector<Bytes> tensors = {};
  std::size_t alignment = 32;
  Bytes data = {};  ///< begins at the next multiple of the alignment, if there are tensors
};
Bytes gguf_file(const GgufParts& parts);

/// A small right file: values of every type, two tensors ("a": F32 [4, 2] at 0, "b": Q8_0 [32] at
/// 32).
Bytes gguf_sample();

/// A folder of its own that is removed with everything in it.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const { return path_; }
  /// Writes a file there and returns its path.
  std::string write(std::string_view name, std::span<const std::byte> bytes) const;
  /// Names of the folder's entries, sorted.
  std::vector<std::string> list() const;

 private:
  std::string path_;
};

}  // namespace shunt::test
