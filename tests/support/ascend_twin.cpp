#include "support/ascend_twin.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "test_paths.h"

namespace shunt::test {

AscendTwin::AscendTwin(bool split)
    : path_(split ? SHUNT_TEST_ASCEND_TWIN_9_0 : SHUNT_TEST_ASCEND_TWIN) {
  if (path_.empty()) return;
  library_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library_, nullptr) << dlerror();
  if (!there()) return;
  find<void()>("ascend_twin_reset_settings")();
  restart();
}

AscendTwin::~AscendTwin() {
  if (!there()) return;
  find<void()>("ascend_twin_reset_settings")();
  restart();
  dlclose(library_);
}

template <class F>
F* AscendTwin::find(const char* name) const {
  return reinterpret_cast<F*>(dlsym(library_, name));
}

Options AscendTwin::options() const {
  Options options;
  options.threads = 2;
  options.libraries["cann"] = std::filesystem::path(path_).parent_path().string();
  return options;
}

void AscendTwin::set(const std::string& name, const std::string& value) {
  EXPECT_TRUE(find<bool(const char*, const char*)>("ascend_twin_set")(
      ("ASCEND_TWIN_" + name).c_str(), value.c_str()))
      << name << "=" << value;
}

void AscendTwin::restart() {
  find<void()>("ascend_twin_reset")();
}

std::uint64_t AscendTwin::calls(const char* function) const {
  return find<std::uint64_t(const char*)>("ascend_twin_calls")(function);
}

std::string AscendTwin::last_objection() const {
  return find<const char*()>("ascend_twin_last_objection")();
}

}  // namespace shunt::test
