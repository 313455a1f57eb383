// `shunt quantize` and `shunt imatrix`, as a user calls them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "shunt/importance_matrix.h"
#include "shunt/quantize.h"
#include "support/models.h"
#include "support/run_command.h"
#include "support/shared.h"
#include "tensor/byte_order.h"
#include "test_paths.h"

namespace shunt::test::quantize_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

/// Rows of whole blocks of 256, so that every type fits; layers that matter more (0, 3, 4), and
/// others.
SynthOptions many_layers() {
  SynthOptions options;
  options.layers = 5;
  options.width = 256;
  options.feed_forward = 256;
  options.heads = 4;
  options.kv_heads = 2;
  options.vocabulary = 300;
  return options;
}

gguf::File open(const std::string& path) {
  auto file = gguf::File::open(path);
  EXPECT_TRUE(file) << path << ": " << file.error().message();
  return *file;
}

std::string type_of(const gguf::File& file, const std::string& name) {
  const gguf::TensorInfo* info = file.find_tensor(name);
  return info == nullptr ? "missing" : std::string(to_string(info->tensor.dtype));
}

std::vector<float> values_of(const gguf::File& file, const std::string& name) {
  return test::values_of(file, *file.find_tensor(name));
}

class Quantize : public testing::Test {
 protected:
  RunResult quantize(const std::vector<std::string>& more, const std::string& from) const {
    std::vector<std::string> arguments = {"quantize", from, out()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments);
  }
  std::string out() const { return folder_.file("out.gguf"); }
  TempFolder folder_;
};

