// `shunt split`, `shunt merge` and `--split`, as a user calls them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "shunt/gguf_parts.h"
#include "support/big_endian.h"
#include "support/models.h"
#include "support/must.h"
#include "support/run_command.h"
#include "support/shared.h"

namespace shunt::test::parts_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Parts : public testing::Test {
 protected:
  RunResult split(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"split", model_.path(), folder_.file("m")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments);
  }
  RunResult merge(const std::string& first) const {
    return run_command({"merge", folder_.file(first), out()});
  }
  std::string out() const { return folder_.file("out.gguf"); }

  SynthModel model_;
  TempFolder folder_;
};

TEST_F(Parts, AreJoinedToTheSameBytes) {
  const std::size_t tensors = must(gguf::File::open(model_.path())).tensors().size();
  for (const std::vector<std::string>& size :
       std::vector<std::vector<std::string>>{{"--tensors", "7"}, {"--size", "40KiB"}}) {
    SCOPED_TRACE(size[0]);
    const RunResult made = split({size[0], size[1], "--json"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const auto files = json::parse(made.out)["files"].get<std::vector<std::string>>();
    ASSERT_GT(files.size(), 1U);
    EXPECT_EQ(folder_.list().size(), files.size());
    const RunResult joined = run_command({"merge", files[0], out()});
    ASSERT_EQ(joined.exit_code, 0) << joined.err;
    EXPECT_THAT(joined.out, HasSubstr(fmt::format("{} tensors, 653.7 KiB, from {} parts", tensors,
                                                  files.size())));
    EXPECT_EQ(read_file(out()), read_file(model_.path()));
    EXPECT_EQ(read_file(out()).size(), 669408U) << "653.7 KiB";
    const RunResult ran =
        run_command({"run", "-m", files[0], "-p", "x", "-n", "2", "--ignore-eos"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    for (const std::string& file : files) fs::remove(file);
    fs::remove(out());
  }
}

/// As llama.cpp names parts and their keys.
TEST_F(Parts, HaveTheNamesAndKeysOfOtherPrograms) {
  const gguf::File whole = must(gguf::File::open(model_.path()));
  const std::size_t tensors = whole.tensors().size();
  ASSERT_EQ(split({"--tensors", std::to_string(tensors - 1)}).exit_code, 0);
  EXPECT_THAT(folder_.list(), ElementsAre("m-00001-of-00002.gguf", "m-00002-of-00002.gguf"));
  const gguf::File parts = must(gguf::File::open(folder_.file("m-00001-of-00002.gguf")));
  EXPECT_EQ(parts.part_count(), 2U);
  EXPECT_EQ(parts.tensors().size(), tensors);
  EXPECT_EQ(parts.tensors().back().part, 1U);
  EXPECT_EQ(parts.metadata().size(), whole.metadata().size() + 3);
  const std::pair<const char*, gguf::ValueType> keys[] = {
      {"split.no", gguf::ValueType::kU16},
      {"split.count", gguf::ValueType::kU16},
      {"split.tensors.count", gguf::ValueType::kI32}};
  for (const auto& [key, type] : keys) {
    ASSERT_NE(parts.find(key), nullptr) << key;
    EXPECT_EQ(parts.find(key)->type, type) << key;
  }
  EXPECT_EQ(must(parts.get_integer("split.no")), 0);
  EXPECT_EQ(must(parts.get_integer("split.count")), 2);
  EXPECT_EQ(must(parts.get_integer("split.tensors.count")), std::ssize(parts.tensors()));
  // The second part alone: its keys are those three.
  const std::string second = read_file(folder_.file("m-00002-of-00002.gguf"));
  std::uint64_t entries = 0;
  for (std::size_t i = 0; i < 8; ++i)
    entries |= static_cast<std::uint64_t>(static_cast<unsigned char>(second[16 + i])) << (8 * i);
  EXPECT_EQ(entries, 3U);
}

TEST_F(Parts, AreNoLargerThanTheLimit) {
  std::uintmax_t largest = 0;  // tensor
  const gguf::File whole = must(gguf::File::open(model_.path()));
  for (const gguf::TensorInfo& info : whole.tensors())
    largest = std::max<std::uintmax_t>(largest, info.bytes);
  const std::uintmax_t limit = largest + 100'000;
  ASSERT_EQ(split({"--size", std::to_string(limit)}).exit_code, 0);
  ASSERT_GT(folder_.list().size(), 1U);
  for (const std::string& name : folder_.list())
    EXPECT_LE(fs::file_size(folder_.file(name)), limit) << name;
}

TEST_F(Parts, OfABigEndianFileAreLittleEndian) {
  const std::string whole = read_file(model_.path());
  const std::string big = folder_.write("big.gguf", to_big_endian(std::as_bytes(std::span(whole))));
  ASSERT_EQ(run_command({"split", big, folder_.file("m"), "--tensors", "9"}).exit_code, 0);
  ASSERT_EQ(run_command({"merge", big, out()}).exit_code, 0);
  EXPECT_EQ(read_file(out()), read_file(model_.path()));
}

TEST_F(Parts, AMissingOneIsNamed) {
  ASSERT_EQ(split({"--tensors", "9"}).exit_code, 0);
  const std::vector<std::string> names = folder_.list();
  fs::remove(folder_.file(names[1]));
  const RunResult result = merge(names[0]);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr(names[1]), HasSubstr("part 2 of")));
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(Parts, ASuperfluousOneIsNamed) {
  ASSERT_EQ(split({"--tensors", "9"}).exit_code, 0);
  const std::vector<std::string> names = folder_.list();
  for (const char* const number : {"00099", "00000"}) {
    std::string other = names[0];
    other.replace(2, 5, number);
    fs::copy_file(folder_.file(names[0]), folder_.file(other));
    const RunResult result = merge(names[0]);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, AllOf(HasSubstr(other), HasSubstr("parts are numbered from 1")));
    fs::remove(folder_.file(other));
  }
  EXPECT_EQ(merge(names[0]).exit_code, 0);
}

TEST_F(Parts, OneOfAnotherFileIsNamed) {
  ASSERT_EQ(split({"--tensors", "9"}).exit_code, 0);
  const std::vector<std::string> names = folder_.list();
  SynthOptions options;
  options.layers = 3;
  const SynthModel other(options);
  const std::size_t tensors = must(gguf::File::open(other.path())).tensors().size();
  const std::size_t size = (tensors + names.size() - 1) / names.size();
  const RunResult made = run_command(
      {"split", other.path(), folder_.file("other"), "--tensors", std::to_string(size), "--json"});
  const auto others = json::parse(made.out)["files"].get<std::vector<std::string>>();
  ASSERT_EQ(others.size(), names.size());
  fs::rename(others[1], folder_.file(names[1]));
  const RunResult result = merge(names[0]);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr(names[1]), HasSubstr("a part of a file with")));
}

