// What strict mode remembers: the content of each page that the library wrote, so that an input
// which somebody else wrote to, or nobody, is noticed. Buffers that hang together may be cut and
// shared at page borders, as zDNN allows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zdnn_twin {

enum class PageState { kAsWritten, kNeverWritten, kChanged };

void remember_pages(const void* buffer, std::uint64_t bytes);
void forget_pages(const void* buffer, std::uint64_t bytes);
void forget_all_pages();
/// The worst of these pages.
PageState state_of_pages(const void* buffer, std::uint64_t bytes);

}  // namespace zdnn_twin
