// A device compared with another one, with a model: `shunt verify`, and verify() from a program.
// The device comes as a plugin: test0, which has matmul and add; or another test0, whose sums are
// 1% too large.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "shunt/engine.h"
#include "shunt/verify_model.h"
#include "support/adapters.h"
#include "support/models.h"
#include "support/run_command.h"
#include "support/stories.h"
#include "test_paths.h"

namespace shunt::test::verify_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

RunResult verify_with(const std::string& plugins, const std::string& model,
                      std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"verify", "--model", model, "--device", "test0"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  RunOptions options;
  options.environment["SHUNT_BACKEND_PATH"] = plugins;
  return run_command(arguments, options);
}

json json_of(const RunResult& result) {
  EXPECT_THAT(result.out, HasSubstr("{")) << result.err;
  return json::parse(result.out);
}

SynthOptions of_type(DType type) {
  SynthOptions options;
  options.dtype = type;
  return options;
}

TEST(VerifyCommand, CorrectDevicePassesForEveryWeightType) {
  for (DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0}) {
    const SynthModel model(of_type(type));
    const RunResult result = verify_with(SHUNT_TEST_PLUGINS, model.path(), {"--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    const json found = json_of(result);
    EXPECT_EQ(found["wrong"], 0) << to_string(type);
    // 2 layers of 7 products and 2 sums, and the output; once for the prompt, once for one token.
    EXPECT_EQ(found["compared"], 2 * (2 * 9 + 1)) << to_string(type);
    EXPECT_EQ(found["operations"], found["compared"].get<int>() + found["unsupported"].get<int>());
    EXPECT_EQ(found["nodes"].size(), found["operations"]);
    ASSERT_THAT(found["steps"], SizeIs(2));
    EXPECT_EQ(found["steps"][1], 1);
  }
}

TEST(VerifyCommand, ReportsAWrongKernel) {
  const SynthModel model;
  const RunResult result = verify_with(SHUNT_TEST_WRONG_PLUGINS, model.path(), {"--json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("shunt: " + model.path() + ": 8 of 38 operations"),
                                HasSubstr("wrong on test0"), HasSubstr("(add): error 0.0001")));
  const json found = json_of(result);
  EXPECT_EQ(found["wrong"], 8);
  EXPECT_EQ(found["ops"][0]["op"], "add");
  EXPECT_EQ(found["ops"][0]["over"], 8);
  for (std::size_t i = 0; i < 38; ++i) {
    const json& node = found["nodes"][i];
    EXPECT_EQ(node["op"], i < 8 ? "add" : "matmul");
    EXPECT_EQ(node["wrong"], i < 8);
    if (i < 8) {
      EXPECT_NEAR(node["error"].get<double>(), 1e-4, 1e-8);
    }
  }
}

TEST(VerifyCommand, ComparesTheLogitsOfTheWholeModel) {
  const SynthModel model;
  const json correct =
      json_of(verify_with(SHUNT_TEST_PLUGINS, model.path(), {"--json", "-n", "5"}))["logits"];
  EXPECT_EQ(correct["tokens"], 5);
  EXPECT_EQ(correct["devices"], json({"test0", "cpu0"}));
  EXPECT_LT(correct["error"], 1e-9);
  EXPECT_GT(correct["error"], 0) << "sums of products in another order";
  EXPECT_EQ(correct["first"], json());

  // Sums that are 1% too large make all that follows too large, up to the norm of the output.
  const RunResult text = verify_with(SHUNT_TEST_WRONG_PLUGINS, model.path());
  EXPECT_THAT(
      text.out,
      testing::ContainsRegex(
          "\nlogits of 32 generated tokens, the whole model on test0 and cpu0: "
          "error [0-9.e-]+, difference [0-9.e-]+ .root mean square., [0-9.e-]+ at most\nthe "
          "likeliest token "));
  const json wrong =
      json_of(verify_with(SHUNT_TEST_WRONG_PLUGINS, model.path(), {"--json"}))["logits"];
  EXPECT_GT(wrong["error"], 100 * correct["error"].get<double>());
  EXPECT_EQ(json_of(verify_with(SHUNT_TEST_PLUGINS, model.path(), {"--json", "-n", "0"}))["logits"],
            json());
  EXPECT_EQ(verify_with(SHUNT_TEST_PLUGINS, model.path(), {"-n", "-1"}).exit_code, 2);
}

TEST(VerifyCommand, ProductsOfAdaptersAreComparedToo) {
  const SynthModel model;
  const std::string path = model.folder().file("adapter.gguf");
  write_adapter(path, random_adapter("llama", adaptable_weights(model.path()), 2, 1));
  const auto found = [&](const std::string& plugins, std::vector<std::string> more) {
    more.insert(more.end(), {"--json", "-n", "4"});
    return json_of(verify_with(plugins, model.path(), more));
  };
  const json adapted = found(SHUNT_TEST_PLUGINS, {"--lora", path});
  EXPECT_EQ(adapted["wrong"], 0);
  EXPECT_GT(adapted["compared"], found(SHUNT_TEST_PLUGINS, {})["compared"]);
  EXPECT_EQ(adapted["logits"]["tokens"], 4);
  EXPECT_LT(adapted["logits"]["error"], 1e-5);
  EXPECT_GT(adapted["logits"]["error"], 0) << "sums of products in another order";
  EXPECT_GT(found(SHUNT_TEST_WRONG_PLUGINS, {"--lora", path + "=0.5"})["wrong"], 0);

  const RunResult refused = verify_with(SHUNT_TEST_PLUGINS, model.path(), {"--lora", model.path()});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(model.path()), HasSubstr("adapter")));
}

