#include "cuda/driver/host_access.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace cuda_twin {
namespace {

using Transfer = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                             unsigned long);

enum class Moved { kAll, kFault, kUnavailable };

/// A system call that reports an address that is not mapped, where a plain copy would end the
/// process.
Moved move(Transfer transfer, void* here, void* there, std::uint64_t bytes) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t part = std::min(bytes - done, kMost);
    iovec local{static_cast<char*>(here) + done, part};
    iovec remote{static_cast<char*>(there) + done, part};
    const ssize_t moved = transfer(getpid(), &local, 1, &remote, 1, 0);
    if (moved <= 0) return errno == EFAULT || done > 0 ? Moved::kFault : Moved::kUnavailable;
    done += static_cast<std::uint64_t>(moved);
  }
  return Moved::kAll;
}

struct HostMapping {
  std::uint64_t begin = 0, end = 0;
  HostAccess access = HostAccess::kNone;
};

/// A line of /proc/self/maps: "7f0000000000-7f0000001000 r--p ...".
bool parse_host_mapping(const char* line, HostMapping& mapping) {
  char* rest = nullptr;
  mapping.begin = std::strtoull(line, &rest, 16);
  if (*rest != '-') return false;
  mapping.end = std::strtoull(rest + 1, &rest, 16);
  if (std::strlen(rest) < 3) return false;
  const bool reads = rest[1] == 'r';
  const bool writes = rest[2] == 'w';
  mapping.access = !reads ? HostAccess::kNone : writes ? HostAccess::kReadWrite : HostAccess::kRead;
  return true;
}

}  // namespace

bool read_host(void* to, std::uint64_t from, std::uint64_t bytes) {
  void* const there = reinterpret_cast<void*>(from);
  const Moved moved = move(process_vm_readv, to, there, bytes);
  if (moved == Moved::kUnavailable) std::memcpy(to, there, bytes);
  return moved != Moved::kFault;
}

bool gather_host(std::span<const HostPiece> pieces) {
  constexpr std::size_t kMost = 64;
  for (; !pieces.empty(); pieces = pieces.subspan(std::min(kMost, pieces.size()))) {
    iovec local[kMost];
    iovec remote[kMost];
    const std::size_t count = std::min(kMost, pieces.size());
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      local[i] = {pieces[i].to, pieces[i].bytes};
      remote[i] = {reinterpret_cast<void*>(pieces[i].from), pieces[i].bytes};
      bytes += pieces[i].bytes;
    }
    const ssize_t moved = process_vm_readv(getpid(), local, count, remote, count, 0);
    if (moved >= 0 && static_cast<std::uint64_t>(moved) == bytes) continue;
    for (const HostPiece& piece : pieces.first(count)) {
      if (!read_host(piece.to, piece.from, piece.bytes)) return false;
    }
  }
  return true;
}

bool write_host(std::uint64_t to, const void* from, std::uint64_t bytes) {
  void* const there = reinterpret_cast<void*>(to);
  const Moved moved = move(process_vm_writev, const_cast<void*>(from), there, bytes);
  if (moved == Moved::kUnavailable) std::memcpy(there, from, bytes);
  return moved != Moved::kFault;
}

bool is_host_memory(std::uint64_t address, std::uint64_t bytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t begin = address / page * page;
  if (address == 0 || bytes == 0 || address + bytes < address) return false;
  // MS_ASYNC does nothing but look for holes in the range.
  return msync(reinterpret_cast<void*>(begin), address + bytes - begin, MS_ASYNC) == 0;
}

HostAccess host_access(std::uint64_t address, std::uint64_t bytes) {
  if (!is_host_memory(address, bytes)) return HostAccess::kNone;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"),
                                                             &std::fclose);
  HostAccess least = HostAccess::kReadWrite;
  char line[512];
  bool at_start = true;  // of a line: a long one takes several reads
  while (maps != nullptr && std::fgets(line, sizeof line, maps.get()) != nullptr) {
    HostMapping mapping;
    const bool overlaps = at_start && parse_host_mapping(line, mapping) &&
                          mapping.begin < address + bytes && mapping.end > address;
    if (overlaps) least = std::min(least, mapping.access);
    at_start = std::strchr(line, '\n') != nullptr;
  }
  return least;
}

}  // namespace cuda_twin
