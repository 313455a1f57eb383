// Usage that makes no sense: exit code 2, nothing on standard output, and a message with the
// culprit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/run_command.h"

namespace shunt::test::wrong_usage_test {
namespace {

using testing::HasSubstr;

struct Usage {
  std::vector<std::string> arguments;
  std::string message;  ///< a part of it
};

void PrintTo(const Usage& usage, std::ostream* out) {
  *out << testing::PrintToString(usage.arguments);
}

std::vector<std::string> run_with(std::vector<std::string> more) {
  std::vector<std::string> words = {"run", "--model", "model.gguf", "--prompt", "x"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class WrongUsage : public testing::TestWithParam<Usage> {};

TEST_P(WrongUsage, IsExitCode2) {
  const RunResult result = run_command(GetParam().arguments);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Flags, WrongUsage,
    testing::Values(
        Usage{{"quantize", "a", "b", "Q8_0", "--set", "cpu.fuse=off"}, "no option \"--set\""},
        Usage{{"quantize", "a", "b", "Q8_0", "--library", "blas=x"}, "no option \"--library\""},
        Usage{{}, "usage"}, Usage{{"rum"}, "did you mean \"run\""}, Usage{{"--bogus"}, "--bogus"},
        Usage{run_with({"--bogus"}), "--bogus"}, Usage{run_with({"--thread", "1"}), "--threads"},
        Usage{run_with({"--threads", "-1"}), "-1"}, Usage{run_with({"--threads=-1"}), "-1"},
        Usage{run_with({"--threads", "two"}), "two"}, Usage{run_with({"--threads", "1.5"}), "1.5"},
        Usage{run_with({"--threads", "99999999999"}), "99999999999"},
        Usage{run_with({"--threads"}), "needs a value"},
        Usage{run_with({"-n", "1", "-n", "2"}), "twice"}, Usage{run_with({"-n", "x"}), "x"},
        Usage{run_with({"-n", "-2"}), "-2"}, Usage{run_with({"--temp", "hot"}), "hot"},
        Usage{run_with({"--temp", "-1"}), "-1"}, Usage{run_with({"--temp", "nan"}), "nan"},
        Usage{run_with({"--temp", "1e99"}), "1e99"}, Usage{run_with({"--top-p", "2"}), "2"},
        Usage{run_with({"--top-k", "-1"}), "-1"}, Usage{run_with({"--min-p", "-0.1"}), "-0.1"},
        Usage{run_with({"--repeat-penalty", "0"}), "0"},
        Usage{run_with({"--penalty-last", "-3"}), "-3"}, Usage{run_with({"--seed", "-1"}), "-1"},
        Usage{run_with({"--seed", ""}), "\"\""}, Usage{run_with({"--ctx", "-1"}), "-1"},
        Usage{run_with({"--batch", "0"}), "0"},
        Usage{run_with({"--cache-type", "q4_1"}), "q8_0 or q4_0"},
        Usage{run_with({"--cache-type", "cheap"}), "cheap"},
        Usage{run_with({"--weights", "moved"}), "\"moved\" is not auto, mapped or copied"},
        Usage{run_with({"--weights"}), "needs a value"},
        Usage{{"explain", "--model", "model.gguf", "--weights", "all"}, "auto, mapped or copied"},
        Usage{run_with({"--devices", "cpu0,,cpu1"}), "cpu0,,cpu1"},
        Usage{run_with({"--ctx", "16777217"}), "16777217 is out of range; expected 0 to 16777216"},
        Usage{{"explain", "--ctx", "16777217"}, "16777217 is out of range; expected 0 to 16777216"},
        Usage{{"place", "--ctx", "16777217"}, "16777217 is out of range; expected 0 to 16777216"},
        Usage{{"perplexity", "--ctx", "16777217", "x"},
              "16777217 is out of range; expected 0 to 16777216"},
        Usage{{"imatrix", "--ctx", "16777217", "-o", "x", "x"},
              "16777217 is out of range; expected 0 to"},
        Usage{{"bench", "model", "--model", "model.gguf", "-p", "16777216", "-d", "1"}, "context"},
        Usage{{"bench", "train", "--model", "model.gguf", "--ctx", "1"}, "context is 1"},
        Usage{run_with({"--place", "[=cpu0"}), "--place: regular expression [: missing"},
        Usage{{"explain", "--place", "[=cpu0"}, "--place: regular expression [: missing"},
        Usage{run_with({"--set", "fuse=off"}), "is not a setting such as cpu.fuse=off"},
        Usage{run_with({"--set", "cpu.fuse"}), "is not a setting such as cpu.fuse=off"},
        Usage{run_with({"--set", ".fuse=off"}), "is not a setting such as cpu.fuse=off"},
        Usage{run_with({"--set", "cpu.=off"}), "is not a setting such as cpu.fuse=off"},
        Usage{run_with({"--set", "cpu.fuse=maybe"}), "cpu.fuse: \"maybe\" is not on or off"},
        Usage{run_with({"--set", "cpu.memory=fast"}), "cpu.memory: \"fast\" is not plain or hbm"},
        Usage{run_with({"--set", "cpu.fuse="}), "cpu.fuse: \"\" is not on or off"},
        Usage{run_with({"--set", "cpu.fuze=on"}), "its options: level, fuse"},
        Usage{run_with({"--set", "gpu.fuse=on"}), "there is no backend \"gpu\"; backends with"},
        Usage{run_with({"--set", "*.fuze=on"}), "no backend has an option \"fuze\""},
        Usage{run_with({"--devices", ""}), "list"}, Usage{run_with({"--json=yes"}), "json"}));

INSTANTIATE_TEST_SUITE_P(
    Sources, WrongUsage,
    testing::Values(
        Usage{run_with({"another"}), "two times"}, Usage{run_with({"--file", "f"}), "two times"},
        Usage{run_with({"one", "--file", "f"}), "three times"},
        Usage{{"run", "--model", "m", "one", "two"}, "two"},
        Usage{run_with({"--prompts", "f"}),
              "two times: --prompt, PROMPT, --file, --prompts and --messages "
              "exclude each other"},
        Usage{{"run", "one", "--prompts", "f"}, "two times"},
        Usage{{"run", "-f", "g", "--prompts", "f"}, "two times"},
        Usage{run_with({"one", "-f", "g", "--prompts", "f"}), "four times"},
        Usage{run_with({"--messages", "f"}), "two times"},
        Usage{run_with({"one", "-f", "g", "--prompts", "f", "--messages", "h"}), "five times"},
        Usage{run_with({"--system", "x"}), "need --chat or --messages"},
        Usage{run_with({"--template-value", "a=1"}), "need --chat or --messages"},
        Usage{{"run", "--messages", "f", "--system", "x"}, "exclude each other"},
        Usage{{"run", "--messages", "f", "--chat"}, "exclude each other"},
        Usage{{"run", "--prompts", "f", "--chat"}, "not for --prompts"},
        Usage{run_with({"--chat", "--template-value", "a"}), "expected KEY=JSON"},
        Usage{run_with({"--chat", "--template-value", "=1"}), "expected KEY=JSON"},
        Usage{run_with({"--chat", "--template-value", "a=high"}),
              "\"high\" is not JSON; a text is in quotes: a='\"TEXT\"'"},
        Usage{run_with({"--chat", "--template-value", "tools=[]"}), "--tools sets it"},
        Usage{{"chat-template", "--source", "x"}, "not a conversation"},
        Usage{{"chat-template", "x", "--tokens", "--json"}, "exclude each other"},
        Usage{{"run", "--prompts", ""}, "the name of the file"},
        Usage{{"run", "--prompts", "f", "--parallel", "0"},
              "0 is out of range; expected 1 to 4096"},
        Usage{{"run", "--prompts", "f", "--parallel", "4097"},
              "4097 is out of range; expected 1 to 4096"},
        Usage{run_with({"--parallel", "2"}), "needs --prompts"},
        Usage{run_with({"--host-cache", "2GiB"}), "--host-cache needs --prompts"},
        Usage{{"run", "--prompts", "f", "--host-cache", "much"}, "much"},
        Usage{{"run", "--prompts", "f", "--host-cache", "2000000GiB"}, "it may be up to 1.0 PiB"},
        Usage{{"run", "--prompts", "f", "--temp", "-1"}, "-1"},
        Usage{{"tokenize", "-m", "m", "--decode", "1 x"}, "x"},
        Usage{{"tokenize", "-m", "m", "--decode", "-1"}, "-1"},
        Usage{{"tokenize", "-m", "m", "--decode", "1", "text"}, "--decode"}));

INSTANTIATE_TEST_SUITE_P(
    PlacementAndWhatElseDecides, WrongUsage,
    testing::Values(
        Usage{run_with({"--split", "columns"}), "\"columns\" is not layers or rows"},
        Usage{run_with({"--split", "rows", "--shares", "3,0"}),
              "0 is out of range; expected 1 to 1000000"},
        Usage{run_with({"--split", "rows", "--shares", "3,"}), "\"\" is not a whole number"},
        Usage{run_with({"--split", "rows", "--shares", "1000001"}),
              "1000001 is out of range; expected 1 to"},
        Usage{run_with({"--shares", "3,1"}), "--shares needs --split rows"},
        Usage{{"explain", "-m", "m", "--split", "layers", "--shares", "1,1"}, "needs --split rows"},
        Usage{run_with({"--placement", "p", "--place", "a=cpu0"}), "--placement and --place"},
        Usage{run_with({"--placement", "p", "--rules-only"}), "--placement and --rules-only"},
        Usage{run_with({"--stream-rows", "32", "--placement", "p"}), "--placement and --stream"},
        Usage{{"perplexity", "-m", "m", "t", "--placement", "p", "--place", "a=b"}, "--place excl"},
        Usage{{"imatrix", "-m", "m", "t", "-o", "o", "--placement", "p", "--rules-only"}, "exclu"},
        Usage{{"explain", "-m", "m", "--placement", "p", "--place", "a=cpu0"}, "--place exclude"},
        Usage{{"place", "-m", "m", "--placement", "p", "--stream-rows", "0"}, "--stream-rows excl"},
        Usage{{"place", "--diff", "a", "b", "--placement", "p"}, "--diff and --placement"}));

INSTANTIATE_TEST_SUITE_P(
    OtherCommands, WrongUsage,
    testing::Values(Usage{{"ops", "rmsnorm"}, "did you mean \"rms_norm\""},
                    Usage{{"ops", "zzzzzzzzz"}, "zzzzzzzzz"},
                    Usage{{"ops", "--json", "--markdown"}, "--markdown"},
                    Usage{{"inspect"}, "FILE"}, Usage{{"devices", "all"}, "all"},
                    Usage{{"quantize", "m", "", "Q8_0"}, "OUT: it is empty"},
                    Usage{{"quantize", "", "o", "Q8_0"}, "IN: it is empty"},
                    Usage{{"imatrix", "-m", "m", "-o", "", "x"}, "the name of the file is empty"},
                    Usage{{"perplexity", "-m", "", "x"}, "the name of the file is empty"},
                    Usage{{"perplexity", "-m", "m", "-f", ""}, "the name of the file is empty"},
                    Usage{{"place", "-m", "m", "--output="}, "the name of the file is empty"},
                    Usage{{"train", "text"}, "use --output FILE"},
                    Usage{{"train", "text", "-o", "o"}, "or --vocab FILE"},
                    Usage{{"train", "text", "-o", "o", "-m", "m", "--vocab", "v"}, "--vocab"},
                    Usage{{"train", "text", "-o", "o", "-m", "m", "--rows", "0"}, "rows"},
                    Usage{{"train", "text", "-o", "o", "-m", "m", "--optimizer", "lion"}, "lion"},
                    Usage{{"train", "t", "-o", "o", "-m", "m", "--ff", "64"}, "--ff"},
                    Usage{{"train", "t", "-o", "o", "--vocab", "v", "--heads", "3"}, "heads"},
                    Usage{{"train", "-o", "o", "-m", "m"}, "TEXT"},
                    Usage{{"bench", "train", "-m", "m", "--devices", "cpu0"}, "no option"},
                    Usage{{"bench", "ops", "--rows", "4"}, "there is no option \"--rows\""},
                    Usage{{"train-tokenizer", "text"}, "use -o FILE"},
                    Usage{{"train-tokenizer", "-o", "o", "--vocab-size", "255"}, "at least 256"},
                    Usage{{"train-tokenizer", "-o", "o", "--pre", "gpt-9"}, "gpt-9"},
                    Usage{{"train-tokenizer", "-o", "o", "--special", ""}, "empty"},
                    Usage{{"train-tokenizer", "-o", "o", "x", "--file", "f"}, "two times"},
                    Usage{{"synth", ""}, "OUT: it is empty"}, Usage{{"synth"}, "OUT"},
                    Usage{{"synth", "o", "--type", "I32"}, "I32"},
                    Usage{{"synth", "o", "--type", "F99"}, "F99"},
                    Usage{{"synth", "o", "--vocab", "259"}, "259"},
                    Usage{{"synth", "o", "--layers", "0"}, "layers 0"},
                    Usage{{"synth", "o", "--heads", "5"}, "5 heads"},
                    Usage{{"synth", "o", "--kv-heads", "3"}, "3 kv-heads"},
                    Usage{{"synth", "o", "--heads", "64", "--kv-heads", "64"}, "even"},
                    Usage{{"synth", "o", "--type", "Q4_0", "--width", "48"}, "multiple of 32"},
                    Usage{{"synth", "o", "--type", "Q8_0", "--ff", "100"}, "multiple of 32"}));

INSTANTIATE_TEST_SUITE_P(
    Bench, WrongUsage,
    testing::Values(
        Usage{{"bench"}, "bench needs a command: model, ops, machine, train, costs"},
        Usage{{"bnech"}, "there is no command \"bnech\"; did you mean \"bench\"?"},
        Usage{{"bench", "machine", "--model", "m"}, "there is no option \"--model\""},
        Usage{{"bench", "machine", "--json", "--markdown"}, "--json and --markdown"},
        Usage{{"bench", "--json"}, "bench needs a command: model, ops"},
        Usage{{"bench", "modle", "-d", "1"},
              "bench has no command \"modle\"; did you mean \"model\""},
        Usage{{"bench", "machine", "-p", "1"}, "there is no option \"-p\""},
        Usage{{"bench", "model", "--model", "m", "--width", "64"},
              "there is no option \"--width\""},
        Usage{{"bench", "model", "--model", "m", "--output", "f"},
              "there is no option \"--output\""},
        Usage{{"bench", "model", "--model", "m", "-r", "0"}, "0 is out of range; expected 1"},
        Usage{{"bench", "model", "--model", "m", "-p", "1,,2"}, "\"\" is not a whole number"},
        Usage{{"bench", "model", "--model", "m", "-n", "-1"}, "-1 is out of range; expected 0"},
        Usage{{"bench", "model", "--model", "m", "-d", "x"}, "\"x\" is not a whole number"},
        Usage{{"bench", "model", "--model", "m", "-p", "8", "-n", "0", "-d", "57", "-c", "64"},
              "a prompt of 8 tokens after 57 does not fit into a context of 64"},
        Usage{{"bench", "model", "--model", "m", "-p", "1", "-n", "64", "-c", "63"},
              "a generation of 64 tokens after 0 does not fit"},
        Usage{{"bench", "model", "--model", "m", "-p", "1", "-n", "1", "-c", "4"}, "context of 4"},
        Usage{{"bench", "costs", "--sequences", "2"}, "there is no option \"--sequences\""},
        Usage{{"bench", "costs", "--json"}, "there is no option \"--json\""},
        Usage{{"bench", "model", "--model", "m", "-s", "0"},
              "0 is out of range; expected 1 to 4096"},
        Usage{{"bench", "model", "--model", "m", "-s", "2,4097"},
              "4097 is out of range; expected 1 to 4096"},
        Usage{{"bench", "model", "--model", "m", "-s", "-1"},
              "-1 is out of range; expected 1 to 4096"},
        Usage{{"bench", "model", "--model", "m", "-p", "0", "-n", "8", "-d", "8", "-s", "4", "-c",
               "63"},
              "8 tokens after 8, 4 times, does not fit into a context of 63; see --ctx"},
        Usage{{"bench", "ops", "--type", "Q8_K"}, "weights can't be of type Q8_K"},
        Usage{{"bench", "ops", "--type", "Q99"}, "Q99"},
        Usage{{"bench", "ops", "--op", "sort"}, "op \"sort\"; the ops are: add, attention"},
        Usage{{"bench", "ops", "--width", "100"}, "multiple of 64"},
        Usage{{"bench", "ops", "--width", "64", "--type", "Q4_K"}, "256 elements"}));

TEST(Usage, HelpAndVersionAreNoErrors) {
  EXPECT_EQ(run_command({"--version"}).out, "shunt 0.1.0\n");
  const RunResult overview = run_command({"--help"});
  EXPECT_EQ(overview.exit_code, 0);
  for (const char* name :
       {"run", "devices", "inspect", "tokenize", "train-tokenizer", "ops", "synth"}) {
    EXPECT_THAT(overview.out, HasSubstr(name));
    const RunResult help = run_command({name, "--help"});
    EXPECT_EQ(help.exit_code, 0) << name;
    EXPECT_THAT(help.out, HasSubstr("Examples:\n  shunt " + std::string(name))) << name;
  }
  const RunResult bench = run_command({"bench", "--help"});
  EXPECT_EQ(bench.exit_code, 0);
  for (const char* name : {"model", "ops", "machine", "train", "costs"}) {
    const std::string whole = std::string("bench ") + name;
    EXPECT_THAT(overview.out, HasSubstr(whole));
    EXPECT_THAT(bench.out, HasSubstr(whole));
    const RunResult help = run_command({"bench", name, "--help"});
    EXPECT_EQ(help.exit_code, 0) << name;
    EXPECT_THAT(help.out, HasSubstr("Examples:\n  shunt " + whole)) << name;
  }
}

TEST(Usage, HelpGroupsTheOptions) {
  const std::string help = run_command({"run", "--help"}).out;
  std::size_t at = 0;
  for (const char* heading : {"\nOptions:\n  -h,--help", "\nModel:\n  -m,--model",
                              "\nDevices and placement:\n  -t,--threads", "\nText:\n  -p,--prompt",
                              "\nSampling:\n  --temp", "\nOutput:\n  --trace"}) {
    const std::size_t found = help.find(heading);
    ASSERT_NE(found, std::string::npos) << heading;
    EXPECT_GE(found, at) << heading;
    at = found;
  }
}

}  // namespace
}  // namespace shunt::test::wrong_usage_test
