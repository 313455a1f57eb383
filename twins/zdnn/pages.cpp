#include "pages.h"

#include <cstring>
#include <mutex>
#include <unordered_map>

#include "sticks.h"

namespace zdnn_twin {
namespace {

struct Remembered {
  std::mutex mutex;
  std::unordered_map<std::uintptr_t, std::uint64_t> digests;  // by a page's address
};

Remembered& remembered() {
  static Remembered all;
  return all;
}

std::uint64_t digest(const std::byte* page) {
  std::uint64_t sum = 0x9E3779B97F4A7C15;
  for (std::uint64_t at = 0; at < kPage; at += sizeof sum) {
    std::uint64_t word = 0;
    std::memcpy(&word, page + at, sizeof word);
    sum = (sum ^ word) * 0xD6E8FEB86659FD93;
    sum ^= sum >> 32;
  }
  return sum;
}

template <class Visit>  // (address, page) -> whether to go on
void for_each_page(const void* buffer, std::uint64_t bytes, Visit visit) {
  const auto* begin = static_cast<const std::byte*>(buffer);
  for (std::uint64_t at = 0; at < bytes; at += kPage)
    if (!visit(reinterpret_cast<std::uintptr_t>(begin + at), begin + at)) return;
}

}  // namespace

void remember_pages(const void* buffer, std::uint64_t bytes) {
  const std::scoped_lock lock(remembered().mutex);
  for_each_page(buffer, bytes, [](std::uintptr_t address, const std::byte* page) {
    remembered().digests[address] = digest(page);
    return true;
  });
}

void forget_pages(const void* buffer, std::uint64_t bytes) {
  const std::scoped_lock lock(remembered().mutex);
  for_each_page(buffer, bytes, [](std::uintptr_t address, const std::byte*) {
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
  for_each_page(buffer, bytes, [&](std::uintptr_t address, const std::byte* page) {
    const auto found = remembered().digests.find(address);
    if (found == remembered().digests.end()) {
      state = PageState::kNeverWritten;
    } else if (found->second != digest(page)) {
      state = PageState::kChanged;
    }
    return state == PageState::kAsWritten;
  });
  return state;
}

}  // namespace zdnn_twin
