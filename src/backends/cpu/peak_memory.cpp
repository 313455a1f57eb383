#include "backends/cpu/peak_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <limits>
#include <string>

#include "base/available_memory.h"
#include "base/file.h"
#include "shunt/message.h"

namespace shunt::cpu {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

Result<std::unique_ptr<PeakMemory>> PeakMemory::create(std::size_t bytes) {
  const auto refuse = [&](const std::string& reason) {
    return fail(ErrorCode::kOutOfMemory,
                "can't allocate {} bytes to measure the memory bandwidth: {}", bytes, reason);
  };
  // The system would grant it, and end some process when it is written to.
  const auto left = available_memory();
  if (left && *left < bytes) return refuse(fmt::format("{} are available", *left));
  if (bytes > std::numeric_limits<std::size_t>::max() - kHugePage) return refuse("too many");
  const std::size_t mapped = bytes + kHugePage;
  void* start = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return refuse(system_message(errno));
  auto* first = static_cast<std::byte*>(start);
  const std::size_t over = reinterpret_cast<std::uintptr_t>(first) % kHugePage;
  std::byte* aligned = first + (over == 0 ? 0 : kHugePage - over);
  ::madvise(aligned, bytes, MADV_HUGEPAGE);  // a wish: without it there are more, smaller pages
  return std::unique_ptr<PeakMemory>(new PeakMemory({first, mapped}, {aligned, bytes}));
}

PeakMemory::~PeakMemory() {
  ::munmap(mapped_.data(), mapped_.size());
}

std::size_t PeakMemory::bytes_in_huge_pages() {
  return read_kilobytes("/proc/self/smaps_rollup", "AnonHugePages:").value_or(0);
}

}  // namespace shunt::cpu
