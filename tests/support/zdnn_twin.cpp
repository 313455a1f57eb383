#include "support/zdnn_twin.h"
#include "test_paths.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace shunt::test {

ZdnnTwin::ZdnnTwin(bool old) : path_(old ? SHUNT_TEST_ZDNN_TWIN_1_0 : SHUNT_TEST_ZDNN_TWIN) {
  if (path_.empty()) return;
  library_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library_, nullptr) << dlerror();
  if (there()) reset();
}

ZdnnTwin::~ZdnnTwin() {
  if (!there()) return;
  reset();
  dlclose(library_);
}

void ZdnnTwin::reset() {
  find<void()>("zdnn_twin_reset_settings")();
  find<std::uint32_t()>("zdnn_refresh_nnpa_query_result")();
}

template <class F>
F* ZdnnTwin::find(const char* name) const {
  return reinterpret_cast<F*>(dlsym(library_, name));
}

Options ZdnnTwin::options() const {
  Options options;
  options.threads = 2;
  options.libraries["zdnn"] = path_;
  return options;
}

void ZdnnTwin::set(const char* name, const char* value) {
  EXPECT_TRUE(find<bool(const char*, const char*)>("zdnn_twin_set")(name, value))
      << name << "=" << value;
  find<std::uint32_t()>("zdnn_refresh_nnpa_query_result")();
}

std::uint64_t ZdnnTwin::count(std::uint32_t counter) const {
  return find<std::uint64_t(std::uint32_t)>("zdnn_twin_count")(counter);
}

std::uint64_t ZdnnTwin::calls(std::uint32_t function) const {
  return find<std::uint64_t(std::uint32_t)>("zdnn_twin_calls")(function);
}

void ZdnnTwin::reset_counts() {
  find<void()>("zdnn_twin_reset_counts")();
}

}  // namespace shunt::test
