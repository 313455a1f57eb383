// A packed weight that is made of all of its bytes, and so kept aside until they have come.
#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "backend_support/packed_memory.h"

namespace shunt {

/// Written and read as if it were plain, any range. What is written is kept plain until its last
/// byte has come, or until settle(). Thread-safe.
class StagedWeight : public PackedTensor {
 public:
  explicit StagedWeight(std::size_t plain_bytes) : plain_bytes_(plain_bytes) {}
  std::size_t plain_bytes() const final { return plain_bytes_; }
  Status write(std::size_t offset, std::span<const std::byte> from) final;
  /// Of a lossy form, what is read is near what was written, not the same.
  Status read(std::size_t offset, std::span<std::byte> to) final;
  /// Packs what has been written since. True if the packed form has all of its numbers; else the
  /// plain bytes stay, and nobody may compute with the packed form.
  Result<bool> settle();

 protected:
  /// Makes the packed form of plain bytes. False if it can't have all of their numbers.
  virtual Result<bool> pack(std::span<std::byte> plain) = 0;
  /// Makes plain bytes of the packed form, as near as they are.
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
  std::vector<std::byte> plain_;  // what is not in the packed form, or not as it was
  bool packed_ = false;           // the packed form holds something
  bool dirty_ = false;            // but not what was written last
};

}  // namespace shunt
