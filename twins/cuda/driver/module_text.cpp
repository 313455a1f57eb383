// Whether an image is a text that this driver and device take.
#include <algorithm>

#include "cuda/driver/host_access.h"
#include "cuda/driver/modules.h"
#include "cuda/ptx/versions.h"

namespace cuda_twin {

bool read_text(const void* image, std::size_t most, std::string& text) {
  constexpr std::uint64_t kPage = 4096;
  std::uint64_t at = reinterpret_cast<std::uint64_t>(image);
  text.clear();
  while (text.size() <= most) {
    char part[kPage];
    const std::uint64_t bytes = kPage - at % kPage;  // no page beyond the end is touched
    if (!read_host(part, at, bytes)) return false;
    char* const end = std::find(part, part + bytes, '\0');
    text.append(part, end);
    if (end != part + bytes) return text.size() <= most;
    at += bytes;
  }
  return false;
}

ptx::Version newest_ptx(int driver_version) {
  return ptx::newest_version(driver_version);
}

}  // namespace cuda_twin
