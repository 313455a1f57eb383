// A real model on the accelerator of IBM Z, by its twin, as a user runs it.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "support/gguf_bytes.h"
#include "support/run_command.h"
#include "support/shared.h"
#include "support/stories.h"
#include "test_paths.h"

namespace shunt::test::zdnn_test {
namespace {

struct Machine {
  const char* name;
  const char* profile;
  const char* library;

  void need() const {
    if (*library == '\0') GTEST_SKIP() << "there is no twin of zDNN in this build";
    if (run({"devices"}).out.find("zdnn0") == std::string::npos) {
      GTEST_SKIP() << "there is no zDNN backend in this build";
    }
  }
  RunResult run(std::vector<std::string> words, RunOptions options = {}) const {
    words.insert(words.end(), {"--library", std::string("zdnn=") + library});
    options.environment["ZDNN_TWIN_PROFILE"] = profile;
    options.environment["ZDNN_TWIN_STRICT"] = "status";
    return run_command(words, options);
  }
};

const auto kMachines = testing::Values(Machine{"z17", "z17", SHUNT_TEST_ZDNN_TWIN},
                                       Machine{"z16", "z16", SHUNT_TEST_ZDNN_TWIN},
                                       Machine{"library_1_0", "z17", SHUNT_TEST_ZDNN_TWIN_1_0});

/// The model that comes with Shunt, and one of others, whose file is in ../shared.
struct Model {
  const char* name;
  const char* shared;
  Stories (*stories)();
  std::size_t layers;
};

const auto kModels =
    testing::Values(Model{"stories", "", [] { return stories(); }, 4},
                    Model{"stories260K", "data/models/stories260K.gguf", stories_260k, 5});

class ZdnnModel : public testing::TestWithParam<std::tuple<Machine, Model>> {
 protected:
  void SetUp() override {
    const auto& [machine, model] = GetParam();
    if (*model.shared != '\0') SHUNT_NEED_SHARED(model.shared);
    machine.need();
    told_ = model.stories();
  }
  static std::size_t layers() { return std::get<Model>(GetParam()).layers; }
  static RunResult run(std::vector<std::string> words, RunOptions options = {}) {
    return std::get<Machine>(GetParam()).run(std::move(words), std::move(options));
  }
  /// With a setting of the twin, such as a fault.
  static RunResult run(std::vector<std::string> words, const char* name, const char* value) {
    RunOptions options;
    options.environment[name] = value;
    return run(std::move(words), std::move(options));
  }
  /// As much as possible on the machine, whatever costs are thought to be.
  std::vector<std::string> greedy(const char* fallback) const {
    auto words = greedy_by_costs(fallback);
    words.emplace_back("--rules-only");
    return words;
  }
  std::vector<std::string> greedy_by_costs(const char* fallback) const {
    return {"run",       "--model", told_.path,   "-n",     told_.count(), "--temp",    "0",
            "--devices", "zdnn0",   "--fallback", fallback, "--prompt",    told_.prompt};
  }

