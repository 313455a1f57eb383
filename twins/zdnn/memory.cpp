#include "memory.h"

#include <cstdlib>
#include <cstring>

#include "counts.h"
#include "settings.h"
#include "sticks.h"

namespace zdnn_twin {

void* allocate_pages(std::uint64_t bytes) {
  if (fault_is_due(Setting::kFailAllocation)) return nullptr;
  constexpr std::uint64_t kExtra = kPage + sizeof(void*);
  if (bytes > SIZE_MAX - kExtra) return nullptr;
  void* whole = std::malloc(static_cast<std::size_t>(bytes + kExtra));
  if (whole == nullptr) return nullptr;
  count(ZDNN_TWIN_ALLOCATIONS);
  // The pointer from malloc is stored just below the aligned address.
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(whole) + sizeof(void*);
  auto* pages = static_cast<std::byte*>(whole) + sizeof(void*) + (kPage - first % kPage) % kPage;
  std::memcpy(pages - sizeof whole, static_cast<const void*>(&whole), sizeof whole);
  poison(pages, bytes, 2);
  return pages;
}

void free_pages(void* pages) {
  void* whole = nullptr;
  std::memcpy(static_cast<void*>(&whole), static_cast<std::byte*>(pages) - sizeof whole,
              sizeof whole);
  std::free(whole);
  count(ZDNN_TWIN_FREES);
}

}  // namespace zdnn_twin
