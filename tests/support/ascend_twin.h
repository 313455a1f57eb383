// The twin of CANN, for tests: its path, its settings, its counts.
#pragma once

#include <cstdint>
#include <string>

#include "shunt/options.h"

namespace shunt::test {

/// The twin as after its start. The constructor drops all earlier state. It must outlive all
/// registries that use it.
class AscendTwin {
 public:
  /// `split`: the libraries of CANN 9. If there is no twin in this build, it is not there().
  explicit AscendTwin(bool split = false);
  ~AscendTwin();
  AscendTwin(const AscendTwin&) = delete;
  AscendTwin& operator=(const AscendTwin&) = delete;

  bool there() const { return library_ != nullptr; }
  /// A registry whose CANN backend has it.
  Options options() const;
  /// Fails the test if there is no such setting. "PROFILE" is ASCEND_TWIN_PROFILE.
  void set(const std::string& name, const std::string& value);
  /// Drops all objects; settings stay. Not while a registry has the twin.
  void restart();
  /// Calls of an exported function since the start.
  std::uint64_t calls(const char* function) const;
  /// The last objection of strict mode; empty if there was none.
  std::string last_objection() const;

 private:
  template <class F>
  F* find(const char* name) const;

  std::string path_;
  void* library_ = nullptr;
};

}  // namespace shunt::test
