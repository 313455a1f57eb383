#include "engine/session/xxh64.h"

#include <algorithm>
#include <bit>

#include "tensor/byte_order.h"

namespace shunt {

namespace {

constexpr std::uint64_t kXxhPrime1 = 0x9e3779b185ebca87;
constexpr std::uint64_t kXxhPrime2 = 0xc2b2ae3d27d4eb4f;
constexpr std::uint64_t kXxhPrime3 = 0x165667b19e3779f9;
constexpr std::uint64_t kXxhPrime4 = 0x85ebca77c2b2ae63;
constexpr std::uint64_t kXxhPrime5 = 0x27d4eb2f165667c5;

std::uint64_t round_of(std::uint64_t lane, std::uint64_t word) {
  return std::rotl(lane + word * kXxhPrime2, 31) * kXxhPrime1;
}

/// The last bytes, fewer than a stripe.
std::uint64_t add_rest(std::uint64_t hash, std::span<const std::byte> rest) {
  for (; rest.size() >= 8; rest = rest.subspan(8)) {
    hash ^= round_of(0, load_little<std::uint64_t>(rest.data()));
    hash = std::rotl(hash, 27) * kXxhPrime1 + kXxhPrime4;
  }
  if (rest.size() >= 4) {
    hash ^= load_little<std::uint32_t>(rest.data()) * kXxhPrime1;
    hash = std::rotl(hash, 23) * kXxhPrime2 + kXxhPrime3;
    rest = rest.subspan(4);
  }
  for (const std::byte byte : rest)
    hash = std::rotl(hash ^ (std::to_integer<std::uint64_t>(byte) * kXxhPrime5), 11) * kXxhPrime1;
  return hash;
}

}  // namespace

Xxh64::Xxh64() : lanes_{kXxhPrime1 + kXxhPrime2, kXxhPrime2, 0, 0 - kXxhPrime1} {}

void Xxh64::add_stripe(const std::byte* stripe) {
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    lanes_[i] = round_of(lanes_[i], load_little<std::uint64_t>(stripe + 8 * i));
}

void Xxh64::add(std::span<const std::byte> bytes) {
  size_ += bytes.size();
  if (rest_size_ > 0) {
    const std::size_t count = std::min(bytes.size(), kStripe - rest_size_);
    std::ranges::copy(bytes.first(count), rest_.data() + rest_size_);
    rest_size_ += count;
    bytes = bytes.subspan(count);
    if (rest_size_ < kStripe) return;
    add_stripe(rest_.data());
    rest_size_ = 0;
  }
  for (; bytes.size() >= kStripe; bytes = bytes.subspan(kStripe)) add_stripe(bytes.data());
  std::ranges::copy(bytes, rest_.data());
  rest_size_ = bytes.size();
}

std::uint64_t Xxh64::value() const {
  std::uint64_t hash = kXxhPrime5;
  if (size_ >= kStripe) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
           std::rotl(lanes_[3], 18);
    for (const std::uint64_t lane : lanes_)
      hash = (hash ^ round_of(0, lane)) * kXxhPrime1 + kXxhPrime4;
  }
  hash = add_rest(hash + size_, std::span(rest_).first(rest_size_));
  hash = (hash ^ (hash >> 33)) * kXxhPrime2;
  hash = (hash ^ (hash >> 29)) * kXxhPrime3;
  return hash ^ (hash >> 32);
}

std::uint64_t xxh64(std::span<const std::byte> bytes) {
  Xxh64 hash;
  hash.add(bytes);
  return hash.value();
}

}  // namespace shunt
