// The CBLAS library of the tests, in copies: each is a library of its own to the loader, as one
// that a process has loaded stays there.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/dynamic_library.h"
#include "shunt/options.h"
#include "test_paths.h"

namespace shunt::test {

class TestBlas {
 public:
  /// `library`: SHUNT_TEST_BLAS or one of its variants. The copy is called `name`.
  explicit TestBlas(const std::string& library = SHUNT_TEST_BLAS,
                    const std::string& name = "libopenblas.so.0") {
    static int number = 0;
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("test_blas_" + std::to_string(::getpid()) + "_" + std::to_string(number++));
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / name).string();
    std::filesystem::copy_file(library, path_);
  }
  ~TestBlas() {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }
  TestBlas(const TestBlas&) = delete;
  TestBlas& operator=(const TestBlas&) = delete;

  const std::string& path() const { return path_; }
  std::string folder() const { return folder_.string(); }
  Options options() const {
    Options options;
    options.threads = 2;
    options.libraries["blas"] = path_;
    return options;
  }
  /// One of its counters: "test_blas_threads".
  int count(const char* function) const {
    const auto library = DynamicLibrary::open(path_);
    if (!library) return -1;
    const auto counter = reinterpret_cast<int (*)()>(library->find(function));
    return counter == nullptr ? -1 : counter();
  }
  /// Lets its next calls wait until as many are under way.
  void gather(int calls) const { call_with("test_blas_gather", calls); }
  /// Calls one of its functions: "openblas_set_num_threads".
  void call_with(const char* function, int value) const {
    const auto library = DynamicLibrary::open(path_);
    ASSERT_TRUE(library) << library.error().message();
    const auto set = reinterpret_cast<void (*)(int)>(library->find(function));
    ASSERT_NE(set, nullptr) << function;
    set(value);
  }

 private:
  std::filesystem::path folder_;
  std::string path_;
};

}  // namespace shunt::test
