// Files to be read: in parts, or mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "shunt/error.h"
#include "shunt/files.h"

namespace shunt {

/// A regular file that is read in parts. Unlike a mapped one it may get shorter meanwhile: then
/// reading is an error.
class InputFile {
 public:
  /// NotFound if there is no such file, Io if it cannot be read or is not a regular file; the
  /// message has the path and the system's reason.
  static Result<InputFile> open(const std::string& path);

  /// Bytes, when it was opened.
  std::uint64_t size() const { return size_; }
  int descriptor() const { return file_.get(); }
  /// Reads bytes from an offset on. Io, with the path, if the system fails or the file ends before.
  Status read(std::uint64_t offset, std::span<std::byte> to) const;

 private:
  InputFile(std::string path, Descriptor file, std::uint64_t size)
      : path_(std::move(path)), file_(std::move(file)), size_(size) {}

  std::string path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

/// A regular file's bytes, mapped read-only for as long as this lives. A page is read from disk
/// when it is first touched. The file must not get shorter meanwhile: the system ends a process
/// that reads past its new end.
class MappedFile {
 public:
  /// The errors of InputFile::open(); Io if the system can't map it.
  static Result<MappedFile> open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept : bytes_(other.bytes_) { other.bytes_ = {}; }
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// Empty for an empty file.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

/// Reads a part of a mapped file into memory, so that later accesses don't wait. A hint: data that
/// can't be read now are read when they are used.
void read_ahead(std::span<const std::byte> mapped);
/// From now on using the pages of a part of a mapped file brings no others around them into this
/// process's memory; else that may be 2 MiB each time. Meant for few parts.
void set_apart(std::span<const std::byte> mapped);
/// Takes pages that are wholly in a part of a mapped file out of this process's memory. They stay
/// in the system's for as long as there is room, and come back when they are used.
void let_go(std::span<const std::byte> mapped);

}  // namespace shunt
