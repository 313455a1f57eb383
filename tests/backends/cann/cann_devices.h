// A registry with the twin of CANN in strict mode, for tests of the CANN backend.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "shunt/registry.h"
#include "support/ascend_twin.h"
#include "support/rows_graph.h"

namespace shunt::test {

/// The status of the CANN backend.
inline const BackendStatus& cann_status(const Registry& registry) {
  for (const BackendStatus& backend : registry.backends()) {
    if (backend.name == "cann") return backend;
  }
  throw std::runtime_error("there is no CANN backend in this build");
}

class CannDevices : public testing::Test {
 protected:
  using Settings = std::initializer_list<std::pair<const char*, const char*>>;

  void SetUp() override {
    if (!twin_.there()) GTEST_SKIP() << "there is no twin of CANN in this build";
    twin_.set("STRICT", "status");
    open();
  }
  void TearDown() override {
    registry_.reset();
    if (!twin_.there()) return;
    expect_nothing_left();
  }
  /// No object is alive, and strict mode has objected to nothing, the leaks at the end included.
  /// Work of a lost device may go on, and some of its objects can't be destroyed.
  void expect_nothing_left() const {
    if (lost_) return;
    EXPECT_EQ(twin_.live(), 0U);
    EXPECT_EQ(twin_.count(AscendCount::kObjections), 0U) << twin_.last_objection();
  }
  void open() { open(twin_.options()); }
  void open(const Options& options) {
    registry_.reset();
    auto registry = Registry::create(options);
    ASSERT_TRUE(registry) << registry.error().message();
    registry_ = std::move(*registry);
  }
  /// A new registry, of a twin with these settings.
  void reopen(Settings settings) { reopen(settings, twin_.options()); }
  void reopen(Settings settings, const Options& options) {
    registry_.reset();
    expect_nothing_left();
    lost_ = false;
    for (const auto& [name, value] : settings) twin_.set(name, value);
    twin_.restart();
    open(options);
  }
  /// The twin's options, and one of the backend.
  Options with(const char* option, const char* value) const {
    Options options = twin_.options();
    options.backend_options["cann"][option] = value;
    return options;
  }
  const BackendStatus& status() const { return cann_status(*registry_); }
  Device& device(std::string_view name = "cann0") const {
    const auto found = registry_->find(name);
    if (!found) throw std::runtime_error(found.error().message() + "; " + status().note);
    return **found;
  }
  /// The device and the CPU.
  std::vector<Device*> devices() const { return {&device(), &device("cpu0")}; }
  std::unique_ptr<GraphRun> make_run(std::shared_ptr<const Graph> graph,
                                     const std::map<NodeId, RefTensor>& leaves,
                                     const GraphRunOptions& options = {.by_ability = true}) const {
    auto run = GraphRun::create(std::move(graph), devices(), leaves, options);
    EXPECT_TRUE(run) << run.error().message();
    return run ? std::move(*run) : nullptr;
  }
  /// The error of a run; empty if it ended well.
  static std::string error_of(const Status& status) {
    return status ? std::string() : to_text(status.error());
  }

  AscendTwin twin_;
  std::unique_ptr<Registry> registry_;
  bool lost_ = false;  ///< the test has lost the device
};

}  // namespace shunt::test
