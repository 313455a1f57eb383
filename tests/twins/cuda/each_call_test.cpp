// Every fault, at every call of a long program that it can hit. Thread is in the names for the run
// with ThreadSanitizer.
#include <algorithm>
#include <string>
#include <vector>

#include "long_program.h"

namespace each_call_test {

using twin_test::DriverCall;
using twin_test::LongProgram;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// ThreadSanitizer takes too long for a fault at every call.
#ifdef __SANITIZE_THREAD__
constexpr std::size_t kStep = 7;
#else
constexpr std::size_t kStep = 1;
#endif

/// The places of the calls that have one of these kinds.
std::vector<std::size_t> calls_with(const LongProgram& program, unsigned kinds) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < program.calls().size(); ++i)
    if ((program.calls()[i].kinds & kinds) != 0) places.push_back(i);
  return places;
}

std::string name_of(const LongProgram& program, std::size_t call) {
  if (call == program.calls().size()) return "no call";
  const char* const name = program.calls()[call].name;
  return std::to_string(call) + " " + (name == nullptr ? "check of results" : name);
}

void expect_ends(const LongProgram& program, const LongProgram::Ending& ending, std::size_t at,
                 CUresult code) {
  EXPECT_EQ(name_of(program, ending.call), name_of(program, at));
  EXPECT_EQ(twin_test::name_of(ending.code), twin_test::name_of(code))
      << cuda_twin_last_message() << "; " << cuda_twin_last_fault();
}

void start() {
  cuda_twin_reset_settings();
  cuda_twin_reset();
  TWIN_OK(cuInit(0));
}

void expect_nothing_alive() {
  for (std::uint32_t kind = 0; kind < CUDA_TWIN_POOLS; ++kind)
    EXPECT_EQ(cuda_twin_count_live(static_cast<cuda_twin_live>(kind)), 0u) << "kind " << kind;
  EXPECT_LE(cuda_twin_count_live(CUDA_TWIN_POOLS), 1u) << "more than the device's own pool";
}

TEST(EachCallThreads, TheProgramRunsTwiceWithoutFaults) {
  start();
  for (int time = 0; time < 2; ++time) {
    LongProgram program;
    expect_ends(program, program.run(), program.calls().size(), CUDA_SUCCESS);
    program.end();
    expect_nothing_alive();
  }
  EXPECT_EQ(cuda_twin_findings(), 0u);
  const LongProgram program;
  EXPECT_GE(std::ranges::count_if(program.calls(),
                                  [](const DriverCall& each) { return each.name != nullptr; }),
            200);
}

/// Faults that refuse a call: it may be made again.
struct Refusal {
  const char* setting;
  unsigned kind;
  CUresult code;
};
class EachCallRefusedThreads : public ::testing::TestWithParam<Refusal> {};

TEST_P(EachCallRefusedThreads, FailsAndTheProgramGoesOn) {
  const auto& [setting, kind, code] = GetParam();
  start();
  const std::vector<std::size_t> hit = calls_with(LongProgram(), kind);
  ASSERT_FALSE(hit.empty());
  for (std::size_t n = 1; n <= hit.size(); n += kStep) {
    SCOPED_TRACE(setting + std::string(" ") + std::to_string(n));
    cuda_twin_set(setting, std::to_string(n).c_str());
    LongProgram program;
    const LongProgram::Ending ending = program.run();
    expect_ends(program, ending, hit[n - 1], code);
    expect_ends(program, program.run(ending.call), program.calls().size(), CUDA_SUCCESS);
    expect_nothing_alive();
    // The same, and the program gives up.
    cuda_twin_set(setting, std::to_string(n).c_str());
    LongProgram ended;
    expect_ends(ended, ended.run(), hit[n - 1], code);
    ended.end();
    expect_nothing_alive();
  }
  cuda_twin_set(setting, std::to_string(hit.size() + 1).c_str());
  LongProgram program;
  expect_ends(program, program.run(), program.calls().size(), CUDA_SUCCESS);
}

// Codes: README.md, "codes of planted faults".
INSTANTIATE_TEST_SUITE_P(
    Fault, EachCallRefusedThreads,
    ::testing::Values(
        Refusal{"CUDA_TWIN_FAIL_ALLOCATION", twin_test::kAllocates, CUDA_ERROR_OUT_OF_MEMORY},
        Refusal{"CUDA_TWIN_FAIL_PINNED", twin_test::kPins, CUDA_ERROR_OUT_OF_MEMORY},
        Refusal{"CUDA_TWIN_FAIL_MODULE", twin_test::kLoads, CUDA_ERROR_JIT_COMPILER_NOT_FOUND},
        Refusal{"CUDA_TWIN_FAIL_LAUNCH", twin_test::kLaunches, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES},
        Refusal{"CUDA_TWIN_FAIL_COPY", twin_test::kCopies, CUDA_ERROR_UNKNOWN},
        Refusal{"CUDA_TWIN_FAIL_INSTANTIATE", twin_test::kInstantiates, CUDA_ERROR_OUT_OF_MEMORY}),
    [](const auto& param) { return std::string(param.param.setting).substr(15); });

class EachWorkFailsThreads : public ::testing::TestWithParam<int> {};