TEST(VerifyCommand, TextShowsTheWorstFirst) {
  const SynthModel model;
  const RunResult result =
      verify_with(SHUNT_TEST_WRONG_PLUGINS, model.path(), {"--top", "3", "--prompt", "Hello"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("test0 against cpu0"), HasSubstr("8 wrong"),
                                HasSubstr("worst 3 of 38\n"), HasSubstr("largest difference at ["),
                                HasSubstr("test0 has no kernel for rms_norm")));
  const std::size_t add = result.out.find("\nadd ");
  const std::size_t matmul = result.out.find("\nmatmul ");
  ASSERT_NE(add, std::string::npos);
  EXPECT_LT(add, matmul);
}

TEST(VerifyCommand, ThresholdFlagOverridesTheDefault) {
  const SynthModel model;
  const RunResult loose =
      verify_with(SHUNT_TEST_WRONG_PLUGINS, model.path(), {"--threshold", "0.001"});
  EXPECT_EQ(loose.exit_code, 0) << loose.err;
  const RunResult exact =
      verify_with(SHUNT_TEST_PLUGINS, model.path(), {"--threshold", "0", "--json"});
  EXPECT_EQ(exact.exit_code, 1);  // sums of products in another order
  EXPECT_EQ(json_of(exact)["ops"][0]["op"], "matmul");
}

/// The tensors of the nodes of an op, as each node describes them.
std::vector<std::string> tensors_of(const json& found, const std::string& op) {
  std::vector<std::string> tensors;
  for (const json& node : found["nodes"])
    if (node["op"] == op) tensors.push_back(node["tensors"]);
  return tensors;
}

TEST(VerifyCommand, WeightsAreTranscodedToTheTypeOfTheDevice) {
  const SynthModel model(of_type(DType::kQ4_0));
  const RunResult result = verify_with(SHUNT_TEST_PLUGINS_Q8_ONLY, model.path());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr(": 38 compared, 0 wrong, "),
                    testing::ContainsRegex(
                        "\ntest0: 15 weights came as Q8_0 instead of Q4_0: error "
                        "[1-9].[0-9]e-0[56] .normalised mean square., 64.0 KiB more\n")));
  const json found = json_of(verify_with(SHUNT_TEST_PLUGINS_Q8_ONLY, model.path(), {"--json"}));
  EXPECT_THAT(found["transcoded"], SizeIs(15));
  EXPECT_EQ(found["transcoded"][0]["to"], "Q8_0");
  EXPECT_GT(found["transcoded"][0]["error"], 0.0);
  const auto tensors = tensors_of(found, "matmul");
  EXPECT_THAT(tensors, SizeIs(30));
  EXPECT_THAT(tensors, testing::Each(testing::StartsWith("Q8_0 [")));

  const RunResult never =
      verify_with(SHUNT_TEST_PLUGINS_Q8_ONLY, model.path(), {"--transcode", "never"});
  EXPECT_EQ(never.exit_code, 0) << never.err;
  EXPECT_THAT(never.out,
              AllOf(HasSubstr(": 8 compared, 0 wrong, "),
                    HasSubstr("30  test0 needs w as Q8_0 instead of Q4_0; transcoding is off\n")));
  EXPECT_EQ(verify_with("", model.path(), {"--transcode", "some"}).exit_code, 2);
}

