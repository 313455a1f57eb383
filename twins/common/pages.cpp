#include "common/pages.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>

namespace twin {
namespace {

struct Remembered {
  std::mutex mutex;
  std::unordered_map<std::uintptr_t, std::uint64_t> digests;  // by a page's address
};

// Never destroyed, as calls may come while the process exits.
Remembered& remembered() {
  alignas(Remembered) static std::byte memory[sizeof(Remembered)];
  static Remembered& all = *new (memory) Remembered;
  return all;
}

// Frees the digests when the library is unloaded. A later call finds none.
struct Release {
  ~Release() {
    const std::scoped_lock lock(remembered().mutex);
    decltype(Remembered::digests)().swap(remembered().digests);
  }
};
const Release release;

std::uint64_t digest(const std::byte* page, std::uint64_t bytes) {
  std::uint64_t sum = 0x9E3779B97F4A7C15;
  for (std::uint64_t at = 0; at < bytes; at += sizeof sum) {
    std::uint64_t word = 0;
    std::memcpy(&word, page + at, static_cast<std::size_t>(std::min(bytes - at, sizeof word)));
    sum = (sum ^ word) * 0xD6E8FEB86659FD93;
    sum ^= sum >> 32;
  }
  return sum;
}

template <class Visit>  // (address, page, its bytes) -> whether to go on
void for_each_page(const void* buffer, std::uint64_t bytes, Visit visit) {
  const auto* begin = static_cast<const std::byte*>(buffer);
  for (std::uint64_t at = 0; at < bytes; at += kPageBytes) {
    const std::byte* page = begin + at;
    if (!visit(reinterpret_cast<std::uintptr_t>(page), page, std::min(bytes - at, kPageBytes)))
      return;
  }
}

}  // namespace

void remember_pages(const void* buffer, std::uint64_t bytes) {
  const std::scoped_lock lock(remembered().mutex);
  for_each_page(buffer, bytes, [](auto address, auto* page, auto size) {
    remembered().digests[address] = digest(page, size);
    return true;
  });
}

void forget_pages(const void* buffer, std::uint64_t bytes) {
  const std::scoped_lock lock(remembered().mutex);
  for_each_page(buffer, bytes, [](auto address, auto*, auto) {
    remembered().digests.erase(address);
    return true;
  });
}

void forget_all_pages() {
  const std::scoped_lock lock(remembered().mutex);
  remembered().digests.clear();
}

PageState state_of_pages(const void* buffer, std::uint64_t bytes) {
  const std::scoped_lock lock(remembered().mutex);
  auto state = PageState::kAsWritten;
  for_each_page(buffer, bytes, [&](auto address, auto* page, auto size) {
    const auto found = remembered().digests.find(address);
    if (found == remembered().digests.end()) {
      state = PageState::kNeverWritten;
    } else if (found->second != digest(page, size)) {
      state = PageState::kChanged;
    }
    return state == PageState::kAsWritten;
  });
  return state;
}

}  // namespace twin
