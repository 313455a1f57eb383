// A real model with a BLAS library, as a user runs it.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "shunt/tensor.h"
#include "support/gguf_bytes.h"
#include "support/run_command.h"
#include "support/shared.h"
#include "support/stories.h"
#include "test_paths.h"

namespace shunt::test::blas_test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// The library of the tests, which is always there, and that of the system.
struct Library {
  const char* name;
  const char* path;
  bool of_the_system;

  RunResult run(std::vector<std::string> words) const {
    words.insert(words.end(), {"--library", std::string("blas=") + path});
    return run_command(words);
  }
  void need() const {
    const std::string devices = run({"devices"}).out;
    if (devices.find("blas0") != std::string::npos) return;
    const bool built = devices.find("there is no such backend") == std::string::npos;
    if (of_the_system || !built) GTEST_SKIP() << devices;
    FAIL() << devices;
  }
};
struct Model {
  const char* name;
  const char* shared;
  Stories (*stories)();
  std::size_t products;  ///< of a step
};

const auto kLibraries = testing::Values(Library{"test", SHUNT_TEST_BLAS, false},
                                        Library{"openblas", "libopenblas.so.0", true});
const auto kModels =
    testing::Values(Model{"stories", "", [] { return stories(); }, 29},
                    Model{"stories260K", "data/models/stories260K.gguf", stories_260k, 36});

class BlasModel : public testing::TestWithParam<std::tuple<Library, Model>> {
 protected:
  void SetUp() override {
    const auto& [library, model] = GetParam();
    if (*model.shared != '\0') SHUNT_NEED_SHARED(model.shared);
    library.need();
    told_ = model.stories();
  }
  static RunResult run(std::vector<std::string> words) {
    return std::get<Library>(GetParam()).run(std::move(words));
  }
  RunResult greedy(std::vector<std::string> more) const {
    std::vector<std::string> words = {"run",    "--model", told_.path, "-n",        told_.count(),
                                      "--temp", "0",       "--prompt", told_.prompt};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  /// How many operations of a step blas0 has.
  std::size_t operations(std::vector<std::string> more) const {
    more.emplace_back("--rules-only");
    return operations_by(std::move(more));
  }
  std::size_t operations_by(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"explain", "--model", told_.path, "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const RunResult result = run(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::size_t count = 0;
    const auto explained = nlohmann::json::parse(result.out);
    for (const auto& segment : explained["segments"]) {
      if (segment["device"] == "blas0") count += segment["nodes"].size();
    }
    return count;
  }

  Stories told_;
};

TEST_P(BlasModel, GeneratesTheSameTextAsTheCpu) {
  const RunResult result = greedy({"--devices", "blas0", "--rules-only"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, told_.text + "\n");
}

TEST_P(BlasModel, EveryOperationPassesVerify) {
  const RunResult result =
      run({"verify", "--model", told_.path, "--device", "blas0", "--top", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr(" 0 wrong"));
}

TEST_P(BlasModel, GetsTheMatmulsIfNamed) {
  EXPECT_EQ(operations({"--devices", "blas0"}), std::get<Model>(GetParam()).products);
}

// Where the CPU backend has vector code, blas0 gets work only if it is named or pinned.
#if defined(__x86_64__) || defined(__aarch64__)
TEST_P(BlasModel, GetsNothingIfNotNamed) {
  EXPECT_EQ(operations({}), 0U);
}
#else
TEST_P(BlasModel, GetsTheMatmulsIfNotNamed) {
  EXPECT_EQ(operations({}), std::get<Model>(GetParam()).products);
}
#endif

TEST_P(BlasModel, GetsOnlyPinnedOpsIfNotNamed) {
  const std::vector<std::string> pin = {"--place", "blk\\.1\\.ffn_down.*=blas0"};
#if defined(__x86_64__) || defined(__aarch64__)
  EXPECT_EQ(operations(pin), 1U);
#else
  EXPECT_EQ(operations(pin), std::get<Model>(GetParam()).products);
#endif
  const RunResult result = greedy(pin);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, told_.text + "\n");
}

/// Seconds of an operation of products on each device, in the format of `shunt bench costs`.
std::string costs(const nlohmann::json& devices, double of_blas, double of_cpu) {
  nlohmann::json file = {{"format", "shunt costs"}, {"version", 1}};
  for (const auto& device : devices) {
    const bool blas = device["name"] == "blas0";
    if (!blas && device["name"] != "cpu0") continue;
    for (const DTypeTrait& type : dtypes()) {
      file["ops"].push_back({{"device", device["name"]},
                             {"description", device["description"]},
                             {"op", "matmul"},
                             {"dtype", type.name},
                             {"overhead", 0},
                             {"seconds_per_operation", blas ? of_blas : of_cpu},
                             {"seconds_per_byte", 0}});
    }
  }
  return file.dump();
}

/// It takes products where they are predicted to be faster there.
TEST_P(BlasModel, GetsTheProductsThatItsCostsMakeFaster) {
  const auto devices = nlohmann::json::parse(run({"devices", "--json"}).out)["devices"];
  const TempFolder folder;
  const auto with_costs = [&](double of_blas, double of_cpu) {
    const std::string text = costs(devices, of_blas, of_cpu);
    const std::string path = folder.write("costs.json", std::as_bytes(std::span(text)));
    return operations_by({"--devices", "blas0", "--costs", path});
  };
  EXPECT_EQ(with_costs(1e-8, 1e-11), 0U);
  EXPECT_EQ(with_costs(1e-11, 1e-8), std::get<Model>(GetParam()).products);
}

/// Weights are used in the mapped file: none is copied.
TEST_P(BlasModel, UsesWeightsInTheMappedFileWithoutCopies) {
  const RunResult result =
      run({"explain", "--model", told_.path, "--devices", "blas0", "--rules-only"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("0 bytes copied between devices"));
}

INSTANTIATE_TEST_SUITE_P(, BlasModel, testing::Combine(kLibraries, kModels), [](const auto& test) {
  return fmt::format("{}_on_{}", std::get<Model>(test.param).name,
                     std::get<Library>(test.param).name);
});

class BlasCases : public testing::TestWithParam<Library> {
 protected:
  void SetUp() override { GetParam().need(); }
};

TEST_P(BlasCases, OfMatmulOpsPass) {
  const std::vector<std::string> ops = {"matmul", "matmul_id", "out_prod"};
  std::vector<std::string> words = {"check-ops", "--device", "blas0", "--json"};
  for (const std::string& op : ops) words.insert(words.end(), {"--op", op});
  const RunResult result = GetParam().run(words);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto found = nlohmann::json::parse(result.out);
  EXPECT_EQ(found["failed"], 0);
  ASSERT_EQ(found["ops"].size(), ops.size());
  for (const auto& op : found["ops"]) EXPECT_GT(op["passed"], 0) << op["op"];
}

INSTANTIATE_TEST_SUITE_P(, BlasCases, kLibraries,
                         [](const auto& test) { return std::string(test.param.name); });

TEST(BlasCommand, DevicesReportsWhyNoLibraryIsLoaded) {
  const RunResult result = run_command({"devices", "--library", "blas=/no/such/folder"});
  EXPECT_EQ(result.exit_code, 0);
  if (result.out.find("there is no such backend") != std::string::npos) {
    GTEST_SKIP() << "there is no BLAS backend in this build";
  }
  EXPECT_THAT(result.out, Not(HasSubstr("blas0")));
  EXPECT_THAT(result.out,
              HasSubstr("a BLAS library can't be loaded: /no/such/folder: cannot open"));
}

}  // namespace
}  // namespace shunt::test::blas_test
