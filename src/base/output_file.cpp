#include "shunt/files.h"

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

#include "shunt/message.h"

namespace shunt {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return path.substr(0, std::max<std::size_t>(slash, 1));
}

/// The end of a chain of links. The end may be missing, or a file that a process has open:
/// replacing that would not reach the process.
struct LinkEnd {
  std::string path;
  bool is_open_file = false;
  bool is_loop = false;
};

LinkEnd follow_links(std::string path) {
  constexpr int kMostLinks = 40;  // as Linux follows
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) return {std::move(path)};  // no link
    const std::filesystem::path folder = std::filesystem::canonical(folder_of(path), error);
    if (!error && folder.string().starts_with("/proc/")) return {std::move(path), true};
    path = target.is_absolute() ? target.string() : folder_of(path) + "/" + target.string();
  }
  return {std::move(path), false, true};
}

/// So that the new name also survives a power failure. Not every file system can; the data are safe
/// anyway.
void sync_folder(const std::string& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() >= 0) ::fsync(opened.get());
}

/// The path by which the system names an open file.
std::string self_path(int file) {
  return fmt::format("/proc/self/fd/{}", file);
}

/// The first name in a folder for which `take` succeeds. `take` fails with EEXIST in errno where
/// the name is taken. `path`: the path to be created, for errors.
Result<std::string> with_free_name(const std::string& path,
                                   const std::function<bool(const std::string&)>& take) {
  constexpr int kAttempts = 1000;
  const std::string start = fmt::format("{}/.shunt-{}", folder_of(path), ::getpid());
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string name = fmt::format("{}-{}.tmp", start, attempt);
    if (take(name)) return name;
    if (errno == EEXIST) continue;
    const int reason = errno;
    const bool missing = reason == ENOENT || reason == ENOTDIR;
    std::error_code error;
    if (missing && !std::filesystem::is_directory(folder_of(path), error)) {
      return fail(ErrorCode::kNotFound, "cannot create {}: there is no folder {}", path,
                  folder_of(path));
    }
    return fail(missing ? ErrorCode::kNotFound : ErrorCode::kIo, "cannot create {} (as {}): {}",
                path, name, system_message(reason));
  }
  return fail(ErrorCode::kIo, "cannot create {}: {} temporary files such as {}-0.tmp exist already",
              path, kAttempts, start);
}

#ifdef O_TMPFILE
int open_tmpfile(const std::string& path) {
  return ::open(folder_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

bool link_open_file(int file, const std::string& name) {
  return ::linkat(AT_FDCWD, self_path(file).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) ==
         0;
}

/// A file without a name in the folder of `path`, which can get one later; -1 if that is not
/// possible here.
int open_nameless(const std::string& path) {
  // Not all systems that open such files can name them later. A test with an empty name shows it.
  const Descriptor probe(open_tmpfile(path));
  if (probe.get() < 0) return -1;
  const auto named = with_free_name(
      path, [&](const std::string& name) { return link_open_file(probe.get(), name); });
  if (!named) return -1;
  ::unlink(named->c_str());
  return open_tmpfile(path);
}
#else
bool link_open_file(int, const std::string&) {
  errno = EOPNOTSUPP;
  return false;
}

int open_nameless(const std::string&) {
  return -1;
}
#endif

}  // namespace

bool is_open_file(const std::string& path) {
  return follow_links(path).is_open_file;
}

Result<OutputFile> OutputFile::create(const std::string& path, WriteTo target) {
  if (path.empty()) return invalid("the name of the file to write is empty");
  const auto refused = [&](std::string_view reason) {
    return fail(ErrorCode::kIo, "cannot create {}: {}", path, reason);
  };
  const LinkEnd end = follow_links(path);
  if (end.is_loop) return refused(system_message(ELOOP));
  struct stat there = {};
  const bool exists = ::stat(end.path.c_str(), &there) == 0;
  const bool in_place = end.is_open_file || (exists && !S_ISREG(there.st_mode));
  if (in_place) {
    // Checked at the start: work that takes hours must not fail at its end because of the name.
    if (target == WriteTo::kFile) {
      return refused(S_ISDIR(there.st_mode) ? "it is a directory, not a regular file"
                     : end.is_open_file     ? "it is a file that is open already"
                                        : "it is a device, a pipe or a socket, not a regular file");
    }
    // Appends to open files: the shell has already truncated the target of ">", and ">>" keeps the
    // content.
    const int flags = end.is_open_file ? O_WRONLY | O_APPEND : O_WRONLY;
    Descriptor file(::open(path.c_str(), flags | O_CLOEXEC));
    if (file.get() < 0) return refused(system_message(errno));
    return OutputFile(path, {}, std::move(file), true);
  }
  if (exists && ::faccessat(AT_FDCWD, end.path.c_str(), W_OK, AT_EACCESS) != 0) {
    return refused(system_message(errno));
  }
  std::optional<Descriptor> file(std::in_place, open_nameless(end.path));
  std::string temporary;
  if (file->get() < 0) {
    // Not mkstemp, whose files are for their owner only where this one should be as the umask says.
    // An existing file is never opened (O_EXCL).
    SHUNT_ASSIGN(
        temporary, with_free_name(end.path, [&](const std::string& name) {
          file.emplace(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
          return file->get() >= 0;
        }));
  }
  if (exists) ::fchmod(file->get(), there.st_mode & 07777U);
  return OutputFile(end.path, std::move(temporary), std::move(*file), false);
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

Error OutputFile::failure(std::string_view action) const {
  return fail(ErrorCode::kIo, "cannot {} {}: {}", action, path_, system_message(errno));
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  // Small pieces stay in the caches of the CPU while the system copies them. Pieces of 16 MiB of a
  // mapped file take twice as long.
  constexpr std::size_t kMost = std::size_t{256} << 10;
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
  if (link_open_file(file_.get(), path_)) return ok();
  return take_temporary_name();
}

Status OutputFile::take_temporary_name() {
  SHUNT_ASSIGN(temporary_, with_free_name(path_, [&](const std::string& name) {
                 return link_open_file(file_.get(), name);
               }));
  return ok();
}

Status OutputFile::close_descriptor() {
  if (::close(file_.release()) != 0 && errno != EINTR) return failure("write");
  return ok();
}

Status OutputFile::close() {
  if (in_place() || file_.get() < 0) return ok();
  if (::fsync(file_.get()) != 0) return failure("write");
  if (temporary_.empty()) SHUNT_TRY(take_temporary_name());
  return close_descriptor();
}

Status OutputFile::commit() {
  if (in_place()) return close_descriptor();
  if (file_.get() >= 0) {
    if (::fsync(file_.get()) != 0) return failure("write");
    if (temporary_.empty()) SHUNT_TRY(name_it());
    SHUNT_TRY(close_descriptor());
  }
  if (!temporary_.empty()) {
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return failure("create");
    temporary_.clear();
  }
  sync_folder(folder_of(path_));
  return ok();
}

Status write_file(const std::string& path, std::string_view text, WriteTo target) {
  SHUNT_ASSIGN(OutputFile file, OutputFile::create(path, target));
  SHUNT_TRY(file.write(std::as_bytes(std::span(text))));
  return file.commit();
}

}  // namespace shunt
