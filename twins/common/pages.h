// The content of each page that the library wrote, remembered by strict modes: an input which
// another writer changed, or which the library never wrote, is noticed. Buffers begin at page
// borders, and may be cut and shared there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace twin {

inline constexpr std::uint64_t kPageBytes = 4096;

enum class PageState { kAsWritten, kNeverWritten, kChanged };

/// The last page may be shorter.
void remember_pages(const void* buffer, std::uint64_t bytes);
void forget_pages(const void* buffer, std::uint64_t bytes);
void forget_all_pages();
/// That of the first page which is not as written.
PageState state_of_pages(const void* buffer, std::uint64_t bytes);

}  // namespace twin
