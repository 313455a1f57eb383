// What a thread does while it waits for others: it asks for the weights that it multiplies next. So
// memory is read while a single thread does the small ops between two products.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "backends/cpu/kernel.h"

namespace shunt::cpu {

/// The bytes that one thread asks for ahead of one launch. They go to the L2 cache, of which they
/// take a part.
class Prefetch {
 public:
  /// At most this many bytes for a launch.
  static constexpr std::size_t kMostBytes = std::size_t{256} << 10;

  Prefetch() = default;
  /// Of part `number` of a launch whose part 0 reads `first`, and whose other parts read what
  /// follows, part by part.
  Prefetch(const StreamedBytes& first, std::size_t number) {
    std::size_t room = kMostBytes / kLine;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      runs_[i] = {first[i].data() + number * first[i].size(),
                  std::min(first[i].size() / kLine, room)};
      room -= runs_[i].lines;
    }
  }

  /// Asks for a few lines, or for nothing if all have been asked for: one run after the other.
  void step() {
    for (Run& run : runs_) {
      if (run.lines == 0) continue;
      const std::size_t here = std::min(kLinesAtOnce, run.lines);
      for (std::size_t i = 0; i < here; ++i) __builtin_prefetch(run.next + i * kLine, 0, 2);
      run.next += here * kLine;
      run.lines -= here;
      return;
    }
  }

 private:
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kLinesAtOnce = 4;
  struct Run {
    const std::byte* next = nullptr;
    std::size_t lines = 0;
  };

  std::array<Run, 2> runs_ = {};
};

}  // namespace shunt::cpu
