#include "support/ascend_twin.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/gguf_bytes.h"
#include "test_paths.h"
#include "twins/ascend/without.h"

namespace shunt::test {

namespace {

namespace fs = std::filesystem;

// Of enum ascend_twin_live.
constexpr int kDeviceAllocations = 0, kDeviceBytes = 1, kHostAllocations = 2, kHostBytes = 3;
constexpr int kReservedRanges = 4;
constexpr int kPhysicalHandles = 5, kContexts = 6, kStreams = 7, kEvents = 8, kTensors = 9;
constexpr int kScalars = 10, kLists = 11, kExecutors = 12, kModels = 13, kSingleOpObjects = 14;

/// The library that has the runtime, which comes first.
std::string runtime_of(const std::string& folder) {
  for (const char* name : {"libascendcl.so", "libacl_rt.so"}) {
    fs::path path = fs::path(folder) / name;
    if (fs::exists(path)) return path;
  }
  return {};
}

}  // namespace

std::string AscendTwin::folder_of(Layout layout) {
  const fs::path library =
      layout == Layout::kSplit ? SHUNT_TEST_ASCEND_TWIN_9_0 : SHUNT_TEST_ASCEND_TWIN;
  return library.parent_path();
}

AscendTwin::AscendTwin(Layout layout) : folder_(folder_of(layout)) {
  open();
}

AscendTwin::AscendTwin(const std::vector<std::string>& missing)
    : folder_(folder_of(Layout::kWhole)) {
  if (folder_.empty()) return;
  auto copy = std::make_shared<TempFolder>();
  EXPECT_TRUE(ascend_test::ascend_twin_copy_without(folder_, copy->path(), missing));
  folder_ = copy->path();
  copy_ = std::move(copy);
  open();
}

void AscendTwin::open() {
  if (folder_.empty()) return;
  library_ = dlopen(runtime_of(folder_).c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library_, nullptr) << dlerror();
  if (there()) reset();
}

AscendTwin::~AscendTwin() {
  if (!there()) return;
  reset();
  dlclose(library_);
}

void AscendTwin::reset() {
  find<void()>("ascend_twin_reset_settings")();
  restart();
}

void AscendTwin::restart() {
  find<void()>("ascend_twin_reset")();
}

void* AscendTwin::find_symbol(const char* name) const {
  return dlsym(library_, name);
}

Options AscendTwin::options() const {
  Options options;
  options.threads = 2;
  options.libraries["cann"] = folder_;
  return options;
}

void AscendTwin::set(const std::string& name, const std::string& value) {
  EXPECT_TRUE(find<bool(const char*, const char*)>("ascend_twin_set")(
      ("ASCEND_TWIN_" + name).c_str(), value.c_str()))
      << name << "=" << value;
}

std::uint64_t AscendTwin::count(AscendCount counter) const {
  return find<std::uint64_t(int)>("ascend_twin_count")(static_cast<int>(counter));
}

std::uint64_t AscendTwin::calls(const char* function) const {
  return find<std::uint64_t(const char*)>("ascend_twin_calls")(function);
}

std::uint64_t AscendTwin::live(int kind) const {
  return find<std::uint64_t(int)>("ascend_twin_count_live")(kind);
}

std::uint64_t AscendTwin::live() const {
  std::uint64_t sum = 0;
  for (const int kind :
       {kDeviceAllocations, kHostAllocations, kReservedRanges, kPhysicalHandles, kContexts,
        kStreams, kEvents, kTensors, kScalars, kLists, kExecutors, kModels, kSingleOpObjects}) {
    sum += live(kind);
  }
  return sum;
}

AscendTwin::Allocated AscendTwin::device_memory() const {
  return {live(kDeviceAllocations), live(kDeviceBytes)};
}

AscendTwin::Allocated AscendTwin::pinned_memory() const {
  return {live(kHostAllocations), live(kHostBytes)};
}

std::uint64_t AscendTwin::live_executors() const {
  return live(kExecutors);
}

std::uint64_t AscendTwin::live_models() const {
  return live(kModels);
}

std::string AscendTwin::last_objection() const {
  return find<const char*()>("ascend_twin_last_objection")();
}

}  // namespace shunt::test