TEST_F(Quantize, MixtureGivesEachRoleItsType) {
  const SynthModel model(many_layers());
  const RunResult result = quantize({"Q4_K_M"}, model.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("Q4_K_M"));
  EXPECT_THAT(folder_.list(), ElementsAre("out.gguf"));
  const gguf::File file = open(out());
  EXPECT_EQ(*file.get_integer("general.file_type"), 15);
  EXPECT_EQ(*file.get_integer("general.quantization_version"), 2);
  EXPECT_EQ(*file.get_integer("llama.block_count"), 5);
  const std::pair<const char*, const char*> expected[] = {
      {"token_embd.weight", "Q6_K"},     {"output.weight", "Q6_K"},
      {"output_norm.weight", "F32"},     {"blk.2.attn_norm.weight", "F32"},
      {"blk.2.attn_q.weight", "Q4_K"},   {"blk.2.attn_v.weight", "Q4_K"},
      {"blk.2.ffn_down.weight", "Q4_K"}, {"blk.4.attn_v.weight", "Q6_K"},
      {"blk.4.ffn_down.weight", "Q6_K"}, {"blk.4.ffn_up.weight", "Q4_K"},
  };
  for (const auto& [name, type] : expected) EXPECT_EQ(type_of(file, name), type) << name;
  const gguf::File before = open(model.path());
  EXPECT_EQ(file.tensors().size(), before.tensors().size());
  EXPECT_EQ(values_of(file, "output_norm.weight"), values_of(before, "output_norm.weight"));
  const RunResult ran = run_command({"run", "-m", out(), "-p", "x", "-n", "2", "--ignore-eos"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
}

/// The errors in the summary are those of the file.
TEST_F(Quantize, SummaryMatchesTheFile) {
  const SynthModel model(many_layers());
  const RunResult result = quantize({"Q5_K_S", "--json"}, model.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json printed = json::parse(result.out);
  const gguf::File before = open(model.path());
  const gguf::File after = open(out());
  std::map<std::string, std::array<double, 4>> by_type;  // tensors, bytes, errors, squares
  double bytes = 0;
  for (const gguf::TensorInfo& info : after.tensors()) {
    auto& [tensors, type_bytes, errors, squares] =
        by_type[std::string(to_string(info.tensor.dtype))];
    const std::vector<float> old = values_of(before, info.name);
    const std::vector<float> made = values_of(after, info.name);
    for (std::size_t i = 0; i < old.size(); ++i) {
      errors += std::pow(static_cast<double>(made[i]) - old[i], 2);
      squares += std::pow(static_cast<double>(old[i]), 2);
    }
    ++tensors;
    type_bytes += static_cast<double>(info.bytes);
    bytes += static_cast<double>(info.bytes);
  }
  EXPECT_EQ(printed["bytes_after"], bytes);
  ASSERT_EQ(printed["types"].size(), by_type.size());
  for (const auto& row : printed["types"]) {
    const auto& [tensors, type_bytes, errors, squares] = by_type.at(row["type"]);
    EXPECT_EQ(row["tensors"], tensors);
    EXPECT_EQ(row["bytes"], type_bytes);
    EXPECT_NEAR(row["error"], std::sqrt(errors / squares), 1e-9);
  }
  // docs/reference/formats.md: of normal weights, which these nearly are.
  EXPECT_NEAR(printed["types"][0]["error"], 0.0339, 0.002);
}

TEST_F(Quantize, NumberOfThreadsDoesNotChangeTheBytes) {
  const SynthModel model(many_layers());
  std::string first;
  for (const char* threads : {"1", "2", "7"}) {
    ASSERT_EQ(quantize({"Q4_0", "--threads", threads}, model.path()).exit_code, 0);
    const std::string bytes = read_file(out());
    if (first.empty()) first = bytes;
    EXPECT_EQ(bytes, first) << threads;
  }
}

TEST_F(Quantize, PureUsesOneTypeAndKeepUsesTheOriginal) {
  const SynthModel model(many_layers());
  RunResult result = quantize({"Q4_K_M", "--pure", "--keep", "output\\..*", "--keep",
                               "blk\\.[01]\\.attn_q.*", "--keep", "none.*"},
                              model.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("--keep none.* matches no tensor"));
  const gguf::File file = open(out());
  for (const gguf::TensorInfo& info : file.tensors()) {
    const bool kept = info.name == "output.weight" || info.name == "blk.0.attn_q.weight" ||
                      info.name == "blk.1.attn_q.weight" || info.tensor.size(1) == 1;
    EXPECT_EQ(to_string(info.tensor.dtype), kept ? "F32" : "Q4_K") << info.name;
  }
}

TEST_F(Quantize, TiedEmbeddingGetsTheTypeOfTheOutput) {
  SynthOptions options = many_layers();
  options.tied = true;
  const SynthModel model(options);
  ASSERT_EQ(quantize({"Q2_K"}, model.path()).exit_code, 0);
  EXPECT_EQ(type_of(open(out()), "token_embd.weight"), "Q6_K");
}

TEST_F(Quantize, RowsOfPartialBlocksAreReported) {
  SynthOptions options;  // 64 wide
  options.feed_forward = 172;
  const SynthModel model(options);
  const RunResult result = quantize({"Q4_K_M"}, model.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err,
              HasSubstr("tensors of rows of 64 elements, not whole blocks of Q4_K: they are Q5_0"));
  EXPECT_THAT(result.err,
              HasSubstr("of rows of 172 elements, not whole blocks of Q6_K: they are F16"));
  const gguf::File file = open(out());
  EXPECT_EQ(type_of(file, "blk.0.attn_q.weight"), "Q5_0");
  EXPECT_EQ(type_of(file, "blk.0.ffn_down.weight"), "F16");
  EXPECT_EQ(run_command({"run", "-m", out(), "-p", "x", "-n", "2", "--ignore-eos"}).exit_code, 0);
}

TEST_F(Quantize, RequantizingIsReported) {
  const SynthModel model(many_layers());
  ASSERT_EQ(quantize({"Q8_0"}, model.path()).exit_code, 0);
  const std::string again = folder_.file("again.gguf");
  const RunResult result = run_command({"quantize", out(), again, "Q4_0"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("quantised already"));
  // The same type is copied, bit by bit, without a message.
  const std::string same = folder_.file("same.gguf");
  const RunResult copied = run_command({"quantize", out(), same, "Q8_0"});
  ASSERT_EQ(copied.exit_code, 0) << copied.err;
  EXPECT_EQ(copied.err, "");
  EXPECT_EQ(read_file(same), read_file(out()));
}

TEST_F(Quantize, UnknownArchitectureIsQuantizedByShape) {
  const SynthModel model;
  const std::string other = folder_.file("other.gguf");
  write_edited(model.path(), other, [](EditedFile& file) {
    file.set("general.architecture", {gguf::ValueType::kString, std::string("mystery")});
    file.reshape("blk.0.ffn_up.weight", {48, 256});
  });
  const RunResult result = quantize({"Q4_0"}, other);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("mystery"));
  const gguf::File file = open(out());
  EXPECT_EQ(type_of(file, "output.weight"), "Q4_0");
  EXPECT_EQ(type_of(file, "output_norm.weight"), "F32");
  EXPECT_EQ(type_of(file, "blk.0.ffn_up.weight"), "F32") << "it may have to be as it is";
}

TEST_F(Quantize, SplitModelBecomesOneFile) {
  const SynthModel model;
  const gguf::File whole = open(model.path());
  const std::size_t half = whole.tensors().size() / 2;
  for (std::uint32_t part = 0; part < 2; ++part) {
    gguf::Writer writer;
    if (part == 0) {
      for (const auto& entry : whole.metadata()) writer.add(entry.key, entry.value);
    }
    writer.add("split.no", {gguf::ValueType::kU16, std::uint64_t{part}});
    writer.add("split.count", {gguf::ValueType::kU16, std::uint64_t{2}});
    writer.add("split.tensors.count",
               {gguf::ValueType::kI32, static_cast<std::int64_t>(whole.tensors().size())});
    const auto tensors = part == 0 ? whole.tensors().first(half) : whole.tensors().subspan(half);
    for (const auto& info : tensors) ASSERT_TRUE(writer.add_tensor(info.name, info.tensor));
    ASSERT_TRUE(
        writer.write(folder_.file(part == 0 ? "m-00001-of-00002.gguf" : "m-00002-of-00002.gguf"),
                     [&](std::size_t i) -> Result<std::span<const std::byte>> {
                       return whole.data(tensors[i]);
                     }));
  }
  const std::string first = folder_.file("m-00001-of-00002.gguf");
  ASSERT_EQ(quantize({"Q8_0"}, first).exit_code, 0);
  const std::string of_parts = read_file(out());
  ASSERT_EQ(quantize({"Q8_0"}, model.path()).exit_code, 0);
  EXPECT_EQ(of_parts, read_file(out()));
  // Neither part may be written over.
  for (const char* part : {"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"}) {
    const RunResult refused = run_command({"quantize", first, folder_.file(part), "Q8_0"});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("IN reads this file"));
  }
}

TEST_F(Quantize, TypesThatNeedAnImatrixFailBeforeWriting) {
  const SynthModel model(many_layers());
  for (const char* type : {"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S"}) {
    const RunResult result = quantize({type}, model.path());
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr(type));
    EXPECT_THAT(result.err, HasSubstr("needs an importance matrix"));
    EXPECT_THAT(result.err, HasSubstr("blk.0.attn_q.weight and 34 more"));
  }
  EXPECT_TRUE(folder_.list().empty());
}

TEST_F(Quantize, FailuresLeaveNoFile) {
  const SynthModel model;
  // IN itself, by another name too; the existing file stays.
  const std::string copy = folder_.file("copy.gguf");
  std::filesystem::create_symlink(model.path(), copy);
  const std::string before = read_file(model.path());
  EXPECT_THAT(run_command({"quantize", model.path(), copy, "Q8_0"}).err,
              HasSubstr("IN reads this file"));
  EXPECT_EQ(run_command({"quantize", model.path(), model.path(), "Q8_0"}).exit_code, 2);
  EXPECT_EQ(read_file(model.path()), before);
  std::filesystem::remove(copy);

  struct Attempt {
    std::vector<std::string> arguments;
    int exit_code;
    const char* message;
  };
  const std::string in = model.path();
  const std::string imatrix = folder_.file("none.gguf");
  const TempFolder elsewhere;
  const std::string pipe = elsewhere.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Attempt attempts[] = {
      {{in, out(), "Q4_K_N"}, 2, "did you mean \"Q4_K_M\", \"Q4_K_S\" or"},
      {{in, out(), ""}, 2, "TYPE: it is empty"},
      {{in, out(), "Q8_0", "--keep", "("}, 2, "--keep"},
      {{in, out(), "Q8_0", "--threads", "-1"}, 2, "--threads"},
      {{in, out()}, 2, "TYPE"},
      {{folder_.file("no.gguf"), out(), "Q8_0"}, 1, "no.gguf"},
      {{in, folder_.file("no/out.gguf"), "Q8_0"}, 1, "no/out.gguf"},
      {{in, folder_.path(), "Q8_0"}, 1, "directory"},
      {{in, pipe, "Q8_0"}, 1, "not a regular file"},
      {{in, out(), "Q8_0", "--imatrix", imatrix}, 1, "none.gguf"},
      {{in, out(), "Q8_0", "--imatrix", in}, 1, "this is not an importance matrix"},
  };
  for (const Attempt& attempt : attempts) {
    std::vector<std::string> arguments = {"quantize"};
    arguments.insert(arguments.end(), attempt.arguments.begin(), attempt.arguments.end());
    const RunResult result = run_command(arguments);
    EXPECT_EQ(result.exit_code, attempt.exit_code) << attempt.message << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr(attempt.message));
    EXPECT_EQ(result.out, "");
  }
  EXPECT_TRUE(folder_.list().empty());
}

