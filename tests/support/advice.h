// The system's record of advice about memory (madvise).
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace shunt::test {

/// The system's flags of the memory at a place, each with a space on both sides; nothing if the
/// system does not report them.
inline std::optional<std::string> memory_flags(const void* place) {
  const auto number = reinterpret_cast<std::uintptr_t>(place);
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream range(line);
    if (range >> std::hex >> begin >> dash >> end && dash == '-') {
      inside = number >= begin && number < end;
    } else if (inside && line.starts_with("VmFlags:")) {
      return line + " ";
    }
  }
  return std::nullopt;
}

/// Whether advice gets as far as the system: qemu-user takes most of it, and forgets it.
inline bool advice_arrives() {
  constexpr std::size_t kBytes = 1 << 16;
  void* const pages =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return false;
  ::madvise(pages, kBytes, MADV_RANDOM);
  const auto flags = memory_flags(pages);
  ::munmap(pages, kBytes);
  return flags && flags->find(" rr ") != std::string::npos;
}

}  // namespace shunt::test
