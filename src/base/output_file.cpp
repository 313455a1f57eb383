#include "base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include "base/fail.h"

namespace shunt {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return path.substr(0, std::max<std::size_t>(slash, 1));
}

/// Whether a link leads to a file that a process has open, as /dev/stdout does. Renaming another
/// file over it would not reach that process.
bool is_open_file(const std::string& link) {
  std::error_code unreadable;
  const std::string target = std::filesystem::read_symlink(link, unreadable).string();
  return std::ranges::any_of(std::array<std::string_view, 2>{link, target}, [](auto path) {
    return path.starts_with("/dev/") || path.starts_with("/proc/");
  });
}

/// So that the new name, too, survives a power cut. Not every file system can; the data are safe
/// anyway.
void sync_folder(const std::string& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() >= 0) ::fsync(opened.get());
}

/// The path by which the system names an open file.
std::string self_path(int file) {
  return fmt::format("/proc/self/fd/{}", file);
}

/// A file without a name in a folder, which can get one later; -1 if that is not possible here.
int open_nameless(const std::string& folder) {
#ifdef O_TMPFILE
  const int file = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (file >= 0 && ::access(self_path(file).c_str(), F_OK) != 0) {
    ::close(file);
    return -1;
  }
  return file;
#else
  return -1;
#endif
}

/// The first name beside `path` for which `take` succeeds. `take` fails with EEXIST in errno where
/// the name is taken.
Result<std::string> with_free_name(const std::string& path,
                                   const std::function<bool(const std::string&)>& take) {
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string name = fmt::format("{}.{}-{}.tmp", path, ::getpid(), attempt);
    if (take(name)) return name;
    if (errno == EEXIST) continue;
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    return fail(missing ? ErrorCode::kNotFound : ErrorCode::kIo, "cannot create {} (as {}): {}",
                path, name, system_message(errno));
  }
  return fail(ErrorCode::kIo,
              "cannot create {}: {} temporary files of the kind {}.{}-0.tmp are there", path,
              kAttempts, path, ::getpid());
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path, WriteTo target) {
  if (path.empty()) return invalid("the name of the file to write is empty");
  struct stat there = {};
  if (target == WriteTo::kAnything && ::lstat(path.c_str(), &there) == 0 &&
      S_ISLNK(there.st_mode)) {
    // The target of a link is written, and the link stays.
    std::error_code missing;
    const std::string end = std::filesystem::canonical(path, missing).string();
    const bool regular = !missing && ::stat(end.c_str(), &there) == 0 && S_ISREG(there.st_mode);
    if (regular && !is_open_file(path)) return create(end, target);
    // Appends, as the shell has already truncated what ">" leads to, and ">>" keeps the content.
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (file.get() >= 0) return OutputFile(path, {}, std::move(file), true);
    return fail(ErrorCode::kIo, "cannot create {}: {}", path, system_message(errno));
  }
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    // Work that takes hours should not find out at its end that the name can't be had.
    if (target == WriteTo::kFile) {
      return fail(ErrorCode::kIo, "cannot create {}: it is {}, not a regular file", path,
                  S_ISDIR(there.st_mode) ? "a directory" : "a device or the like");
    }
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() >= 0) return OutputFile(path, {}, std::move(file), true);
    return fail(ErrorCode::kIo, "cannot create {}: {}", path, system_message(errno));
  }
  Descriptor nameless(open_nameless(folder_of(path)));
  if (nameless.get() >= 0) return OutputFile(path, {}, std::move(nameless), false);
  // Not mkstemp, whose files are for their owner only where this one should be as the umask says.
  // Someone else's file is never opened (O_EXCL).
  std::optional<Descriptor> file;
  SHUNT_ASSIGN(std::string temporary, with_free_name(path, [&](const std::string& name) {
                 file.emplace(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
                 return file->get() >= 0;
               }));
  return OutputFile(path, std::move(temporary), std::move(*file), false);
}

OutputFile::OutputFile(std::string path, std::string temporary, Descriptor file, bool in_place)
    : path_(std::move(path)),
      temporary_(std::move(temporary)),
      file_(std::move(file)),
      in_place_(in_place) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)),
      in_place_(other.in_place_),
      size_(other.size_) {}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Error OutputFile::failure(std::string_view what) const {
  return fail(ErrorCode::kIo, "cannot {} {}: {}", what, path_, system_message(errno));
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 30;  // systems take no more than 2 GiB at once
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), std::min(bytes.size(), kMost));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      return failure(size_ == 0 ? "write" : fmt::format("write more than {} bytes to", size_));
    size_ += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return ok();
}

Status OutputFile::write_zeros(std::uint64_t count) {
  static constexpr std::array<std::byte, 4096> kZeros = {};
  while (count > 0) {
    const std::uint64_t part = std::min<std::uint64_t>(count, kZeros.size());
    SHUNT_TRY(write(std::span(kZeros).first(static_cast<std::size_t>(part))));
    count -= part;
  }
  return ok();
}

Status OutputFile::name_it() {
  const std::string self = self_path(file_.get());
  SHUNT_ASSIGN(temporary_, with_free_name(path_, [&](const std::string& name) {
                 return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(),
                                 AT_SYMLINK_FOLLOW) == 0;
               }));
  return ok();
}

Status OutputFile::commit() {
  if (in_place()) {
    if (::close(file_.release()) != 0 && errno != EINTR) return failure("write");
    return ok();
  }
  if (::fsync(file_.get()) != 0) return failure("write");
  if (temporary_.empty()) SHUNT_TRY(name_it());
  if (::close(file_.release()) != 0 && errno != EINTR) return failure("write");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return failure("create");
  temporary_.clear();
  sync_folder(folder_of(path_));
  return ok();
}

Status write_file(const std::string& path, std::string_view text, WriteTo target) {
  SHUNT_ASSIGN(OutputFile file, OutputFile::create(path, target));
  SHUNT_TRY(file.write(std::as_bytes(std::span(text))));
  return file.commit();
}

}  // namespace shunt
