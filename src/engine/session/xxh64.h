// XXH64, Yann Collet's hash of bytes (github.com/Cyan4973/xxHash, doc/xxhash_spec.md), with seed 0.
// It finds damage, not forgery.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace shunt {

/// The hash of bytes that come in pieces. The same on every machine.
class Xxh64 {
 public:
  Xxh64();
  void add(std::span<const std::byte> bytes);
  /// Of all bytes so far.
  std::uint64_t value() const;

 private:
  static constexpr std::size_t kStripe = 32;

  void add_stripe(const std::byte* stripe);

  std::array<std::uint64_t, 4> lanes_;
  std::array<std::byte, kStripe> rest_ = {};  ///< bytes after the last whole stripe
  std::size_t rest_size_ = 0;
  std::uint64_t size_ = 0;
};

/// The hash of some bytes.
std::uint64_t xxh64(std::span<const std::byte> bytes);

}  // namespace shunt
