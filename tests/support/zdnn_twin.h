// The twin of zDNN, for tests: its path, its settings, its counts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "shunt/options.h"
#include "shunt/registry.h"

namespace shunt::test {

/// The twin, which others may have open as well: settings and counts are the same for all. Settings
/// are as they were before when it goes.
class ZdnnTwin {
 public:
  /// `old`: version 1.0 of the library. If there are no twins in this build, it is not there().
  explicit ZdnnTwin(bool old = false);
  ~ZdnnTwin();
  ZdnnTwin(const ZdnnTwin&) = delete;
  ZdnnTwin& operator=(const ZdnnTwin&) = delete;

  bool there() const { return library_ != nullptr; }
  const std::string& path() const { return path_; }
  /// A registry whose zDNN backend has it.
  Options options() const;
  /// Fails the test if there is no such setting.
  void set(const char* name, const char* value);
  std::uint64_t transforms_in() const { return count(0); }
  std::uint64_t transforms_out() const { return count(1); }
  std::uint64_t operations() const { return count(2); }
  std::uint64_t allocations() const { return count(3); }
  std::uint64_t range_violations() const { return count(5); }
  /// Calls that strict mode refused.
  std::uint64_t objections() const { return count(6); }
  std::uint64_t calls(std::uint32_t function) const;
  void reset_counts();

 private:
  void reset();
  std::uint64_t count(std::uint32_t counter) const;
  template <class F>
  F* find(const char* name) const;

  std::string path_;
  void* library_ = nullptr;
};

}  // namespace shunt::test
