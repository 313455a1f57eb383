#include "support/cuda_twin.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "support/gguf_bytes.h"
#include "test_paths.h"

namespace shunt::test {

namespace {

/// The library's bytes with other names for these functions, wherever they stand.
std::string without(std::string bytes, const std::vector<std::string>& functions) {
  for (const std::string& function : functions) {
    const std::string name = '\0' + function + '\0';
    std::string hidden = name;
    hidden[name.size() - 2] = '?';
    std::size_t found = 0;
    for (std::size_t at = 0; (at = bytes.find(name, at)) != std::string::npos; ++found)
      bytes.replace(at, name.size(), hidden);
    EXPECT_GT(found, 0U) << function;
  }
  return bytes;
}

}  // namespace

CudaTwin::CudaTwin() : path_(SHUNT_TEST_CUDA_TWIN) {
  open();
}

CudaTwin::CudaTwin(const std::vector<std::string>& missing) : path_(SHUNT_TEST_CUDA_TWIN) {
  if (path_.empty()) return;
  auto folder = std::make_shared<TempFolder>();
  std::ifstream from(path_, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(from)), std::istreambuf_iterator<char>());
  path_ = folder->path() + "/libcuda.so.1";
  std::ofstream(path_, std::ios::binary) << without(bytes, missing);
  folder_ = std::move(folder);
  open();
}

void CudaTwin::open() {
  if (path_.empty()) return;
  library_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library_, nullptr) << dlerror();
  if (there()) reset();
}

CudaTwin::~CudaTwin() {
  if (!there()) return;
  reset();
  dlclose(library_);
}

void CudaTwin::reset() {
  find<void()>("cuda_twin_reset_settings")();
  restart();
}

void CudaTwin::restart() {
  find<void()>("cuda_twin_reset")();
}

template <class F>
F* CudaTwin::find(const char* name) const {
  return reinterpret_cast<F*>(dlsym(library_, name));
}

Options CudaTwin::options() const {
  Options options;
  options.threads = 2;
  options.libraries["cuda"] = path_;
  return options;
}

void CudaTwin::set(const char* name, const char* value) {
  EXPECT_NE(find<int(const char*, const char*)>("cuda_twin_set")(name, value), 0)
      << name << "=" << value;
}

std::uint64_t CudaTwin::live() const {
  enum class Kind : int {
    kAllocations = 0,
    kPinned = 2,
    kModules = 5,
    kStreams = 6,
    kEvents = 7,
    kReservedRanges = 11,
    kPhysicalHandles = 12
  };
  std::uint64_t sum = 0;
  for (const Kind kind : {Kind::kAllocations, Kind::kPinned, Kind::kModules, Kind::kStreams,
                          Kind::kEvents, Kind::kReservedRanges, Kind::kPhysicalHandles}) {
    sum += live(static_cast<int>(kind));
  }
  return sum;
}

std::uint64_t CudaTwin::live(int kind) const {
  return find<std::uint64_t(int)>("cuda_twin_count_live")(kind);
}

std::uint64_t CudaTwin::calls(const char* function) const {
  return find<std::uint64_t(const char*)>("cuda_twin_count_calls")(function);
}

std::uint64_t CudaTwin::copies_between_devices() const {
  constexpr int kBetweenDevices = 3;
  return find<std::uint64_t(int)>("cuda_twin_count_copies")(kBetweenDevices);
}

KernelCounts CudaTwin::count(const char* kernel) const {
  KernelCounts counts = {};
  find<int(const char*, KernelCounts*)>("cuda_twin_count_kernel")(kernel, &counts);
  return counts;
}

std::vector<std::string> CudaTwin::findings() const {
  const auto count = find<std::size_t()>("cuda_twin_findings");
  const auto get = find<int(std::size_t, const char**, const char**)>("cuda_twin_finding");
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count(); ++i) {
    const char* check = nullptr;
    const char* text = nullptr;
    if (get(i, &check, &text) != 0) texts.push_back(std::string(check) + ": " + text);
  }
  return texts;
}

}  // namespace shunt::test