TEST_P(EachWorkFailsThreads, TheNextWaitSaysSoAndTheContextIsLost) {
  const auto code = static_cast<CUresult>(GetParam());
  start();
  cuda_twin_set("CUDA_TWIN_LATE_CODE", std::to_string(GetParam()).c_str());
  const std::vector<std::size_t> works = calls_with(LongProgram(), twin_test::kWorks);
  const std::vector<std::size_t> waits = calls_with(LongProgram(), twin_test::kWaits);
  for (std::size_t n = 1; n <= works.size(); n += kStep) {
    SCOPED_TRACE("work " + std::to_string(n));
    cuda_twin_set("CUDA_TWIN_FAIL_LATE", std::to_string(n).c_str());
    LongProgram program;
    const LongProgram::Ending ending = program.run();
    expect_ends(program, ending, *std::ranges::lower_bound(waits, works[n - 1]), code);
    CUdeviceptr address = 0;
    EXPECT_EQ(cuCtxSynchronize(), code);
    EXPECT_EQ(cuMemAlloc(&address, 4), code);
    TWIN_OK(cuDevicePrimaryCtxReset(0));
    program.end();
    expect_nothing_alive();
  }
  cuda_twin_set("CUDA_TWIN_FAIL_LATE", std::to_string(works.size() + 1).c_str());
  LongProgram program;
  expect_ends(program, program.run(), program.calls().size(), CUDA_SUCCESS);
}

INSTANTIATE_TEST_SUITE_P(AnAddressAndEcc, EachWorkFailsThreads, ::testing::Values(700, 214));

TEST(EachCallThreads, ADeviceIsLostAtAnyOfThem) {
  const LongProgram pattern;
  std::size_t n = 0;
  for (std::size_t at = 0; at < pattern.calls().size(); ++at) {
    if (pattern.calls()[at].name == nullptr) continue;
    start();
    cuda_twin_set("CUDA_TWIN_FAIL_LOST", std::to_string(++n).c_str());
    LongProgram program;
    expect_ends(program, program.run(), at, CUDA_ERROR_DEVICE_UNAVAILABLE);
    cuda_twin_set("CUDA_TWIN_FAIL_LOST", "0");
    expect_ends(program, program.run(at), at, CUDA_ERROR_DEVICE_UNAVAILABLE);
    program.end();
    cuda_twin_reset();
    for (std::uint32_t kind = 0; kind <= CUDA_TWIN_POOLS; ++kind)
      EXPECT_EQ(cuda_twin_count_live(static_cast<cuda_twin_live>(kind)), 0u) << "kind " << kind;
  }
  start();
  cuda_twin_set("CUDA_TWIN_FAIL_LOST", std::to_string(n + 1).c_str());
  LongProgram program;
  expect_ends(program, program.run(), program.calls().size(), CUDA_SUCCESS);
  start();
}

/// Devices from the smallest to one that has room for all.
TEST(EachCallThreads, MemoryIsFullAtAnyOfThem) {
  std::size_t last = 0, failures = 0;
  CUresult code = CUDA_ERROR_OUT_OF_MEMORY;
  cuda_twin_reset_settings();
  for (std::uint64_t bytes = 2 * kMiB; code == CUDA_ERROR_OUT_OF_MEMORY; bytes += 2 * kMiB) {
    SCOPED_TRACE(std::to_string(bytes) + " bytes");
    ASSERT_LE(bytes, 64 * kMiB);
    cuda_twin_set("CUDA_TWIN_MEMORY", std::to_string(bytes).c_str());
    cuda_twin_reset();
    TWIN_OK(cuInit(0));
    // The second run starts on a device that was full.
    for (int time = 0; time < 2; ++time) {
      LongProgram program;
      const LongProgram::Ending ending = program.run();
      code = ending.code;
      if (code != CUDA_SUCCESS) {
        expect_ends(program, ending, time == 0 ? ending.call : last, CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_NE(program.calls()[ending.call].kinds & twin_test::kTakesMemory, 0u)
            << name_of(program, ending.call);
        EXPECT_GE(ending.call, last);
        last = ending.call;
        ++failures;
      }
      program.end();
      expect_nothing_alive();
    }
  }
  EXPECT_EQ(code, CUDA_SUCCESS);
  EXPECT_GE(failures, 8u);
  start();
}

std::vector<std::string> missing_of(const LongProgram& program) {
  std::vector<std::string> missing;
  for (const DriverCall& each : program.calls()) {
    void* function = nullptr;
    CUdriverProcAddressQueryResult status{};
    if (each.name == nullptr ||
        cuGetProcAddress(each.name, &function, 13000, 0, &status) == CUDA_SUCCESS)
      continue;
    EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND) << each.name;
    if (std::ranges::find(missing, each.name) == missing.end()) missing.emplace_back(each.name);
  }
  return missing;
}

TEST(EachCallThreads, AnyFunctionMayBeMissing) {
  constexpr int kMostFunctions = 255;
  start();
  std::vector<std::string> seen;
  for (int line = 1; line <= kMostFunctions; ++line) {
    cuda_twin_set("CUDA_TWIN_MISSING", std::to_string(line).c_str());
    LongProgram program;
    const std::vector<std::string> missing = missing_of(program);
    if (missing.empty()) continue;
    SCOPED_TRACE(missing[0]);
    EXPECT_EQ(missing.size(), 1u) << "all others are there";
    seen.push_back(missing[0]);
    if (seen.size() % kStep != 0) continue;
    // A program that calls it all the same gets as far as that.
    const auto first = std::ranges::find_if(program.calls(), [&](const DriverCall& each) {
      return each.name != nullptr && each.name == missing[0];
    });
    expect_ends(program, program.run(), static_cast<std::size_t>(first - program.calls().begin()),
                CUDA_ERROR_NOT_FOUND);
    cuda_twin_set("CUDA_TWIN_MISSING", "0");
    program.end();
    expect_nothing_alive();
  }
  std::vector<std::string> names;
  const LongProgram pattern;
  for (const DriverCall& each : pattern.calls())
    if (each.name != nullptr) names.emplace_back(each.name);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::ranges::sort(seen);
  EXPECT_EQ(seen, names);
}

}  // namespace each_call_test
