// The commands that look at things: devices, inspect, tokenize, ops.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "ops/list.h"
#include "support/models.h"
#include "support/run_command.h"
#include "support/stories.h"
#include "test_paths.h"

namespace shunt::test::commands_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

json json_of(std::vector<std::string> arguments) {
  arguments.push_back("--json");
  const RunResult result = run_command(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out);
}

TEST(Devices, ListsTheCpuLast) {
  const json devices = json_of({"devices"});
  const json& last = devices["devices"].back();
  EXPECT_EQ(last["name"], "cpu0");
  EXPECT_EQ(last["kind"], "CPU");
  EXPECT_EQ(last["twin"], false);
  EXPECT_GT(last["memory_total"], 0);
  EXPECT_THAT(run_command({"devices"}).out, HasSubstr(last["description"].get<std::string>()));
}

TEST(Devices, DeviceWithHostMemorySharesAPoolWithTheCpu) {
  for (const bool pooled : {true, false}) {
    RunOptions options;
    options.environment["SHUNT_BACKEND_PATH"] =
        pooled ? SHUNT_TEST_POOLED_PLUGINS : SHUNT_TEST_PLUGINS;
    const RunResult text = run_command({"devices"}, options);
    const RunResult as_json = run_command({"devices", "--json"}, options);
    const json devices = json::parse(as_json.out)["devices"];
    EXPECT_EQ(devices.back()["host_memory"], true) << "the CPU itself";
    std::size_t shared = 0;
    for (const json& device : devices) {
      const bool is_cpu = device["kind"] == "CPU";
      shared += device["host_memory"] == true && !is_cpu ? 1 : 0;
      if (device["name"] != "test0") continue;
      EXPECT_EQ(device["host_memory"], pooled);
    }
    EXPECT_EQ(
        text.out.find("1.0 GiB of 1.0 GiB free, unified memory with cpu0\n") != std::string::npos,
        pooled)
        << text.out;
    const std::regex said("unified memory with cpu0");
    EXPECT_EQ(std::distance(std::sregex_iterator(text.out.begin(), text.out.end(), said), {}),
              static_cast<std::ptrdiff_t>(shared));
  }
}

TEST(Devices, ListsTheOriginOfBackends) {
  bool found = false;
  const json devices = json_of({"devices"});
  for (const json& backend : devices["backends"]) {
    found = found || (backend["name"] == "cpu" && backend["loaded"] == true &&
                      backend["origin"] == "built in");
  }
  EXPECT_TRUE(found);
}

TEST(Devices, UnavailableVectorLevelIsAnErrorThatListsTheOthers) {
  RunOptions options;
  options.environment["SHUNT_CPU_LEVEL"] = "abacus";
  constexpr const char* kWhy = "vector level \"abacus\": this machine has ";
  EXPECT_THAT(run_command({"devices"}, options).out, HasSubstr(kWhy));
  const SynthModel model;
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"run", "--model", model.path(), "-n", "1"},
        {"explain", "--model", model.path()},
        {"bench", "model", "--model", model.path()},
        {"bench", "ops", "--op", "add"},
        {"check-ops", "--device", "cpu0"}}) {
    const RunResult result = run_command(command, options);
    EXPECT_EQ(result.exit_code, 1) << command[0] << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr(kWhy)) << command[0];
    EXPECT_THAT(result.err, HasSubstr("scalar")) << command[0];
  }
}

TEST(Devices, ListsBackendOptions) {
  RunOptions options;
  options.environment["SHUNT_BACKEND_PATH"] = SHUNT_TEST_PLUGINS;
  options.environment["SHUNT_TUNABLE_DEPTH_2"] = "slow";
  const std::vector<std::string> words = {"devices", "--set", "tunable.speed=fast"};
  auto listed = words;
  listed.emplace_back("--options");
  EXPECT_THAT(run_command(listed, options).out,
              AllOf(testing::ContainsRegex("tunable.speed +fast +slow +SHUNT_TUNABLE_SPEED +how "
                                           "fast it is: slow, fast\n"),
                    testing::ContainsRegex("tunable.depth_2 +slow +fast +SHUNT_TUNABLE_DEPTH_2"),
                    testing::ContainsRegex("cpu.fuse +on +on +SHUNT_CPU_FUSE")));
  auto as_json = words;
  as_json.emplace_back("--json");
  bool found = false;
  const json devices = json::parse(run_command(as_json, options).out);
  for (const json& backend : devices["backends"]) {
    if (backend["name"] != "tunable") continue;
    found = true;
    EXPECT_EQ(backend["options"][0], json({{"name", "speed"},
                                           {"value", "fast"},
                                           {"default", "slow"},
                                           {"variable", "SHUNT_TUNABLE_SPEED"},
                                           {"help", "how fast it is: slow, fast"}}));
  }
  EXPECT_TRUE(found);
}

