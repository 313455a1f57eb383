// Tensors in the machine's layout that hold one number all over. They replace scalars, which the
// machine does not take.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>

#include "backends/zdnn/outcome.h"
#include "backends/zdnn/stick.h"
#include "base/aligned_bytes.h"

namespace shunt::zdnn {

/// One of a device, for all its streams. Tensors that were made stay. Rows are in a longer row that
/// starts like them, and columns in a longer column, of a power of two. So all lengths of a number
/// together take at most four times the memory of the longest one.
class Constants {
 public:
  explicit Constants(const Machine& machine) : machine_(machine) {}
  /// `status`: the library's, if it can't be made (then null, like where there is no memory).
  const Ztensor* find(const Dims& dims, float value, std::uint32_t& status);
  /// Of all tensors that were made. Takes no lock.
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, float>;

  /// Memory filled with the number, as for these dimensions; null if there is none.
  std::byte* filled(const Dims& dims, float value, std::uint32_t& status);

  const Machine& machine_;
  std::mutex mutex_;
  std::map<Key, AlignedBytes> memory_;
  std::map<Key, Stick> made_;
  std::atomic<std::uint64_t> bytes_ = 0;
};

}  // namespace shunt::zdnn
