// Memory that the library allocates: at a multiple of 4 KiB, poisoned, counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace zdnn_twin {

/// Null if there is none, or a fault was asked for.
void* allocate_pages(std::uint64_t bytes);
/// Frees the result of allocate_pages().
void free_pages(void* pages);

struct FreePages {
  void operator()(void* pages) const { free_pages(pages); }
};
using Pages = std::unique_ptr<void, FreePages>;

}  // namespace zdnn_twin