TEST_F(Parts, TooManyAreRefused) {
  SynthOptions options = tiny_shape();
  options.layers = 60;
  const SynthModel many(options);
  const RunResult result = run_command({"split", many.path(), folder_.file("m"), "--tensors", "1"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("there may be up to 500, of larger parts"));
  EXPECT_TRUE(folder_.list().empty());
}

TEST_F(Parts, TheFileThatIsReadStays) {
  ASSERT_EQ(split({"--tensors", "9"}).exit_code, 0);
  const std::vector<std::string> names = folder_.list();
  const std::string before = read_file(folder_.file(names[1]));
  const RunResult result =
      run_command({"split", folder_.file(names[0]), folder_.file("m"), "--tensors", "9"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("is a file that is read"));
  EXPECT_EQ(read_file(folder_.file(names[1])), before);
}

TEST_F(Parts, AreWrittenToTheEndOfLinks) {
  ASSERT_EQ(split({"--tensors", "9"}).exit_code, 0);
  const std::vector<std::string> names = folder_.list();
  const TempFolder elsewhere;
  for (const std::string& name : {names[0], names[1]}) {
    fs::rename(folder_.file(name), elsewhere.file(name));
    fs::create_symlink(elsewhere.file(name), folder_.file(name));
  }
  const std::string before = read_file(elsewhere.file(names[0]));
  fs::resize_file(elsewhere.file(names[0]), 0);
  ASSERT_EQ(split({"--tensors", "9"}).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(folder_.file(names[0])));
  EXPECT_TRUE(fs::is_symlink(folder_.file(names[1])));
  EXPECT_EQ(read_file(elsewhere.file(names[0])), before);
}

TEST_F(Parts, AreQuantizedToTheSameBytesAsOneFile) {
  const RunResult parts = run_command(
      {"quantize", model_.path(), folder_.file("q.gguf"), "Q8_0", "--split", "40KiB", "--json"});
  ASSERT_EQ(parts.exit_code, 0) << parts.err;
  const auto files = json::parse(parts.out)["files"].get<std::vector<std::string>>();
  ASSERT_GT(files.size(), 1U);
  EXPECT_THAT(files[0], testing::EndsWith(fmt::format("q-00001-of-{:05}.gguf", files.size())));
  ASSERT_EQ(run_command({"merge", files[0], out()}).exit_code, 0);
  const std::string whole = folder_.file("whole.gguf");
  ASSERT_EQ(run_command({"quantize", model_.path(), whole, "Q8_0"}).exit_code, 0);
  EXPECT_EQ(read_file(out()), read_file(whole));
}

TEST_F(Parts, AMissingFolderIsNamedAsGiven) {
  const std::string folder = folder_.file("missing");
  const RunResult result = run_command({"split", model_.path(), folder + "/m", "--tensors", "7"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("there is no folder " + folder + "\n"));
}

TEST_F(Parts, NeedASize) {
  const RunResult none = split({});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("no size of parts is given; use --size SIZE or --tensors N"));
  EXPECT_EQ(split({"--size", "0"}).exit_code, 2);
  EXPECT_EQ(split({"--tensors", "0"}).exit_code, 2);
  EXPECT_EQ(split({"--size", "1.5x"}).exit_code, 2);
}

}  // namespace
}  // namespace shunt::test::parts_test
