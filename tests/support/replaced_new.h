// Replaces operator new and delete of an executable, so that a test sees its allocations. One file
// of an executable includes it, and defines allocate_in_test().
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace shunt::test {

/// Memory for all operators; null: there is none.
void* allocate_in_test(std::size_t size, std::size_t alignment) noexcept;

inline void* allocate_memory(std::size_t size, std::size_t alignment) noexcept {
  // aligned_alloc requires a multiple of the alignment.
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  return alignment <= alignof(std::max_align_t)
             ? std::malloc(size == 0 ? 1 : size)
             : std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
}

inline void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  if (void* memory = allocate_in_test(size, alignment)) return memory;
  throw std::bad_alloc();
}

}  // namespace shunt::test

// Every replaceable form: AddressSanitizer's own forms do not call each other. (Inlined, GCC takes
// the free() in them for a mistake of the caller.)
#define SHUNT_REPLACE_NEW_AND_DELETE(NEW, DELETE)                                                 \
  [[gnu::noinline]] void* NEW(std::size_t size) {                                                 \
    return shunt::test::allocate_or_throw(size, 1);                                               \
  }                                                                                               \
  [[gnu::noinline]] void* NEW(std::size_t size, std::align_val_t alignment) {                     \
    return shunt::test::allocate_or_throw(size, static_cast<std::size_t>(alignment));             \
  }                                                                                               \
  [[gnu::noinline]] void* NEW(std::size_t size, const std::nothrow_t&) noexcept {                 \
    return shunt::test::allocate_in_test(size, 1);                                                \
  }                                                                                               \
  [[gnu::noinline]] void* NEW(std::size_t size, std::align_val_t alignment,                       \
                              const std::nothrow_t&) noexcept {                                   \
    return shunt::test::allocate_in_test(size, static_cast<std::size_t>(alignment));              \
  }                                                                                               \
  [[gnu::noinline]] void DELETE(void* memory) noexcept {                                          \
    std::free(memory);                                                                            \
  }                                                                                               \
  [[gnu::noinline]] void DELETE(void* memory, std::size_t) noexcept {                             \
    std::free(memory);                                                                            \
  }                                                                                               \
  [[gnu::noinline]] void DELETE(void* memory, std::align_val_t) noexcept {                        \
    std::free(memory);                                                                            \
  }                                                                                               \
  [[gnu::noinline]] void DELETE(void* memory, std::size_t, std::align_val_t) noexcept {           \
    std::free(memory);                                                                            \
  }                                                                                               \
  [[gnu::noinline]] void DELETE(void* memory, const std::nothrow_t&) noexcept {                   \
    std::free(memory);                                                                            \
  }                                                                                               \
  [[gnu::noinline]] void DELETE(void* memory, std::align_val_t, const std::nothrow_t&) noexcept { \
    std::free(memory);                                                                            \
  }

SHUNT_REPLACE_NEW_AND_DELETE(operator new, operator delete)
SHUNT_REPLACE_NEW_AND_DELETE(operator new[], operator delete[])
#undef SHUNT_REPLACE_NEW_AND_DELETE
