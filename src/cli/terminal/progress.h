// The progress of long work in percent, on stderr if that is a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace shunt::cli {

/// Bytes of a model that takes long enough to load or write to show progress from the start.
inline constexpr std::uint64_t kLargeModel = std::uint64_t{1} << 30;

class Progress {
 public:
  /// Work on at least `large` in all is shown from the start, other work once it takes longer than
  /// a second.
  Progress(std::string what, std::uint64_t large);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::uint64_t done, std::uint64_t total);
  /// Removes the progress from the terminal.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  std::uint64_t large_;
  Clock::time_point start_ = Clock::now();
  bool terminal_;
  int percent_ = -1;  // on the terminal now
};

}  // namespace shunt::cli