  Stories told_;
};

TEST_P(ZdnnModel, GeneratesTheSameTextAsTheCpu) {
  for (const auto& words : {greedy("allow"), greedy_by_costs("allow")}) {
    const RunResult result = run(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, told_.text + "\n");
    EXPECT_THAT(result.err, testing::HasSubstr(fmt::format("zdnn0: layers 0 to {} ({} of {})",
                                                           layers() - 1, layers(), layers())));
    EXPECT_THAT(result.err, testing::Not(testing::HasSubstr("had numbers outside the range")));
    EXPECT_THAT(result.err, testing::Not(testing::HasSubstr("instead of zdnn0")));
  }
}

TEST_P(ZdnnModel, WarnReportsFallback) {
  const RunResult result = run(greedy("warn"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, told_.text + "\n");
  EXPECT_THAT(result.err, testing::HasSubstr("run on cpu0 instead of zdnn0; the first is"));
}

TEST_P(ZdnnModel, DenyFailsOnFallback) {
  const RunResult result = run(greedy("deny"));
  EXPECT_NE(result.exit_code, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, testing::HasSubstr("which is denied"));
  EXPECT_THAT(result.err, testing::ContainsRegex("; the first is [^ ]+ \\(get_rows\\): "));
  EXPECT_THAT(result.err, testing::HasSubstr("rope (no kernel for rope)"));
}

/// Faults of the machine and of its library, somewhere in the text: the right text all the same.
TEST_P(ZdnnModel, SurvivesRecoverableFaults) {
  struct Fault {
    const char* name;
    const char* at;
    const char* said;
  };
  for (const Fault& fault :
       {Fault{"ZDNN_TWIN_FAIL_ALLOCATION", "1+", ""}, Fault{"ZDNN_TWIN_FAIL_CONVERSION", "100", ""},
        Fault{"ZDNN_TWIN_FAIL_CONVERSION", "400", ""},
        Fault{"ZDNN_TWIN_FAIL_RANGE", "2", "had numbers outside the range"},
        Fault{"ZDNN_TWIN_FAIL_RANGE", "500", "had numbers outside the range"}}) {
    const RunResult result = run(greedy("allow"), fault.name, fault.at);
    EXPECT_EQ(result.exit_code, 0) << fault.name << "=" << fault.at << ": " << result.err;
    EXPECT_EQ(result.out, told_.text + "\n") << fault.name << "=" << fault.at;
    EXPECT_THAT(result.err, testing::HasSubstr(fault.said)) << fault.name << "=" << fault.at;
  }
}

/// An error that names node, device and code; or the text without the device, if that is allowed.
TEST_P(ZdnnModel, HardwareFailureIsAnErrorOrFallsBackToTheCpu) {
  for (const char* at : {"1+", "100+", "800+"}) {
    const RunResult failed = run(greedy("allow"), "ZDNN_TWIN_FAIL_HARDWARE", at);
    EXPECT_EQ(failed.exit_code, 1) << at << ": " << failed.err;
    EXPECT_THAT(failed.err, testing::HasSubstr("zdnn0: ")) << at;
    EXPECT_THAT(failed.err, testing::ContainsRegex("zdnn_[a-z_0-9]+ failed.*\\(code "));
    auto words = greedy("allow");
    words.insert(words.end(), {"--on-device-error", "fallback"});
    const RunResult result = run(words, "ZDNN_TWIN_FAIL_HARDWARE", at);
    EXPECT_EQ(result.exit_code, 0) << at << ": " << result.err;
    EXPECT_EQ(result.out, told_.text + "\n") << at;
  }
}

TEST_P(ZdnnModel, EveryOperationPassesVerify) {
  const RunResult result =
      run({"verify", "--model", told_.path, "--device", "zdnn0", "--top", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, testing::HasSubstr(" 0 wrong"));
}

TEST_P(ZdnnModel, ExplainReportsUnsupportedOpsAndNoCopies) {
  const RunResult result =
      run({"explain", "--model", told_.path, "--devices", "zdnn0", "--rules-only"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, testing::HasSubstr("no kernel for rope"));
  EXPECT_THAT(result.out, testing::HasSubstr("0 bytes copied between devices"));
}

/// Of each operation that it does not take, the machine's own reason.
TEST_P(ZdnnModel, ExplainHasTheReasonForEveryRejectedOp) {
  const RunResult result =
      run({"explain", "--model", told_.path, "--devices", "zdnn0", "--rules-only", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto explained = nlohmann::json::parse(result.out);
  std::size_t taken = 0;
  std::map<std::string, std::set<std::string>> reasons;  // by op
  for (const auto& segment : explained["segments"]) {
    for (const auto& node : segment["nodes"]) {
      if (segment["device"] == "zdnn0") {
        ++taken;
        continue;
      }
      ASSERT_EQ(node["rejected"].size(), 1U) << node;
      EXPECT_EQ(node["rejected"][0]["device"], "zdnn0");
      reasons[node["op"]].insert(node["rejected"][0]["reason"].get<std::string>());
    }
  }
  // Of each layer 14, the last norm, and the product with the embedding, which is the output,
  // too, although its rows are looked up elsewhere.
  EXPECT_EQ(taken, layers() * 14 + 3);
  const std::map<std::string, std::set<std::string>> expected = {
      {"paged_attention", {"no kernel for paged_attention"}},
      {"get_rows", {"no kernel for get_rows"}},
      {"rope", {"no kernel for rope"}},
      {"set_rows", {"no kernel for set_rows"}}};
  EXPECT_EQ(reasons, expected);
}

INSTANTIATE_TEST_SUITE_P(, ZdnnModel, testing::Combine(kMachines, kModels), [](const auto& test) {
  return fmt::format("{}_on_{}", std::get<Model>(test.param).name,
                     std::get<Machine>(test.param).name);
});

class ZdnnMachine : public testing::TestWithParam<Machine> {
 protected:
  void SetUp() override { GetParam().need(); }
};

/// Whatever it claims to support, it passes, and that is something of each family that it has.
TEST_P(ZdnnMachine, PassesTheCasesOfSupportedOps) {
  const RunResult result = GetParam().run({"check-ops", "--device", "zdnn0", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto found = nlohmann::json::parse(result.out);
  EXPECT_EQ(found["failed"], 0);
  std::set<std::string> supported;
  for (const auto& op : found["ops"]) {
    if (op["passed"] > 0) supported.insert(op["op"]);
  }
  EXPECT_THAT(supported, testing::IsSupersetOf({"add", "exp", "matmul", "silu", "softmax"}));
}

/// Whether numbers that it does not have saturate or are computed elsewhere: results of `exp` are
/// such numbers.
TEST_P(ZdnnMachine, PassesExpCasesWithSaturateAndExact) {
  for (const char* way : {"saturate", "exact"}) {
    const RunResult result = GetParam().run(
        {"check-ops", "--device", "zdnn0", "--op", "exp", "--json", "--out-of-range", way});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(nlohmann::json::parse(result.out)["failed"], 0);
  }
  const RunResult other = GetParam().run({"devices", "--out-of-range", "clamp"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, testing::HasSubstr("\"clamp\" is not saturate or exact"));
}

INSTANTIATE_TEST_SUITE_P(, ZdnnMachine, kMachines,
                         [](const auto& test) { return std::string(test.param.name); });

TEST(LibraryFlag, NeedsABackendAndAPath) {
  for (const char* wrong : {"zdnn", "=libzdnn.so", "zdnn="}) {
    const RunResult result = run_command({"devices", "--library", wrong});
    EXPECT_EQ(result.exit_code, 2) << wrong;
    EXPECT_THAT(result.err, testing::HasSubstr("is not BACKEND=PATH"));
  }
}

/// A name that is mistyped, or a path: not silent, and no dead end.
TEST(LibraryFlag, ReportsAnUnknownBackendOrMissingLibrary) {
  const std::vector<std::string> words = {"run", "--model",         stories().path,
                                          "-n",  stories().count(), "--temp",
                                          "0",   "--prompt",        stories().prompt};
  RunOptions options;
  options.environment["SHUNT_ZDN_LIBRARY"] = "/somewhere/libzdnn.so.0";
  const RunResult mistyped = run_command(words, options);
  EXPECT_EQ(mistyped.exit_code, 0) << mistyped.err;
  EXPECT_EQ(mistyped.out, stories().text + "\n");
  EXPECT_THAT(mistyped.err,
              testing::HasSubstr("shunt: backend zdn is not available, so its library is not used: "
                                 "there is no such backend; the backends are: "));
  EXPECT_THAT(
      run_command({"devices"}, options).out,
      testing::ContainsRegex("zdn +off +/somewhere/libzdnn.so.0: there is no such backend"));
  auto missing = words;
  missing.insert(missing.end(), {"--library", "zdnn=/no/such/libzdnn.so.0"});
  const RunResult result = run_command(missing);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, stories().text + "\n");
  EXPECT_THAT(result.err,
              testing::HasSubstr("shunt: backend zdnn is not available, so its library is "
                                 "not used: "));
  EXPECT_THAT(run_command(words).err, testing::Not(testing::HasSubstr("is not available")));
}

/// A twin in a folder where the system looks for libraries is no accelerator of this machine.
TEST(LibraryFlag, IsRequiredForATwin) {
  const std::string twin = SHUNT_TEST_ZDNN_TWIN;
  if (twin.empty()) GTEST_SKIP() << "there is no twin of zDNN in this build";
  if (run_command({"devices"}).out.find("zdnn") == std::string::npos) {
    GTEST_SKIP() << "there is no zDNN backend in this build";
  }
  RunOptions options;
  options.environment["LD_LIBRARY_PATH"] = twin.substr(0, twin.rfind('/'));
  const RunResult found = run_command({"devices"}, options);
  EXPECT_THAT(found.out, testing::Not(testing::HasSubstr("zdnn0")));
  EXPECT_THAT(found.out,
              testing::HasSubstr(
                  "is a twin, and a twin is used only if its path is given: --library zdnn=PATH"));
  const RunResult given = run_command({"devices", "--library", "zdnn=" + twin}, options);
  EXPECT_THAT(given.out, testing::HasSubstr("zdnn0"));
}

TEST(LibraryFlag, OverridesTheEnvironment) {
  RunOptions options;
  if (run_command({"devices"}).out.find("zdnn") == std::string::npos) {
    GTEST_SKIP() << "there is no zDNN backend in this build";
  }
  options.environment["SHUNT_ZDNN_LIBRARY"] = "/from/the/environment.so";
  EXPECT_THAT(run_command({"devices"}, options).out,
              testing::HasSubstr("/from/the/environment.so"));
  const RunResult result = run_command({"devices", "--library", "zdnn=/from/a/flag.so"}, options);
  EXPECT_THAT(result.out, testing::HasSubstr("/from/a/flag.so"));
  EXPECT_THAT(result.out, testing::Not(testing::HasSubstr("/from/the/environment.so")));
}

}  // namespace
}  // namespace shunt::test::zdnn_test
