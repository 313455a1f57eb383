// A shared library opened while the program runs.
#pragma once

#include <string>

#include "shunt/error.h"

namespace shunt {

/// Closed when destroyed: nothing of it may be in use then.
class DynamicLibrary {
 public:
  /// NotFound with the loader's own words.
  static Result<DynamicLibrary> open(const std::string& path);
  DynamicLibrary(DynamicLibrary&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)) {}
  DynamicLibrary& operator=(DynamicLibrary&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~DynamicLibrary();
  /// The address of a symbol, or null.
  void* find(const char* symbol) const;

 private:
  explicit DynamicLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

/// The folder of the library (or program) that holds the code at `address`; empty if the loader
/// can't tell.
std::string folder_of_code(const void* address);

}  // namespace shunt
