// The files next to the repository, ../shared: models, vocabularies, expected values. A checkout
// may lack them; a test that needs them is then skipped with a message.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace shunt::test {

/// Where a file of ../shared is: shared_path("data/models/stories260K.gguf").
std::string shared_path(std::string_view name);
bool has_shared(std::string_view name);
/// A file's bytes; throws if it can't be read.
std::string read_file(const std::string& path);

}  // namespace shunt::test

/// Skips the test, naming the file, if ../shared lacks it. (Only a macro can end the test.)
#define SHUNT_NEED_SHARED(name)                                                               \
  if (!::shunt::test::has_shared(name)) {                                                     \
    GTEST_SKIP() << ::shunt::test::shared_path(name) << " is not there: this is NOT TESTED."; \
  }                                                                                           \
  static_assert(true, "")
