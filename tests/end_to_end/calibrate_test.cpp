// Measuring devices where times are predicted and no costs file is given: when that happens, which
// files it leaves, and where the output names the origin of times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "shunt/costs.h"
#include "support/models.h"
#include "support/run_command.h"
#include "support/shared.h"
#include "test_paths.h"

namespace shunt::test::calibrate_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class CalibratedCommand : public testing::Test {
 protected:
  RunResult run(std::vector<std::string> arguments, const std::string& devices = "cpu0") {
    RunOptions options;
    options.environment = {{"SHUNT_CPU_CALIBRATE", "on"},
                           {"XDG_CACHE_HOME", cache()},
                           {"SHUNT_BACKEND_PATH", SHUNT_TEST_ACCELERATOR_PLUGINS}};
    arguments.insert(arguments.end(), {"-m", model_.path(), "-t", "1", "--devices", devices});
    RunResult result = run_command(arguments, options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result;
  }
  std::string cache() const { return model_.folder().file("cache"); }
  std::vector<std::string> kept() const {
    std::vector<std::string> paths;
    if (!std::filesystem::exists(cache() + "/shunt")) return paths;
    for (const auto& entry : std::filesystem::directory_iterator(cache() + "/shunt"))
      paths.push_back(entry.path());
    return paths;
  }

  SynthModel model_;
};

TEST_F(CalibratedCommand, ExplainMeasuresOnceAndNamesTheCacheFile) {
  const json first = json::parse(run({"explain", "--json"}).out);
  ASSERT_EQ(kept().size(), 1U);
  const std::string path = kept().front();
  EXPECT_EQ(first["measured"], true);
  EXPECT_EQ(first["times"], json({"cpu0: measured now, kept in " + path}));
  // There are three pairs of op and type. A slow machine has the time for one in each process.
  for (int i = 0; i < 2; ++i) run({"explain"});
  const json second = json::parse(run({"explain", "--json"}).out);
  const json third = json::parse(run({"explain", "--json"}).out);
  EXPECT_GT(second["seconds"], 0);
  EXPECT_EQ(second["seconds"], third["seconds"]);
  EXPECT_THAT(second["times"][0].get<std::string>(),
              testing::MatchesRegex("cpu0: measured on [0-9-]+, kept in " + path));
  EXPECT_THAT(run({"explain"}).out, HasSubstr("times\n  cpu0: measured on "));
  EXPECT_THAT(run({"place"}).out, HasSubstr("# cpu0: measured on "));
  // The file is a costs file, with the types of this model's weights and no others.
  const auto costs = CostModel::load(path);
  ASSERT_TRUE(costs) << costs.error().message();
  EXPECT_EQ(costs->ops().size(), 3U);
  for (const OpCost& cost : costs->ops()) {
    EXPECT_EQ(cost.dtype, cost.op == "attention" ? DType::kF16 : DType::kF32) << cost.op;
  }
}

TEST_F(CalibratedCommand, NeverMeasuresIfUnneededOrSwitchedOff) {
  run({"run", "-p", "x", "-n", "2"});
  EXPECT_THAT(kept(), IsEmpty());
  EXPECT_THAT(run({"explain", "--set", "cpu.calibrate=off"}).out, HasSubstr("(estimated;"));
  EXPECT_THAT(kept(), IsEmpty());
  const std::string costs = model_.folder().file("costs.json");
  ASSERT_TRUE(CostModel().save(costs));
  run({"explain", "--costs", costs});
  EXPECT_THAT(kept(), IsEmpty());
}

/// Rules or a file leave nothing to choose; without them two devices are compared.
TEST_F(CalibratedCommand, RunMeasuresOnlyIfCostsDecideThePlacement) {
  const std::string devices = "accel0,cpu0";
  const std::string file = model_.folder().file("a.placement");
  run({"place", "--rules-only", "--set", "cpu.calibrate=off", "-o", file}, devices);
  run({"run", "-p", "x", "-n", "2", "--rules-only"}, devices);
  run({"run", "-p", "x", "-n", "2", "--placement", file}, devices);
  EXPECT_THAT(kept(), IsEmpty());
  run({"run", "-p", "x", "-n", "2"}, devices);
  EXPECT_THAT(kept(), Not(IsEmpty()));
}

TEST_F(CalibratedCommand, OtherBackendOptionsHaveTheirOwnCacheFile) {
  run({"explain"});
  EXPECT_EQ(kept().size(), 1U);
  run({"explain", "--set", "cpu.fuse=off"});
  EXPECT_EQ(kept().size(), 2U);
}

/// Calibration allocates 134 MB; the model has less than 1 MB.
TEST_F(CalibratedCommand, PeakMemoryExcludesCalibration) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "memory that was given back stays in quarantine";
#endif
  const auto peak = [&](const std::string& calibrate) {
    const RunResult result = run({"bench", "model", "--set", "cpu.calibrate=" + calibrate, "-p",
                                  "9", "-n", "0", "-r", "1", "--json"});
    return json::parse(result.out)["peak_memory"].get<double>();
  };
  const double without = peak("off");
  EXPECT_THAT(kept(), IsEmpty());
  EXPECT_LT(peak("on"), without + 16e6);
  EXPECT_EQ(kept().size(), 1U);
}

TEST_F(CalibratedCommand, InvalidCacheFileIsNotedAndReplaced) {
  run({"explain"});
  ASSERT_EQ(kept().size(), 1U);
  std::ofstream(kept().front()) << "nonsense";
  const RunResult again = run({"explain"});
  EXPECT_THAT(again.err, HasSubstr("cpu0 is measured again"));
  EXPECT_THAT(again.out, HasSubstr("cpu0: measured now"));
  EXPECT_THAT(run({"explain"}).err, Not(HasSubstr("measured again")));
}

/// Costs by which each node takes a second on the CPU.
TEST_F(CalibratedCommand, BenchAndExplainPredictTheSameTimes) {
  const RunResult listed = run_command({"devices", "--json", "-t", "1"});
  std::string description;
  const json devices = json::parse(listed.out);
  for (const json& each : devices["devices"]) {
    if (each["name"] == "cpu0") description = each["description"];
  }
  CostModel costs;
  costs.add(OpCost{
      .device = "cpu0", .description = description, .op = std::string(kAnyOp), .overhead = 1});
  const std::string path = model_.folder().file("costs.json");
  ASSERT_TRUE(costs.save(path));
  const auto explained = [&](const std::string& tokens) {
    const json e = json::parse(
        run({"explain", "--costs", path, "--ctx", "12", "--tokens", tokens, "--json"}).out);
    return e["seconds"].get<double>();
  };
  const RunResult result =
      run({"bench", "model", "--costs", path, "-p", "9", "-n", "3", "-r", "1", "--json"});
  const json report = json::parse(result.out);
  EXPECT_EQ(report["times"], json({"cpu0: costs file " + path}));
  ASSERT_EQ(report["tests"].size(), 2U);
  const json& prompt = report["tests"][0];
  EXPECT_NEAR(prompt["predicted_seconds"], explained("9"), 1e-6);
  EXPECT_NEAR(prompt["predicted_ratio"].get<double>() * prompt["seconds"].get<double>(),
              prompt["predicted_seconds"].get<double>(), 1e-6);
  EXPECT_NEAR(report["tests"][1]["predicted_seconds"], 3 * explained("1"), 1e-6);
  EXPECT_THAT(kept(), IsEmpty());
}

}  // namespace
}  // namespace shunt::test::calibrate_test
