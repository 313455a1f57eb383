// A registry with the twin of NVIDIA's driver, for tests of the CUDA backend, and a small graph.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "graph/tensor_values.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/cuda_twin.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"

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

/// The normalised mean square error of logits.
inline double distance(std::span<const float> a, std::span<const float> b) {
  RefTensor x({static_cast<std::int64_t>(a.size()), 1, 1, 1});
  RefTensor y({static_cast<std::int64_t>(b.size()), 1, 1, 1});
  std::ranges::copy(a, x.data.begin());
  std::ranges::copy(b, y.data.begin());
  return nmse(x, y);
}

/// y = rows of w by number, then scaled by their root mean square: two nodes on the device.
struct Rows {
  Rows() {
    GraphBuilder g;
    const auto table = g.weight("table", *make_tensor(DType::kF32, {64, 3}));
    const auto numbers = g.input("ids", *make_tensor(DType::kI32, {2}));
    const auto rows = get_rows(g, table, numbers);
    ids = numbers->id;
    picked = rows->id;
    const auto y = rms_norm(g, rows, {});
    result = y->id;
    EXPECT_TRUE(g.output(y, "y"));
    graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    leaves[table->id] = make_values({.sizes = {64, 3, 1, 1}}, 1);
    set(2, 0);
  }
  void set(double first, double second) {
    RefTensor values(Sizes{2, 1, 1, 1});
    values.data = {first, second};
    leaves[ids] = values;
  }

  NodeId ids = 0;
  NodeId picked = 0;
  NodeId result = 0;
  std::shared_ptr<const Graph> graph;
  std::map<NodeId, RefTensor> leaves;
};

}  // namespace shunt::test
