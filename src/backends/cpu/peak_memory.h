// Memory to be read, larger than any cache.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "shunt/error.h"

namespace shunt::cpu {

class PeakMemory {
 public:
  /// Nothing is in it yet: a page is where the thread that first writes to it runs. In 2 MiB pages
  /// where the system offers them. OutOfMemory, also if it would be more than the system has left.
  static Result<std::unique_ptr<PeakMemory>> create(std::size_t bytes);
  ~PeakMemory();
  PeakMemory(const PeakMemory&) = delete;
  PeakMemory& operator=(const PeakMemory&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }
  /// Of this process now in 2 MiB pages.
  static std::size_t bytes_in_huge_pages();

 private:
  PeakMemory(std::span<std::byte> mapped, std::span<std::byte> bytes)
      : mapped_(mapped), bytes_(bytes) {}
  std::span<std::byte> mapped_;
  std::span<std::byte> bytes_;  // of these, those from the first edge of a large page on
};

}  // namespace shunt::cpu