TEST_F(Quantize, FullDiskIsAnErrorAndLeavesNoFile) {
  const SynthModel model;
  // A limit on the size of files fails in the same place, write(), as a full disk. The command
  // inherits it.
  struct rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit limit = {100'000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const RunResult result = quantize({"Q8_0"}, model.path());
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("cannot write more than 100000 bytes to " + out()));
  EXPECT_THAT(result.err, HasSubstr("File too large"));
  EXPECT_TRUE(folder_.list().empty());
}

TEST_F(Quantize, InterruptedWriteLeavesNoFile) {
  const SynthModel model;
  const gguf::File file = open(model.path());
  QuantizeOptions options;
  options.type = "Q8_0";
  const auto plan = plan_quantization(file, options);
  ASSERT_TRUE(plan);
  bool seen = false;
  const auto result = write_quantized(out(), file, *plan, options,
                                      [&](std::uint64_t done, std::uint64_t total) -> Status {
                                        EXPECT_FALSE(std::filesystem::exists(out()));
                                        seen = true;
                                        if (done > total / 2)
                                          return Error(ErrorCode::kCancelled, "enough");
                                        return ok();
                                      });
  EXPECT_TRUE(seen);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::kCancelled);
  EXPECT_TRUE(folder_.list().empty());
}

TEST_F(Quantize, ValuesOutOfRangeOfTheTypeAreAnError) {
  const SynthModel model;
  const gguf::File file = open(model.path());
  const auto with_value = [&](float value) {
    gguf::Writer writer;
    for (const auto& entry : file.metadata()) writer.add(entry.key, entry.value);
    for (const auto& info : file.tensors()) EXPECT_TRUE(writer.add_tensor(info.name, info.tensor));
    const std::string path = folder_.file("in.gguf");
    std::vector<std::byte> bytes;
    EXPECT_TRUE(writer.write(path, [&](std::size_t i) -> Result<std::span<const std::byte>> {
      const auto data = file.data(file.tensors()[i]);
      bytes.assign(data.begin(), data.end());
      if (file.tensors()[i].name == "blk.1.attn_k.weight") {  // rows of 64
        store_little(value, &bytes[(3 * 64 + 5) * sizeof value]);
      }
      return std::span<const std::byte>(bytes);
    }));
    return path;
  };
  struct Attempt {
    float value;
    const char* type;
    const char* message;
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Attempt attempts[] = {
      {std::numeric_limits<float>::infinity(), "Q8_0", "is inf, which Q8_0 cannot hold: "},
      {kNan, "F16", "is nan, which F16 cannot hold\n"},
      {-kNan, "F16", "is nan, which F16 cannot hold\n"},
      {-kNan, "Q8_0", "is nan, which Q8_0 cannot hold: "},
      {1e6F, "F16", "is 1000000, which F16 cannot hold\n"},
      // The scales of their blocks are F16, too.
      {1e6F, "Q4_0", "is 1000000, which Q4_0 cannot hold: its largest value is 524032\n"},
      {-1e9F, "Q8_0", "is -1000000000, which Q8_0"},
      {3e38F, "MXFP4", "is 3e+38, which MXFP4"},
  };
  for (const Attempt& attempt : attempts) {
    const RunResult result = quantize({attempt.type}, with_value(attempt.value));
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr(fmt::format("shunt: {}: tensor 'blk.1.attn_k.weight': row 3: "
                                                  "the value at column 5 {}",
                                                  folder_.file("in.gguf"), attempt.message)));
    EXPECT_THAT(folder_.list(), ElementsAre("in.gguf"));
  }
}

