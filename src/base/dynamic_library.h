// A shared library opened while the program runs.
#pragma once

#include <cstdint>
#include <string>

#include "shunt/error.h"

namespace shunt {

/// Closed when destroyed: nothing of it may be in use then.
class DynamicLibrary {
 public:
  /// When the functions that a library calls itself are looked up.
  enum class Binding : std::uint8_t {
    kNow,   ///< when it is opened: one that is missing is an error then
    kLazy,  ///< at their first call: a missing one that is never called is no error
  };
  /// NotFound with the loader's own words. A path without a slash is searched as the loader does.
  static Result<DynamicLibrary> open(const std::string& path, Binding binding = Binding::kNow);
  /// Whether the process has such a library already. Opens nothing.
  static bool is_loaded(const std::string& path);
  DynamicLibrary(DynamicLibrary&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)) {}
  DynamicLibrary& operator=(DynamicLibrary&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~DynamicLibrary();
  /// The address of a symbol, or null.
  void* find(const char* symbol) const;
  /// The file that the loader has found, with links resolved; empty if that is unknown.
  std::string path() const;

 private:
  explicit DynamicLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

/// The folder of the library (or program) that holds the code at `address`; empty if that is
/// unknown.
std::string folder_of_code(const void* address);

}  // namespace shunt
