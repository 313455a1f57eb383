// Runs the kernels of checks.md, and compares the errors and messages that it has. The document is
// written by hand; device addresses are compared as "0x...".
#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support.h"

namespace checks_test {

using namespace twin_test;

struct Documented {
  std::string heading;
  std::string text;
  std::string launch;  ///< of the kernel's first comment
  std::string check;   ///< name of a finding, or number of an error
  std::string message;
};

/// Headings, blocks of PTX, and after each block a line "`CHECK`:" and a block with the message.
std::vector<Documented> documented_checks() {
  std::ifstream in(std::string(TWIN_TEST_FOLDER) + "/../../../twins/cuda/checks.md");
  std::vector<Documented> checks;
  Documented now;
  std::string* block = nullptr;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("### ", 0) == 0) {
      now = {};
      now.heading = line.substr(4);
    } else if (line == "```ptx") {
      block = &now.text;
    } else if (line == "```" && block == nullptr) {
      block = &now.message;
    } else if (line == "```") {
      if (!now.check.empty()) checks.push_back(now);
      block = nullptr;
    } else if (block != nullptr) {
      *block += line + (block == &now.text ? "\n" : "");
      const std::size_t comment = line.find("// <<<");
      if (comment != std::string::npos) now.launch = line.substr(comment + 3);
    } else if (line.size() > 3 && line[0] == '`' && line.substr(line.size() - 2) == "`:") {
      now.check = line.substr(1, line.size() - 3);
      now.message.clear();
    }
  }
  return checks;
}

std::string without_addresses(const std::string& text) {
  return std::regex_replace(text, std::regex("0x[0-9a-f]{9,}"), "0x...");
}

struct Outcome {
  CUresult code = CUDA_SUCCESS;
  std::string check;  ///< of the first finding
  std::string message;
};

/// The launch that a comment like "<<<2, 32>>> on two streams" describes.
class DocumentedLaunch {
 public:
  explicit DocumentedLaunch(const Documented& documented) : documented_(documented) {
    std::istringstream numbers(documented.launch.substr(3));
    char comma = 0;
    numbers >> blocks_ >> comma >> threads_;
  }

  Outcome run() {
    if (has("CUDA_TWIN_INSTRUCTIONS=1000")) cuda_twin_set("CUDA_TWIN_INSTRUCTIONS", "1000");
    if (has("CUDA_TWIN_CHECK_COPIES=on")) cuda_twin_set("CUDA_TWIN_CHECK_COPIES", "on");
    allocate();
    Outcome outcome;
    std::string log;
    outcome.code =
        load(module(documented_.text, "7.8", has("sm_90") ? "sm_90" : "sm_80"), &module_, &log);
    if (outcome.code != CUDA_SUCCESS) {
      outcome.message = log;
      return outcome;
    }
    TWIN_OK(cuModuleGetFunction(&function_, module_, "k"));
    outcome.code = has("two streams")      ? launch_twice()
                   : has("on another one") ? launch_beside_copy()
                   : has("then a copy")    ? launch_before_copy()
                                           : launch_once(nullptr);
    if (outcome.code == CUDA_SUCCESS) outcome.code = cuCtxSynchronize();
    outcome.message = cuda_twin_last_fault();
    const char* check = nullptr;
    const char* text = nullptr;
    if (cuda_twin_finding(0, &check, &text) == 1) {
      outcome.check = check;
      outcome.message = text;
    }
    return outcome;
  }

