// Safetensors files: a header of JSON, then the bytes of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "convert/stored_type.h"
#include "shunt/error.h"

namespace shunt {

/// A tensor of a safetensors file.
struct StoredTensor {
  std::string name;
  StoredType type = StoredType::kF32;
  std::vector<std::int64_t> shape;  ///< outermost first
  std::span<const std::byte> bytes;

  std::int64_t elements() const;
};

/// "F32 [64, 32]", outermost first as the file has it.
std::string to_string(const StoredTensor& tensor);

/// A mapped file, whose header was checked. Data are not touched before they are used.
class SafetensorsFile {
 public:
  /// NotFound, Io, or BadFile, naming file, place and what was expected.
  static Result<SafetensorsFile> open(const std::string& path);
  /// The same of bytes in memory, which must outlive it.
  static Result<SafetensorsFile> parse(std::span<const std::byte> bytes, const std::string& name);

  /// In the order of their data. Valid as long as the file, which may be moved.
  std::span<const StoredTensor> tensors() const { return tensors_; }
  const std::string& path() const { return path_; }
  std::uint64_t file_bytes() const { return file_bytes_; }

 private:
  std::string path_;
  std::uint64_t file_bytes_ = 0;
  std::shared_ptr<const void> mapping_;
  std::vector<StoredTensor> tensors_;
};

}  // namespace shunt
