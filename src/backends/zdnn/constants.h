// Tensors in the machine's layout that hold one number all over: what stands in for the scalars
// that the machine does not take.
#pragma once

#include <map>
#include <mutex>
#include <tuple>

#include "backends/zdnn/outcome.h"
#include "backends/zdnn/stick.h"
#include "base/aligned_bytes.h"

namespace shunt::zdnn {

/// One of a device, for all its streams. What was made stays: rows and columns, a few pages each.
class Constants {
 public:
  explicit Constants(const Machine& machine) : machine_(machine) {}
  /// `status`: the library's, if it can't be made (then null, like where there is no memory).
  const Ztensor* find(const Dims& dims, float value, std::uint32_t& status);

 private:
  struct Constant {
    AlignedBytes memory;
    Stick stick;
  };
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, float>;

  const Machine& machine_;
  std::mutex mutex_;
  std::map<Key, Constant> made_;
};

}  // namespace shunt::zdnn