/// As other flags do.
TEST(Devices, SetOverridesTheEnvironmentAndTheLastSetWins) {
  RunOptions options;
  options.environment["SHUNT_CPU_FUSE"] = "off";
  const auto fuse = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"devices", "--options"};
    words.insert(words.end(), more.begin(), more.end());
    const RunResult result = run_command(words, options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::smatch match;
    const bool found = std::regex_search(result.out, match, std::regex("cpu.fuse +(on|off) +on "));
    return found ? match[1].str() : "not listed";
  };
  EXPECT_EQ(fuse({}), "off");
  EXPECT_EQ(fuse({"--set", "cpu.fuse=on"}), "on");
  EXPECT_EQ(fuse({"--set", "cpu.fuse=on", "--set", "cpu.fuse=off"}), "off");
}

/// Without such memory plain memory is used, and the list of backends has the reason.
TEST(Devices, MissingHighBandwidthMemoryFallsBackWithANote) {
  RunOptions options;
  // hwloc's own: a machine without such nodes, whatever this one has.
  options.environment["HWLOC_SYNTHETIC"] = "package:1 [numa] core:2 pu:1";
  const RunResult result = run_command({"devices", "--set", "cpu.memory=hbm"}, options);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("cpu.memory=hbm: "));
  EXPECT_THAT(result.out, HasSubstr("plain memory is used"));
  EXPECT_THAT(run_command({"devices"}, options).out, testing::Not(HasSubstr("cpu.memory=hbm")));
  const RunResult run = run_command(
      {"check-ops", "--device", "cpu0", "--op", "scale", "--set", "cpu.memory=hbm"}, options);
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

/// hwloc announces its parts each time that it reads a machine.
TEST(Devices, ReadsTheTopologyOnce) {
  RunOptions options;
  options.environment["HWLOC_COMPONENTS_VERBOSE"] = "1";
  const auto times_read = [&](const std::vector<std::string>& words) {
    const RunResult result = run_command(words, options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const std::string line = "Registered discovery component `no_os'";
    int times = 0;
    for (std::size_t at = 0; (at = result.err.find(line, at)) != std::string::npos; ++at) ++times;
    return times;
  };
  EXPECT_EQ(times_read({"devices"}), 1);
  EXPECT_EQ(times_read({"run", "--seed", "1", "-n", "2", "--weights", "copied"}), 1);
}

TEST(Devices, InvalidBackendVariableIsWrongUsage) {
  for (const auto& [variable, value, message] :
       {std::tuple("SHUNT_CPU_FUSE", "0", "SHUNT_CPU_FUSE: \"0\" is not on or off"),
        std::tuple("SHUNT_CPU_FUZE", "on",
                   "SHUNT_CPU_FUZE: the backend cpu has no option \"fuze\""),
        std::tuple("SHUNT_NULL_FUSE", "on", "the backend null has no options")}) {
    RunOptions options;
    options.environment[variable] = value;
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"devices"}, {"check-ops", "--device", "cpu0"}}) {
      const RunResult result = run_command(words, options);
      EXPECT_EQ(result.exit_code, 2) << variable;
      EXPECT_THAT(result.err, HasSubstr(message));
    }
  }
}

/// A setting of a backend that is off has no effect, which a line reports.
TEST(Devices, OptionOfADisabledBackendIsReported) {
  RunOptions options;
  options.environment["SHUNT_CPU_LEVEL"] = "abacus";
  const RunResult result =
      run_command({"check-ops", "--device", "null0", "--set", "cpu.fuse=off"}, options);
  EXPECT_THAT(result.err, HasSubstr("backend cpu is not available, so its options have no effect: "
                                    "vector level"));
}

TEST(Inspect, ShowsMetadataTensorsAndTotals) {
  const SynthModel model;
  const json file = json_of({"inspect", model.path()});
  EXPECT_EQ(file["version"], 3);
  EXPECT_EQ(file["tensors"][0]["name"], "token_embd.weight");
  EXPECT_EQ(file["tensors"][0]["shape"], json({64, 512}));
  EXPECT_EQ(file["tensors"][0]["bytes"], 64 * 512 * 4);
  EXPECT_EQ(file["tensors"][0]["offset"], 0);
  EXPECT_EQ(file["types"][0]["type"], "F32");
  EXPECT_EQ(file["types"][0]["tensors"], file["tensors"].size());

  EXPECT_EQ(file["tokenizer"]["tokens"], 512);
  EXPECT_EQ(file["tokenizer"]["ends_of_generation"], json({{{"id", 2}, {"text", "</s>"}}}));

  const std::string text = run_command({"inspect", model.path()}).out;
  EXPECT_THAT(text, HasSubstr("llama, 512 tokens\n  ends a generation: 2 '</s>'\n"));
  EXPECT_THAT(text, HasSubstr("general.architecture"));
  EXPECT_THAT(text, HasSubstr("'<unk>', '<s>', '</s>'"));
  EXPECT_THAT(text, HasSubstr("..."));
  EXPECT_THAT(text, testing::Not(HasSubstr("blk.1.ffn_down.weight")));
  EXPECT_THAT(run_command({"inspect", "--tensors", model.path()}).out,
              HasSubstr("blk.1.ffn_down.weight"));
}

