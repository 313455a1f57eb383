#include "cli/commands/train_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "shunt/message.h"

namespace shunt::cli {
namespace {

std::string lock_in(const std::string& folder) {
  return folder + "/lock";
}

void remove_leftovers(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name != TrainFolder::kStart && !name.ends_with(".tmp")) continue;
    std::error_code ignored;
    std::filesystem::remove(entry->path(), ignored);
  }
}

/// Whether a path still names an open file.
bool is_still(const std::string& path, const Descriptor& file) {
  struct stat named = {};
  struct stat open = {};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(file.get(), &open) == 0 &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

}  // namespace

std::string TrainFolder::path_of(const std::string& output) {
  const std::filesystem::path path(output);
  return (path.parent_path() / ("." + path.filename().string() + ".shunt-train")).string();
}

Result<TrainFolder> TrainFolder::open(const std::string& output) {
  const std::string folder = path_of(output);
  const std::string path = lock_in(folder);
  // The process before may remove the lock, or the folder, between any two of these calls.
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
      return fail(ErrorCode::kIo, "cannot create {}: {}", folder, system_message(errno));
    }
    Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (lock.get() < 0 && errno == ENOENT) continue;
    if (lock.get() < 0) {
      const std::string reason = system_message(errno);
      ::rmdir(folder.c_str());
      return fail(ErrorCode::kIo, "cannot create {}: {}", path, reason);
    }
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno == EWOULDBLOCK) {
        return fail(ErrorCode::kIo, "{}: another process is training to this file ({} is locked)",
                    output, path);
      }
      // This file system has no locks. Each file is complete at any time all the same.
    }
    if (!is_still(path, lock)) continue;
    remove_leftovers(folder);
    return TrainFolder(folder, std::move(lock));
  }
  return fail(ErrorCode::kIo, "cannot lock {}: other processes keep removing it", path);
}

TrainFolder::~TrainFolder() {
  if (lock_.get() < 0) return;
  ::unlink(lock_in(path_).c_str());
  // NFS keeps an open file in its folder.
  ::close(lock_.release());
  ::rmdir(path_.c_str());  // fails if a checkpoint is there
}

}  // namespace shunt::cli