TEST(VerifyCommand, ReferenceDeviceMayUseTranscodedWeights) {
  const SynthModel model(of_type(DType::kQ4_0));
  RunOptions options;
  options.environment["SHUNT_BACKEND_PATH"] = SHUNT_TEST_PLUGINS_Q8_ONLY;
  const auto against_test0 = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"verify", "-m",        model.path(), "-d",
                                      "cpu0",   "--against", "test0",      "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const RunResult result = run_command(words, options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json_of(result);
  };
  EXPECT_THAT(tensors_of(against_test0({}), "matmul"),
              testing::Each(testing::StartsWith("Q8_0 [")));
  EXPECT_THAT(tensors_of(against_test0({"--transcode", "never"}), "matmul"),
              testing::Each(testing::StartsWith("Q4_0 [")));
}

TEST(VerifyCommand, DeviceAgainstItselfIsExact) {
  const SynthModel model;
  const RunResult alone =
      run_command({"verify", "-m", model.path(), "-d", "cpu0", "--threshold", "0", "--json"});
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  const json found = json_of(alone);
  EXPECT_EQ(found["unsupported"], 0);
  EXPECT_EQ(found["logits"]["error"], 0);
}

TEST(VerifyCommand, ReferenceDeviceMaySupportFewOps) {
  const SynthModel model;
  RunOptions options;
  options.environment["SHUNT_BACKEND_PATH"] = SHUNT_TEST_WRONG_PLUGINS;
  const RunResult result = run_command(
      {"verify", "-m", model.path(), "-d", "cpu0", "--against", "test0", "--json"}, options);
  EXPECT_EQ(result.exit_code, 1);
  const json found = json_of(result);
  EXPECT_EQ(found["unsupported"], 0);
  EXPECT_EQ(found["ops"][0]["op"], "add");  // only that is wrong there
  EXPECT_EQ(found["ops"][1]["over"], 0);
}

TEST(VerifyCommand, NothingComparedIsAnError) {
  const SynthModel model;
  const RunResult result = run_command({"verify", "-m", model.path(), "--device", "null0"});
  if (result.err.find("there is no device") != std::string::npos)
    GTEST_SKIP() << "there is no null backend in this build";
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr(": 0 compared, 0 wrong, "));
  EXPECT_THAT(result.err,
              testing::MatchesRegex(
                  "shunt: [^\n]*: nothing was compared: null0 supports none of [0-9]+ operations; "
                  "the first is [^\n]*[(]get_rows[)]: no kernel for get_rows\n"));
  const RunResult in_json =
      run_command({"verify", "-m", model.path(), "--device", "null0", "--json"});
  EXPECT_EQ(in_json.err, result.err);
  EXPECT_EQ(json_of(in_json)["compared"], 0);

  const RunResult reference_device = run_command(
      {"verify", "-m", model.path(), "--device", "cpu0", "--against", "null0", "--json"});
  EXPECT_EQ(reference_device.exit_code, 0) << reference_device.err;
  EXPECT_EQ(reference_device.err, "shunt: " + model.path() +
                                      ": null0 computed no operation; the reference results are "
                                      "from cpu0 (see shunt explain --devices null0)\n");
  const json found = json_of(reference_device);
  EXPECT_EQ(found["reference"], json({{"cpu0", found["operations"]}}));
  EXPECT_EQ(found["nodes"][0]["reference"], "cpu0");
}

TEST(VerifyCommand, ReportsTheDevicesOfTheReferenceRun) {
  const SynthModel model;
  RunOptions options;
  options.environment["SHUNT_BACKEND_PATH"] = SHUNT_TEST_PLUGINS;
  const std::vector<std::string> words = {"verify", "-m",        model.path(), "-d",
                                          "cpu0",   "--against", "test0"};
  const RunResult result = run_command(words, options);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  // Products and sums, as above; it has no other ops.
  EXPECT_THAT(result.out, testing::ContainsRegex(
                              "\nreference run: test0 38 operations, cpu0 [0-9]+ operations\n"));
  auto in_json = words;
  in_json.push_back("--json");
  const json found = json_of(run_command(in_json, options));
  EXPECT_EQ(found["reference"]["test0"], 38);
  EXPECT_EQ(found["reference"]["cpu0"].get<int>() + 38, found["operations"]);
  for (const json& node : found["nodes"]) {
    const bool has = node["op"] == "matmul" || node["op"] == "add";
    EXPECT_EQ(node["reference"], has ? "test0" : "cpu0") << node;
  }
}

