// Transcoded weights as users see them: `run`, `explain` and `place` with --transcode, and
// --memory-margin. The device comes as a plugin: test0, which has matmul and add, and needs weights
// of F32 and Q4_0 as Q8_0.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/models.h"
#include "support/run_command.h"
#include "support/shared.h"
#include "test_paths.h"

namespace shunt::test::transcode_command_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

SynthOptions shape(DType dtype) {
  SynthOptions options;
  options.dtype = dtype;
  return options;
}

class TranscodeCommand : public testing::Test {
 protected:
  RunResult run(const std::vector<std::string>& arguments) {
    RunOptions options;
    options.environment["SHUNT_BACKEND_PATH"] = SHUNT_TEST_PLUGINS_Q8_ONLY;
    return run_command(arguments, options);
  }
  RunResult greedy(const SynthModel& model, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"run", "-m", model.path(), "-p",     "x", "-n",
                                          "4",   "-c", "64",         "--temp", "0", "--ignore-eos"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  json explain(const SynthModel& model, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"explain", "-m", model.path(), "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const RunResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out);
  }

  // 2 layers of width 64: four matrices of attention, three of 64 x 192; and the output.
  static constexpr std::uint64_t kValues =
      2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 192) + 64 * 512;
  static constexpr std::uint64_t kBefore = kValues / 32 * 18;
  static constexpr std::uint64_t kAfter = kValues / 32 * 34;
  SynthModel q4_{shape(DType::kQ4_0)};
  SynthModel f32_{shape(DType::kF32)};
};

TEST_F(TranscodeCommand, RunReportsTranscodedWeights) {
  const RunResult result = greedy(q4_, {});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err,
              testing::ContainsRegex(
                  "shunt: test0: 15 weights came as Q8_0 instead of Q4_0: error "
                  "[1-9]\\.[0-9]e-0[56] \\(normalised mean square\\), 64\\.0 KiB more\n"));
  EXPECT_EQ(result.out, greedy(q4_, {"--devices", "cpu0"}).out);
  const RunResult never = greedy(q4_, {"--transcode", "never"});
  EXPECT_THAT(
      never.err,
      AllOf(HasSubstr("a kernel for it would change that, and --transcode precise for 15 others ("),
            Not(HasSubstr("came as"))));
  EXPECT_EQ(never.out, result.out);
}

TEST_F(TranscodeCommand, LessPreciseTypesNeedTheLossyFlag) {
  EXPECT_THAT(greedy(f32_, {}).err, Not(HasSubstr("came as")));
  const RunResult denied = greedy(f32_, {"--fallback", "deny"});
  EXPECT_EQ(denied.exit_code, 1);
  EXPECT_THAT(denied.err, HasSubstr("15 matmul (test0 needs w as Q8_0 instead of F32; that type is "
                                    "less precise: see --transcode lossy)"));
  const RunResult pinned = greedy(f32_, {"--place", "blk.0.ffn_down=test0"});
  EXPECT_EQ(pinned.exit_code, 1);
  EXPECT_THAT(pinned.err, HasSubstr("(see --transcode lossy)"));
  const RunResult lossy = greedy(f32_, {"--place", "blk.0.ffn_down=test0", "--transcode", "lossy"});
  EXPECT_EQ(lossy.exit_code, 0) << lossy.err;
  EXPECT_THAT(lossy.err, HasSubstr("test0: 15 weights came as Q8_0 instead of F32: error "));
}

