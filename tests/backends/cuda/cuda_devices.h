// A registry with the twin of NVIDIA's driver, for tests of the CUDA backend.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "shunt/registry.h"
#include "support/cuda_twin.h"
#include "support/rows_graph.h"

namespace shunt::test {

/// The status of the CUDA backend.
inline const BackendStatus& cuda_status(const Registry& registry) {
  for (const BackendStatus& backend : registry.backends()) {
    if (backend.name == "cuda") return backend;
  }
  throw std::runtime_error("there is no CUDA backend in this build");
}
/// Whether the build had no compiler for kernels.
inline bool lacks_kernels(const BackendStatus& status) {
  return status.note.find("no CUDA kernels") != std::string::npos;
}

class CudaDevices : public testing::Test {
 protected:
  void SetUp() override {
    if (!twin_.there()) GTEST_SKIP() << "there is no twin of CUDA's driver in this build";
    open();
    if (lacks_kernels(status())) GTEST_SKIP() << status().note;
  }
  void open() { open(twin_.options()); }
  void open(const Options& options) {
    registry_.reset();
    auto registry = Registry::create(options);
    ASSERT_TRUE(registry) << registry.error().message();
    registry_ = std::move(*registry);
  }
  using Settings = std::initializer_list<std::pair<const char*, const char*>>;
  /// A new registry, of a twin with these settings.
  void reopen(Settings settings) { reopen(settings, twin_.options()); }
  void reopen(Settings settings, const Options& options) {
    registry_.reset();
    for (const auto& [name, value] : settings) twin_.set(name, value);
    twin_.restart();
    open(options);
  }
  const BackendStatus& status() const { return cuda_status(*registry_); }
  Result<std::vector<Device*>> devices() const {
    const std::vector<std::string> names = {"cuda0"};
    return registry_->select(names);
  }

  CudaTwin twin_;
  std::unique_ptr<Registry> registry_;
};

}  // namespace shunt::test