TEST(Inspect, EscapesControlCharactersOfMetadata) {
  const SynthModel model;
  const std::string path = model.folder().file("odd.gguf");
  write_edited(model.path(), path, [](EditedFile& file) {
    file.set("general.name", {gguf::ValueType::kString, std::string("\x1b[2J\xff")});
  });
  const RunResult text = run_command({"inspect", path});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_EQ(text.out.find('\x1b'), std::string::npos);
  json_of({"inspect", path});
}

TEST(Inspect, MissingFileIsAnError) {
  const RunResult result = run_command({"inspect", "/nonexistent.gguf"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("/nonexistent.gguf"));
}

TEST(Tokenize, EncodesAndDecodesWithTheModelsTokenizer) {
  const std::string& model = stories().path;
  const std::string& text = stories().prompt;
  const std::string ids = fmt::format("{}", fmt::join(stories().prompt_ids, " "));
  EXPECT_EQ(run_command({"tokenize", "-m", model, "--ids", text}).out, ids + "\n");
  ASSERT_TRUE(ids.starts_with("0 "));
  EXPECT_EQ(run_command({"tokenize", "-m", model, "--ids", "--no-special", text}).out,
            ids.substr(2) + "\n");
  EXPECT_EQ(run_command({"tokenize", "-m", model, "--decode", ids}).out, text + "\n");
  EXPECT_EQ(run_command({"tokenize", "-m", model, "--decode", "0, 283,\n259"}).out, " was a\n");
  EXPECT_EQ(run_command({"tokenize", "-m", model, " was a"}).out,
            "      0  '<|end|>'\n    283  ' was'\n    259  ' a'\n");
}

TEST(Tokenize, ReadsStandardInputUnchanged) {
  const SynthModel model;
  RunOptions options;
  options.input = "a\n";
  const std::string ids = run_command({"tokenize", "-m", model.path(), "--ids"}, options).out;
  EXPECT_THAT(ids, testing::EndsWith(" 13\n"));  // <0x0A>
  if (!has_terminals()) GTEST_SKIP() << "this system has no pseudo-terminals";
  options.terminal_input = true;
  EXPECT_EQ(run_command({"tokenize", "-m", model.path()}, options).exit_code, 1);
}

TEST(Tokenize, ReadsControlTokensOnlyWhenAsked) {
  const SynthModel model;
  const std::vector<std::string> words = {"tokenize", "-m",           model.path(),
                                          "--ids",    "--no-special", "</s>"};
  EXPECT_NE(run_command(words).out, "2\n");
  std::vector<std::string> asked = words;
  asked.push_back("--parse-special");
  EXPECT_EQ(run_command(asked).out, "2\n");
}

TEST(Tokenize, JsonIsValidForPartialUtf8) {
  const SynthModel model;
  const json tokens = json_of({"tokenize", "-m", model.path(), "\xe4\xb8\xad\xff"});
  EXPECT_EQ(tokens["text"], "\xe4\xb8\xad\xef\xbf\xbd");
  EXPECT_EQ(tokens["tokens"][0]["type"], "control");
  EXPECT_EQ(tokens["tokens"].size(), 2u + 3 + 3);  // BOS, a space, six bytes
}

TEST(Tokenize, IdOutsideTheVocabularyIsAnError) {
  const SynthModel model;
  const RunResult result = run_command({"tokenize", "-m", model.path(), "--decode", "512"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("512"));
}

TEST(Ops, AllAreListedAndDocumented) {
  const json ops = json_of({"ops"});
  const std::string text = run_command({"ops"}).out;
  const std::string markdown = run_command({"ops", "--markdown"}).out;
  ASSERT_EQ(ops.size(), all_ops().size());
  for (const json& op : ops) {
    const std::string name = op["name"];
    EXPECT_FALSE(op["summary"].get<std::string>().empty()) << name;
    EXPECT_THAT(text, HasSubstr(name));
    EXPECT_THAT(markdown, HasSubstr("| `" + name + "` |"));
  }
}

TEST(Ops, ShowsASingleOpInFull) {
  const RunResult result = run_command({"ops", "rms_norm"});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* part : {"rms_norm", "norm", "eps", "sqrt"}) {
    EXPECT_THAT(result.out, HasSubstr(part));
  }
  EXPECT_EQ(json_of({"ops", "rms_norm"})["name"], "rms_norm");
}

}  // namespace
}  // namespace shunt::test::commands_test