TEST(VerifyCommand, ReportsWrongUsageAndMissingFilesAndDevices) {
  const SynthModel model;
  EXPECT_EQ(run_command({"verify", "--model", model.path()}).exit_code, 2);
  EXPECT_EQ(verify_with("", model.path(), {"--threshold", "-1"}).exit_code, 2);
  EXPECT_EQ(verify_with("", model.path(), {"--threshold", "nan"}).exit_code, 2);
  const RunResult device = run_command({"verify", "-m", model.path(), "-d", "cuda99"});
  EXPECT_EQ(device.exit_code, 1);
  EXPECT_THAT(device.err, HasSubstr("cuda99"));
  const RunResult against =
      run_command({"verify", "-m", model.path(), "-d", "cpu0", "--against", "cuda98"});
  EXPECT_EQ(against.exit_code, 1);
  EXPECT_THAT(against.err, HasSubstr("cuda98"));
  const RunResult file = run_command({"verify", "-m", "/nonexistent/m.gguf", "-d", "cpu0"});
  EXPECT_EQ(file.exit_code, 1);
  EXPECT_THAT(file.err, HasSubstr("/nonexistent/m.gguf"));
}

TEST(VerifyCommand, DefaultModelPassesAndDetectsAWrongKernel) {
  const RunResult right = verify_with(SHUNT_TEST_PLUGINS, stories().path);
  EXPECT_EQ(right.exit_code, 0) << right.err;
  const RunResult wrong = verify_with(SHUNT_TEST_WRONG_PLUGINS, stories().path);
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("(add): error 0.0001"));
}

// ---- from a program

class VerifyModel : public testing::Test {
 protected:
  VerifyModel() : registry_(*Registry::create({})), device_(registry_->find("cpu0")) {
    model_ = *Model::load(synth_.path(), *registry_, {.devices = {"cpu0"}, .progress = {}});
  }
  SynthModel synth_;
  std::unique_ptr<Registry> registry_;
  Result<Device*> device_;
  std::shared_ptr<const Model> model_;
};

TEST_F(VerifyModel, LongPromptsAreSplitIntoTheStepsOfASession) {
  const std::vector<std::int32_t> prompt(600, 7);
  const auto steps = verify(*model_, **device_, prompt);
  ASSERT_TRUE(steps) << steps.error().message();
  ASSERT_THAT(*steps, SizeIs(3));
  EXPECT_EQ((*steps)[0].tokens, 512);
  EXPECT_EQ((*steps)[1].tokens, 87);
  EXPECT_EQ((*steps)[2].tokens, 1);
  for (const VerifiedStep& step : *steps)
    for (const NodeCheck& check : step.checks) EXPECT_EQ(check.error, 0) << check.name;
}

TEST_F(VerifyModel, OneTokenIsOneStep) {
  const std::int32_t token = 7;
  const auto steps = verify(*model_, **device_, {&token, 1});
  ASSERT_TRUE(steps) << steps.error().message();
  ASSERT_THAT(*steps, SizeIs(1));
}

TEST_F(VerifyModel, RejectsInvalidPrompts) {
  const std::vector<std::vector<std::int32_t>> prompts = {
      {}, {-1}, {512}, std::vector<std::int32_t>(2049, 7)};
  for (const auto& prompt : prompts) {
    const auto steps = verify(*model_, **device_, prompt);
    ASSERT_FALSE(steps);
    EXPECT_EQ(steps.error().code(), ErrorCode::kInvalidArgument);
  }
}

TEST_F(VerifyModel, CancelEndsTheVerification) {
  std::atomic<bool> cancel{false};
  std::size_t done = 0;
  VerifyModelOptions options;
  options.cancel = &cancel;
  options.progress = [&](std::size_t now, std::size_t) {
    done = now;
    cancel = now == 5;
  };
  const std::vector<std::int32_t> prompt = {1, 7, 8};
  const auto steps = verify(*model_, **device_, prompt, options);
  ASSERT_FALSE(steps);
  EXPECT_EQ(steps.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(done, 5U);
}

}  // namespace
}  // namespace shunt::test::verify_test