TEST_F(TranscodeCommand, ExplainShowsTranscodedWeightsInEveryFormat) {
  const json e = explain(q4_);
  ASSERT_EQ(e["transcoded"].size(), 15U);
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  for (const json& weight : e["transcoded"]) {
    EXPECT_EQ(weight["device"], "test0");
    EXPECT_EQ(weight["from"], "Q4_0");
    EXPECT_EQ(weight["to"], "Q8_0");
    EXPECT_EQ(weight["reason"], "test0 supports w of matmul only in this type");
    before += weight["bytes_before"].get<std::uint64_t>();
    after += weight["bytes"].get<std::uint64_t>();
  }
  EXPECT_EQ(before, kBefore);
  EXPECT_EQ(after, kAfter);
  EXPECT_EQ(e["devices"][0]["weight_bytes"], kAfter);
  const std::string line =
      "test0: 15 weights come as Q8_0 instead of Q4_0 (test0 supports w of matmul only in this "
      "type), 64.0 KiB "
      "more";
  EXPECT_THAT(run({"explain", "-m", q4_.path()}).out, HasSubstr("transcoded\n  " + line + "\n"));
  const std::string page = q4_.folder().file("page.html");
  ASSERT_EQ(run({"explain", "-m", q4_.path(), "--html", page}).exit_code, 0);
  EXPECT_THAT(test::read_file(page), HasSubstr("transcoded: " + line));

  EXPECT_EQ(explain(q4_, {"--transcode", "never"})["transcoded"].size(), 0U);
  EXPECT_EQ(explain(q4_, {"--devices", "cpu0"})["transcoded"].size(), 0U);
  const json never = explain(f32_);
  bool seen = false;
  for (const json& segment : never["segments"]) {
    for (const json& node : segment["nodes"]) {
      if (node["op"] != "matmul") continue;
      seen = true;
      EXPECT_EQ(node["rejected"][0]["reason"],
                "test0 needs w as Q8_0 instead of F32; that type is less precise");
      EXPECT_EQ(node["fell_back"], true);
    }
  }
  EXPECT_TRUE(seen);
}

TEST_F(TranscodeCommand, PlacementFileRecordsTranscodedTypesAndIsFollowed) {
  const RunResult placed = run({"place", "-m", q4_.path()});
  EXPECT_EQ(placed.exit_code, 0) << placed.err;
  EXPECT_THAT(placed.out, HasSubstr("\n# test0: 15 weights come as Q8_0 instead of Q4_0"));
  EXPECT_THAT(placed.out,
              testing::ContainsRegex(
                  "blk.0.attn_k.weight +weight +test0 +# 2176, [0-9.]+ us, weights: test0 "
                  "computes all ops that use it, as Q8_0 instead of Q4_0 "));
  const std::string path = q4_.folder().file("a.placement");
  std::ofstream(path) << placed.out;
  const RunResult followed = greedy(q4_, {"--placement", path});
  EXPECT_EQ(followed.exit_code, 0) << followed.err;
  EXPECT_THAT(followed.err, HasSubstr("15 weights came as Q8_0 instead of Q4_0"));
  EXPECT_EQ(followed.out, greedy(q4_, {}).out);
  const RunResult never = greedy(q4_, {"--placement", path, "--transcode", "never"});
  EXPECT_EQ(never.exit_code, 1);
  EXPECT_THAT(never.err, AllOf(testing::ContainsRegex("a.placement:[0-9]+: test0 can't compute"),
                               HasSubstr("transcoding is off (see --transcode precise)")));
}

TEST_F(TranscodeCommand, LeavesTheMarginFree) {
  // test0 has 1 GiB: so much margin that nothing but that fits.
  const auto weights_on_test0 = [&](const std::string& margin) -> json {
    const json explained = explain(q4_, {"--memory-margin", margin});
    for (const json& device : explained["devices"]) {
      if (device["name"] == "test0") return device["weight_bytes"];
    }
    return nullptr;
  };
  EXPECT_EQ(weights_on_test0("0"), kAfter);
  EXPECT_EQ(weights_on_test0("1000MiB"), kAfter);
  EXPECT_EQ(weights_on_test0("1GiB"), 0);
  EXPECT_THAT(run({"explain", "-m", q4_.path(), "--memory-margin", "1000MiB"}).out,
              HasSubstr("(1000.0 MiB reserved)"));
  EXPECT_THAT(run({"place", "-m", q4_.path(), "--memory-margin", "1GiB"}).out,
              Not(HasSubstr("as Q8_0 instead")));
  const RunResult all = greedy(q4_, {"--memory-margin", "1GiB"});
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_THAT(all.err, Not(HasSubstr("came as")));
}

TEST_F(TranscodeCommand, WrongFlagsAreWrongUsage) {
  for (const char* command : {"run", "explain", "place"}) {
    for (const std::vector<std::string>& flags :
         {std::vector<std::string>{"--transcode", "sometimes"}, {"--memory-margin", "much"}}) {
      const RunResult result = run({command, "-m", q4_.path(), flags[0], flags[1]});
      EXPECT_EQ(result.exit_code, 2) << command;
      EXPECT_THAT(result.err, HasSubstr(flags[1]));
    }
  }
}

}  // namespace
}  // namespace shunt::test::transcode_command_test
