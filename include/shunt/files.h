/// \file
/// Writing files so that a name never stands for half of a file. A file is written without a name,
/// and takes its name once all of it is on the disk.
///
/// \code
/// SHUNT_TRY(write_file("report.json", text, WriteTo::kAnything));
/// \endcode
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "shunt/error.h"

namespace shunt {

/// Closes a file descriptor when it goes out of scope; -1 is none.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&&) = delete;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  int get() const { return number_; }
  /// Gives up the descriptor without closing it.
  int release() {
    const int number = number_;
    number_ = -1;
    return number;
  }

 private:
  int number_;
};

/// The system's text for an errno: "No such file or directory".
std::string system_message(int error_number);

/// The kinds of files that may be at a path already: only a regular file, or also a pipe or a
/// device, which is then written in place.
enum class WriteTo : std::uint8_t { kFile, kAnything };

/// A file without a name in the folder of `path`, which takes that name in commit(). Nothing is
/// left of it if the process fails or is killed before. Where the file system has no files without
/// a name, and after close(), it is a temporary file ".shunt-PID-N.tmp", which the destructor
/// removes. Links are followed and stay. A file that is replaced keeps its permissions.
class OutputFile {
 public:
  /// NotFound if there is no such folder, Io if nothing can be written there or `path` is a folder
  /// or another thing that may not be written to.
  static Result<OutputFile> create(const std::string& path, WriteTo target);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  /// Io with the path and the system's reason (a full disk, say).
  Status write(std::span<const std::byte> bytes);
  Status write_zeros(std::uint64_t count);
  /// Waits until the bytes are on the disk, and gives up the descriptor; for one of many files.
  /// Nothing can be written any more. A file that is written in place stays open.
  Status close();
  /// Waits until the bytes are on the disk, then gives the file its name.
  Status commit();

  /// The file that gets its name in commit(), at the end of links.
  const std::string& path() const { return path_; }
  /// Whether `path` itself is written, such as a pipe.
  bool in_place() const { return in_place_; }
  std::uint64_t size() const { return size_; }

 private:
  OutputFile(std::string path, std::string temporary, Descriptor file, bool in_place);
  Error failure(std::string_view action) const;
  /// Gives a file without a name its own if that is free, else a temporary one.
  Status name_it();
  Status take_temporary_name();
  Status close_descriptor();

  std::string path_;
  std::string temporary_;  ///< empty if there is nothing to remove
  Descriptor file_;
  bool in_place_ = false;
  std::uint64_t size_ = 0;
};

/// Writes a whole file; the errors of OutputFile.
Status write_file(const std::string& path, std::string_view text, WriteTo target);

/// Whether a path leads to a file that a process has open, as /dev/stdout does.
bool is_open_file(const std::string& path);

}  // namespace shunt
