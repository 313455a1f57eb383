// Whether an image is a text that this driver and device take.
#include <algorithm>

#include "cuda/driver/host_access.h"
#include "cuda/driver/modules.h"

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
  struct Row {
    int driver;
    ptx::Version ptx;
  };
  // From the release notes of PTX.
  constexpr Row kRows[] = {{13000, {9, 0}}, {12090, {8, 8}}, {12080, {8, 7}}, {12070, {8, 6}},
                           {12050, {8, 5}}, {12040, {8, 4}}, {12030, {8, 3}}, {12020, {8, 2}},
                           {12010, {8, 1}}, {12000, {8, 0}}, {11080, {7, 8}}, {11070, {7, 7}},
                           {11060, {7, 6}}, {11050, {7, 5}}, {11040, {7, 4}}, {11030, {7, 3}},
                           {11020, {7, 2}}, {11010, {7, 1}}};
  for (const Row& row : kRows) {
    if (driver_version >= row.driver) return row.ptx;
  }
  return {7, 0};
}

}  // namespace cuda_twin