 private:
  bool has(const char* word) const { return documented_.launch.find(word) != std::string::npos; }
  void allocate() {
    if (has("mapped memory")) return map();
    CUcontext peer = nullptr;
    if (has("memory of device 1")) {
      TWIN_OK(cuDevicePrimaryCtxRetain(&peer, 1));
      TWIN_OK(cuCtxPushCurrent(peer));
    }
    TWIN_OK(cuMemAlloc(&address_, 256));
    TWIN_OK(cuMemsetD8(address_, 0, 128));
    if (has("cuMemFree")) TWIN_OK(cuMemFree(address_));
    if (peer != nullptr) TWIN_OK(cuCtxPopCurrent(&peer));
  }
  void map() {
    constexpr std::size_t kBytes = 2 << 20;
    CUmemAllocationProp memory{};
    memory.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    memory.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemGenericAllocationHandle handle = 0;
    TWIN_OK(cuMemCreate(&handle, kBytes, &memory, 0));
    TWIN_OK(cuMemAddressReserve(&address_, kBytes, 0, 0, 0));
    TWIN_OK(cuMemMap(address_, kBytes, 0, handle, 0));
    const CUmemAccessDesc access = {memory.location, CU_MEM_ACCESS_FLAGS_PROT_READ};
    if (has("PROT_READ")) TWIN_OK(cuMemSetAccess(address_, kBytes, &access, 1));
  }
  CUresult launch_once(CUstream stream) {
    void* args[] = {&address_};
    return cuLaunchKernel(function_, blocks_, 1, 1, threads_, 1, 1, 0, stream, args, nullptr);
  }
  CUresult copy(CUstream stream) {
    return cuMemcpyDtoHAsync(host_.data(), address_, host_.size(), stream);
  }
  static std::array<CUstream, 2> new_streams() {
    std::array<CUstream, 2> streams{};
    for (CUstream& stream : streams) TWIN_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    TWIN_OK(cuCtxSynchronize());
    return streams;
  }
  CUresult launch_beside_copy() {
    const auto streams = new_streams();
    cuda_twin_reset_counts();
    const CUresult code = launch_once(streams[0]);
    // The launch is counted when it has ended, which orders nothing.
    cuda_twin_kernel_counts counts{};
    while (code == CUDA_SUCCESS && cuda_twin_count_kernel("k", &counts) == 0) {
      std::this_thread::yield();
    }
    return code == CUDA_SUCCESS ? copy(streams[1]) : code;
  }
  CUresult launch_before_copy() {
    const CUresult code = launch_once(nullptr);
    return code == CUDA_SUCCESS ? copy(nullptr) : code;
  }
  CUresult launch_twice() {
    CUresult code = CUDA_SUCCESS;
    for (CUstream stream : new_streams()) {
      const CUresult launched = launch_once(stream);
      if (code == CUDA_SUCCESS) code = launched;
    }
    return code;
  }

  const Documented& documented_;
  unsigned blocks_ = 1, threads_ = 1;
  std::array<unsigned char, 256> host_{};
  CUdeviceptr address_ = 0;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

TEST(Checks, AreAsDocumented) {
  const std::vector<Documented> checks = documented_checks();
  EXPECT_GE(checks.size(), 49u);
  for (const Documented& documented : checks) {
    EXPECT_LE(std::ranges::count(documented.text, '\n'), 10) << documented.heading;
    Gpu gpu("h200,h200");
    const Outcome outcome = DocumentedLaunch(documented).run();
    const bool is_error = documented.check.find_first_not_of("0123456789") == std::string::npos;
    if (is_error) {
      EXPECT_EQ(std::to_string(outcome.code), documented.check) << documented.heading;
      EXPECT_EQ(outcome.check, "") << documented.heading;
    } else {
      EXPECT_EQ(outcome.code, CUDA_ERROR_LAUNCH_FAILED) << documented.heading;
      EXPECT_EQ(outcome.check, documented.check) << documented.heading;
    }
    EXPECT_EQ(without_addresses(outcome.message), without_addresses(documented.message))
        << documented.heading;
  }
}

TEST(Checks, FindingsAreKeptWhereTheyDoNotStop) {
  for (const Documented& documented : documented_checks()) {
    if (documented.check.find_first_not_of("0123456789") == std::string::npos) continue;
    Gpu gpu;
    EXPECT_EQ(cuda_twin_set("CUDA_TWIN_FINDINGS", "record"), 1);
    const Outcome outcome = DocumentedLaunch(documented).run();
    EXPECT_EQ(outcome.code, CUDA_SUCCESS) << documented.heading << ": " << outcome.message;
    EXPECT_EQ(outcome.check, documented.check) << documented.heading;
    (void)cuCtxSynchronize();
    cuda_twin_reset();
  }
}

TEST(Checks, CanBeSwitchedOff) {
  for (const Documented& documented : documented_checks()) {
    if (documented.check.find_first_not_of("0123456789") == std::string::npos) continue;
    Gpu gpu;
    for (const char* name :
         {"CUDA_TWIN_CHECK_INITIALISED", "CUDA_TWIN_CHECK_RACES", "CUDA_TWIN_CHECK_WARP"}) {
      EXPECT_EQ(cuda_twin_set(name, "off"), 1);
    }
    const Outcome outcome = DocumentedLaunch(documented).run();
    EXPECT_EQ(outcome.code, CUDA_SUCCESS) << documented.heading << ": " << outcome.message;
    EXPECT_EQ(outcome.check, "") << documented.heading;
    (void)cuCtxSynchronize();
    cuda_twin_reset();
  }
}

}  // namespace checks_test