class Imatrix : public Quantize {
 protected:
  Imatrix() : model_(many_layers()) {}
  RunResult imatrix(const std::vector<std::string>& more, const char* plugins = "") const {
    return imatrix_of(model_, more, plugins);
  }
  RunResult imatrix_of(const SynthModel& model, const std::vector<std::string>& more,
                       const char* plugins) const {
    std::vector<std::string> arguments = {"imatrix", "--model", model.path(), "-o", matrix()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    RunOptions options;
    options.environment["SHUNT_BACKEND_PATH"] = plugins;
    for (int i = 0; i < 40; ++i) options.input += "some words of a text that goes on and on. ";
    return run_command(arguments, options);
  }
  std::string matrix() const { return folder_.file("imatrix.gguf"); }
  SynthModel model_;
};

TEST_F(Imatrix, GoesFromTextToImatrixToQuantize) {
  const RunResult made = imatrix({"--ctx", "32", "--chunks", "2"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("36 tensors, 2 chunks of 32 tokens"));
  const auto sums = read_importance(matrix());
  ASSERT_TRUE(sums) << sums.error().message();
  EXPECT_THAT(sums->datasets, ElementsAre("standard input"));
  EXPECT_EQ(sums->chunk_count, 2U);
  EXPECT_EQ(sums->chunk_size, 32U);
  const gguf::File model = open(model_.path());
  for (const auto& [name, entry] : sums->tensors) {
    ASSERT_NE(model.find_tensor(name), nullptr) << name;
    EXPECT_EQ(entry.columns, model.find_tensor(name)->tensor.size(0)) << name;
    EXPECT_THAT(entry.counts, ElementsAre(64)) << name << ": each token of every layer";
    EXPECT_GT(*std::ranges::min_element(entry.squares), 0) << name;
  }
  EXPECT_EQ(sums->tensors.count("token_embd.weight"), 0U) << "rows are looked up";
  EXPECT_EQ(sums->tensors.at("blk.3.attn_q.weight").squares,
            sums->tensors.at("blk.3.attn_k.weight").squares);
  // The output of a norm whose weights are 1 has a mean square of 1.
  const auto& squares = sums->tensors.at("blk.0.attn_q.weight").squares;
  EXPECT_NEAR(std::accumulate(squares.begin(), squares.end(), 0.0) / 64 / 256, 1, 0.01);

  const RunResult result = quantize({"IQ2_XS", "--imatrix", matrix()}, model_.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const gguf::File file = open(out());
  EXPECT_EQ(type_of(file, "blk.3.ffn_down.weight"), "IQ2_XS");
  EXPECT_EQ(*file.get_string("quantize.imatrix.file"), matrix());
  EXPECT_EQ(*file.get_string("quantize.imatrix.dataset"), "standard input");
  EXPECT_EQ(*file.get_integer("quantize.imatrix.entries_count"), 36);
  EXPECT_EQ(*file.get_integer("quantize.imatrix.chunks_count"), 2);
  EXPECT_EQ(run_command({"run", "-m", out(), "-p", "x", "-n", "2", "--ignore-eos"}).exit_code, 0);
}

/// In one batch or several, on one device or two: sums are sums.
TEST_F(Imatrix, DoesNotDependOnBatchSizeOrDevices) {
  const std::vector<std::string> flags = {"--ctx", "32", "--chunks", "1"};
  std::vector<ImportanceMatrix> found;
  for (const auto& [batch, plugins] :
       {std::pair("32", ""), std::pair("7", ""), std::pair("32", SHUNT_TEST_PLUGINS)}) {
    std::vector<std::string> more = flags;
    more.insert(more.end(), {"--batch", batch});
    const RunResult made = imatrix(more, plugins);
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(made.err.find("test0") != std::string::npos, *plugins != 0) << made.err;
    found.push_back(*read_importance(matrix()));
  }
  for (const ImportanceMatrix& other : found) {
    ASSERT_EQ(other.tensors.size(), found[0].tensors.size());
    for (const auto& [name, sums] : found[0].tensors) {
      const ColumnSums& others = other.tensors.at(name);
      EXPECT_EQ(others.counts, sums.counts) << name;
      for (std::size_t i = 0; i < sums.squares.size(); ++i) {
        ASSERT_NEAR(others.squares[i] / sums.squares[i], 1, 2e-3) << name << " " << i;
      }
    }
  }
}

/// A device that has weights in another type reads them as that.
TEST_F(Imatrix, WorksWithTranscodedWeights) {
  SynthOptions options;
  options.dtype = DType::kQ4_0;
  const SynthModel model(options);
  std::vector<ImportanceMatrix> found;
  for (const char* plugins : {"", SHUNT_TEST_PLUGINS_Q8_ONLY}) {
    const RunResult made = imatrix_of(model, {"--ctx", "32", "--chunks", "1"}, plugins);
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(made.err.find("came as Q8_0") != std::string::npos, *plugins != 0) << made.err;
    auto sums = read_importance(matrix());
    ASSERT_TRUE(sums) << sums.error().message();
    found.push_back(std::move(*sums));
  }
  ASSERT_EQ(found[0].tensors.size(), found[1].tensors.size());
  for (const auto& [name, sums] : found[0].tensors) {
    const ColumnSums& others = found[1].tensors.at(name);
    double off = 0;
    double squares = 0;
    for (std::size_t i = 0; i < sums.squares.size(); ++i) {
      off += std::pow(others.squares[i] - sums.squares[i], 2);
      squares += std::pow(sums.squares[i], 2);
    }
    EXPECT_LT(off, 1e-3 * squares) << name;
  }
}

/// The error of the outputs of a matrix is that of its weights, weighted with their inputs.
TEST_F(Imatrix, LowersTheWeightedError) {
  ImportanceMatrix importance;
  const gguf::File before = open(model_.path());
  for (const gguf::TensorInfo& info : before.tensors()) {
    if (info.tensor.size(1) == 1) continue;
    ColumnSums sums{.columns = info.tensor.size(0), .squares = {}, .counts = {1}};
    for (std::int64_t i = 0; i < sums.columns; ++i) {
      sums.squares.push_back(std::pow(10.0, 2 * static_cast<double>(i * 7919 % 256) / 256));
    }
    importance.tensors.emplace(info.name, std::move(sums));
  }
  ASSERT_TRUE(write_importance(matrix(), importance));
  const auto weighted_error = [&](const gguf::File& file) {
    double error = 0;
    for (const auto& [name, sums] : importance.tensors) {
      const std::vector<float> old = values_of(before, name);
      const std::vector<float> made = values_of(file, name);
      for (std::size_t i = 0; i < old.size(); ++i) {
        error += sums.squares[i % sums.squares.size()] * std::pow(made[i] - old[i], 2);
      }
    }
    return error;
  };
  for (const char* type : {"Q4_0", "Q2_K_S", "Q4_K_M"}) {
    ASSERT_EQ(quantize({type}, model_.path()).exit_code, 0);
    const double plain = weighted_error(open(out()));
    ASSERT_EQ(quantize({type, "--imatrix", matrix()}, model_.path()).exit_code, 0);
    // docs/reference/formats.md: the root of it is lower by 10% and more.
    EXPECT_LT(weighted_error(open(out())), 0.9 * plain) << type;
  }
}

TEST_F(Imatrix, OfAnotherModelIsRejectedOrReported) {
  ImportanceMatrix importance;
  importance.tensors["blk.0.attn_q.weight"] = {
      .columns = 128, .squares = std::vector<double>(128, 1), .counts = {1}};
  ASSERT_TRUE(write_importance(matrix(), importance));
  RunResult result = quantize({"Q4_K_M", "--imatrix", matrix()}, model_.path());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("tensor blk.0.attn_q.weight has sums [128, 1], of columns and "
                                    "matrices; in "));
  EXPECT_THAT(folder_.list(), ElementsAre("imatrix.gguf"));

  importance.tensors["blk.0.attn_q.weight"] = {
      .columns = 256, .squares = std::vector<double>(256, 1), .counts = {1}};
  ASSERT_TRUE(write_importance(matrix(), importance));
  result = quantize({"Q4_K_M", "--imatrix", matrix()}, model_.path());
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("no data for 35 of 36 tensors, such as "));
  result = quantize({"IQ2_S", "--imatrix", matrix()}, model_.path());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("lacks blk.0.attn_k.weight and 33 more tensors"));
}

