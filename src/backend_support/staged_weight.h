// A packed weight that is made from all of its bytes. They are kept until the last one is written.
#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "backend_support/packed_memory.h"

namespace shunt {

/// Written and read as if it were plain, in any range. Bytes stay plain until the last one is
/// written, or until settle(). Thread-safe.
class StagedWeight : public PackedTensor {
 public:
  explicit StagedWeight(std::size_t plain_bytes) : plain_bytes_(plain_bytes) {}
  std::size_t plain_bytes() const final { return plain_bytes_; }
  Status write(std::size_t offset, std::span<const std::byte> from) final;
  /// From a lossy form, the numbers are near the written ones, not the same.
  Status read(std::size_t offset, std::span<std::byte> to) final;
  /// Packs the bytes that were written since. True if the packed form can represent all numbers;
  /// else the plain bytes stay, and the packed form must not be used.
  Result<bool> settle();

 protected:
  /// Makes the packed form from plain bytes. False if it can't represent all of their numbers.
  virtual Result<bool> pack(std::span<std::byte> plain) = 0;
  /// Makes plain bytes from the packed form, exact unless that is lossy.
  virtual Status unpack(std::span<std::byte> to) const = 0;
  /// Calls work(plain) while nothing is written. `plain` has the bytes; it is empty if the packed
  /// form has them. Invalid if nothing was ever written.
  template <class Work>
  auto look(const Work& work) -> decltype(work(std::span<std::byte>())) {
    const std::lock_guard lock(mutex_);
    SHUNT_TRY(check_written());
    return work(std::span<std::byte>(plain_));
  }

 private:
  Status check_written() const;
  Result<bool> settle_locked();

  const std::size_t plain_bytes_;
  std::mutex mutex_;
  std::vector<std::byte> plain_;  // empty if the packed form is up to date
  bool packed_ = false;           // the packed form holds something
  bool dirty_ = false;            // but not the last bytes written
};

}  // namespace shunt