TEST_F(Imatrix, NonFiniteActivationsWriteNoFile) {
  const std::string broken = folder_.file("broken.gguf");
  write_edited(model_.path(), broken, [](EditedFile& file) {
    file.set_element("blk.1.ffn_norm.weight", 3, std::numeric_limits<float>::infinity());
  });
  const std::string numberless = folder_.file("numberless.gguf");
  write_edited(model_.path(), numberless, [](EditedFile& file) {
    file.set_element("blk.1.ffn_norm.weight", 3, -std::numeric_limits<float>::quiet_NaN());
  });
  RunOptions options;
  for (int i = 0; i < 40; ++i) options.input += "some words of a text that goes on and on. ";
  const RunResult result =
      run_command({"imatrix", "-m", broken, "-o", matrix(), "--ctx", "32"}, options);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("broken.gguf: chunk 1 of "));
  EXPECT_THAT(result.err, testing::ContainsRegex("blk\\.1\\.ffn_(gate|up)\\.weight [(]weight[)]: "
                                                 "the activation at column 3 is -?inf"));
  const RunResult nan =
      run_command({"imatrix", "-m", numberless, "-o", matrix(), "--ctx", "32"}, options);
  EXPECT_EQ(nan.exit_code, 1);
  EXPECT_THAT(nan.err, HasSubstr("the activation at column 3 is nan\n"));
  EXPECT_THAT(folder_.list(), ElementsAre("broken.gguf", "numberless.gguf"));
}

TEST_F(Imatrix, UsesTheSingularForOneChunk) {
  const RunResult made = imatrix({"--ctx", "32", "--chunks", "1"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, testing::EndsWith(" tensors, 1 chunk of 32 tokens\n"));
}

TEST_F(Imatrix, ReportsMissingOutputAndShortText) {
  EXPECT_EQ(run_command({"imatrix", "--model", model_.path(), "text"}).exit_code, 2);
  RunResult result = run_command({"imatrix", "-m", model_.path(), "-o", matrix(), "a few words"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, testing::MatchesRegex(
                              "shunt: command line: the text has [0-9]+ tokens, but a chunk has "
                              "512; use a longer text or a smaller --ctx\n"));
  result = run_command({"imatrix", "-m", model_.path(), "-o", "", "a few words"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--output: the name of the file is empty"));
  result = run_command({"imatrix", "-m", model_.path(), "-o", model_.path(), "a few words"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--model reads this file"));
  EXPECT_TRUE(folder_.list().empty());
}

}  // namespace
}  // namespace shunt::test::quantize_test
