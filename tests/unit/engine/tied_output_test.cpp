// A tensor that is embedding and output: where it is, and how often. Devices, the CPU among them,
// exist only in this test.
#include "engine/load/tied_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/models.h"
#include "support/test_device.h"

namespace shunt::test::engine_tied_output_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

SynthOptions noise(bool tied, DType dtype = DType::kF32) {
  SynthOptions options;
  options.dtype = dtype;
  options.vocabulary = 300;
  options.tied = tied;
  return options;
}

std::uint64_t embedding_bytes(const Model& model) {
  return model.state()->file.find_tensor("token_embd.weight")->bytes;
}

TestDevice cpu() {
  return TestDevice({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
}

/// As many accelerators are: rows of an embedding are not theirs.
TestDevice without_rows(std::size_t memory = std::size_t{1} << 30) {
  return TestDevice({.ops = {"matmul", "add", "mul", "rms_norm", "swiglu"}, .memory = memory});
}

LoadOptions small() {
  LoadOptions options;
  options.session.context = 64;
  options.session.batch = 16;
  options.memory_margin = 0;
  options.placement.rules_only = true;
  return options;
}

std::shared_ptr<const Model> load(const std::string& path, const std::vector<Device*>& devices,
                                  const LoadOptions& options = small()) {
  const auto model = Model::load(path, devices, options);
  if (!model) throw std::runtime_error(model.error().message());
  return *model;
}

std::vector<float> logits(const std::shared_ptr<const Model>& model) {
  const auto session = Session::create(model, small().session);
  if (!session) throw std::runtime_error(session.error().message());
  const std::vector<std::int32_t> prompt = {1, 290, 270, 261};
  const auto result = (*session)->append(prompt);
  if (!result) throw std::runtime_error(result.error().message());
  return {result->begin(), result->end()};
}

/// The names of the leaves that are this tensor of the file, and the device of each.
std::map<std::string, int> leaves_of(const Model& model, const std::string& tensor) {
  std::map<std::string, int> leaves;
  const auto state = model.state();
  const auto step = state->definition->build({1, 1, 1, DType::kF16});
  EXPECT_TRUE(step);
  for (const WeightLeaf& weight : step->weights) {
    if (weight.info->name != tensor) continue;
    leaves[step->graph.node(weight.leaf).name] = state->weights.at(weight.info).home;
  }
  return leaves;
}

TEST(TiedOutput, IsStoredOnceIfOneDeviceComputesRowsAndMatmuls) {
  const SynthModel file(noise(true));
  TestDevice device({});
  TestDevice host = cpu();
  const auto model = load(file.path(), {&device, &host});
  EXPECT_THAT(leaves_of(*model, "token_embd.weight"),
              UnorderedElementsAre(std::pair("token_embd.weight", 0)));
  EXPECT_EQ(model->ledger().allocated("cpu0"), 0U);
}

TEST(TiedOutput, IsOnTheAcceleratorAndTheEmbeddingOnTheCpu) {
  const SynthModel file(noise(true));
  TestDevice alone = cpu();
  const auto expected = load(file.path(), {&alone});
  TestDevice device = without_rows();
  TestDevice host = cpu();
  const auto model = load(file.path(), {&device, &host});
  EXPECT_THAT(
      leaves_of(*model, "token_embd.weight"),
      UnorderedElementsAre(std::pair("token_embd.weight", 1), std::pair("output.weight", 0)));
  EXPECT_EQ(model->ledger().bytes("cpu0", Purpose::kWeights), embedding_bytes(*model));
  EXPECT_GE(model->ledger().bytes("test0", Purpose::kWeights), model->info().weight_bytes);
  // The model has the weights of the file.
  EXPECT_EQ(model->info().weights, expected->info().weights);
  EXPECT_EQ(model->info().weight_bytes, expected->info().weight_bytes);
  const auto want = logits(expected);
  const auto got = logits(model);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4);
}

TEST(TiedOutput, ProgressCountsEachReadOfTheTensor) {
  const SynthModel file(noise(true));
  TestDevice device = without_rows();
  TestDevice host = cpu();
  LoadOptions options = small();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    told.emplace_back(done, total);
  };
  Device* const devices[] = {&device, &host};
  const auto model = Model::load(file.path(), devices, options);
  ASSERT_TRUE(model) << model.error().message();
  const std::uint64_t total = (*model)->info().weight_bytes + embedding_bytes(**model);
  ASSERT_GT(told.size(), 1U);
  for (std::size_t i = 0; i < told.size(); ++i) {
    EXPECT_EQ(told[i].second, total);
    EXPECT_EQ(told[i].first == total, i + 1 == told.size()) << "it is all there at the end only";
  }
}

TEST(TiedOutput, MayBePinnedByItsOwnName) {
  const SynthModel file(noise(true));
  TestDevice device({});
  TestDevice host = cpu();
  LoadOptions options = small();
  options.placement.pins = {{"token_embd.weight", "cpu0"}, {"output.weight", "test0"}};
  EXPECT_THAT(
      leaves_of(*load(file.path(), {&device, &host}, options), "token_embd.weight"),
      UnorderedElementsAre(std::pair("token_embd.weight", 1), std::pair("output.weight", 0)));
}

TEST(TiedOutput, IsStoredOnceIfLogitsArePinnedToTheCpu) {
  const SynthModel file(noise(true));
  TestDevice device = without_rows();
  TestDevice host = cpu();
  LoadOptions options = small();
  options.placement.pins = {{"logits", "cpu0"}};
  const auto model = load(file.path(), {&device, &host}, options);
  EXPECT_THAT(leaves_of(*model, "token_embd.weight"),
              UnorderedElementsAre(std::pair("token_embd.weight", 1)));
  EXPECT_EQ(model->ledger().bytes("cpu0", Purpose::kWeights), embedding_bytes(*model));
}

/// The first device would have both, and the second one the output: then the first has both, once.
TEST(TiedOutput, IsStoredOnceOnADeviceOfHigherPriority) {
  const SynthModel file(noise(true));
  TestDevice both({.name = "test0", .priority = 2});
  TestDevice products({.name = "test1", .priority = 1, .ops = {"matmul"}});
  TestDevice host = cpu();
  const auto model = load(file.path(), {&both, &products, &host});
  EXPECT_THAT(leaves_of(*model, "token_embd.weight"),
              UnorderedElementsAre(std::pair("token_embd.weight", 0)));
}

TEST(TiedOutput, MovesToTheCpuIfTheAcceleratorFails) {
  const SynthModel file(noise(true));
  TestDevice alone = cpu();
  const auto want = logits(load(file.path(), {&alone}));
  TestDevice device = without_rows();
  TestDevice host = cpu();
  LoadOptions options = small();
  options.on_device_error.mode = DeviceErrorMode::kFallback;
  const auto model = load(file.path(), {&device, &host}, options);
  device.fail_at({.launch = 3, .for_good = true});
  const auto got = logits(model);
  EXPECT_TRUE(device.has_failed());
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4);
}

/// A placement of either kind is followed, with the accelerator there or not.
TEST(TiedOutput, FollowsAPlacementFile) {
  const SynthModel file(noise(true));
  TestDevice device = without_rows();
  TestDevice host = cpu();
  for (const bool apart : {false, true}) {
    const auto opened = gguf::File::open(file.path());
    ASSERT_TRUE(opened);
    const auto definition = read_model(*opened);
    ASSERT_TRUE(definition);
    const auto two = (*definition)->with_output_apart();
    const auto step = (apart ? *two : **definition).build({2, 1, 8, DType::kF16});
    ASSERT_TRUE(step);
    Device* const cpu_alone[] = {&host};
    const auto placed = place(step->graph, cpu_alone, {});
    ASSERT_TRUE(placed);
    LoadOptions options = small();
    auto read = read_placement(write_placement(step->graph, *placed), "placed.txt");
    ASSERT_TRUE(read);
    options.placement.file = std::move(*read);
    for (const bool with_device : {false, true}) {
      std::vector<Device*> devices = {&device, &host};
      if (!with_device) devices.erase(devices.begin());
      const auto model = Model::load(file.path(), devices, options);
      ASSERT_TRUE(model) << apart << with_device << ": " << model.error().message();
      EXPECT_EQ(leaves_of(**model, "token_embd.weight").size(), apart ? 2U : 1U);
    }
  }
}

/// A device whose type can't hold a value takes the tensor for both at first, and for the output
/// alone then: the second reading is by that graph.
TEST(TiedOutput, MayBeSplitFromTheEmbeddingIfTranscodingFails) {
  const SynthModel file(noise(true));
  const std::string path = file.folder().file("large.gguf");
  write_edited(file.path(), path,
               [](EditedFile& edited) { edited.set_element("token_embd.weight", 3, 1e30F); });
  const auto takes = [](const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    const bool rows = node.op->info().name == "get_rows";
    const bool plain = rows && graph.node(node.sources[0]).result.dtype == DType::kF32 &&
                       graph.node(node.sources[0]).role == Role::kWeight;
    return plain ? Support::yes_if(0, DType::kF16) : Support::yes();
  };
  TestDevice device({.answer = takes});
  TestDevice host = cpu();
  LoadOptions options = small();
  options.placement.transcode = Transcode::kLossy;
  const auto model = load(path, {&device, &host}, options);
  EXPECT_THAT(model->notes(), Contains(HasSubstr("so nothing was transcoded")));
  EXPECT_THAT(
      leaves_of(*model, "token_embd.weight"),
      UnorderedElementsAre(std::pair("token_embd.weight", 1), std::pair("output.weight", 0)));
  EXPECT_EQ(logits(model).size(), 300U);
}

TEST(TiedOutput, IsASecondLeafOnlyIfTheFileHasOneTensor) {
  for (const bool tied : {false, true}) {
    const SynthModel file(noise(tied));
    const auto opened = gguf::File::open(file.path());
    ASSERT_TRUE(opened);
    const auto definition = read_model(*opened);
    ASSERT_TRUE(definition);
    const auto apart = (*definition)->with_output_apart();
    ASSERT_EQ(apart != nullptr, tied);
    if (!tied) continue;
    EXPECT_EQ(apart->with_output_apart(), nullptr) << "that has been done";
    EXPECT_EQ(apart->weights().size(), (*definition)->weights().size() + 1);
    const auto one = (*definition)->build({2, 1, 8, DType::kF16});
    const auto two = apart->build({2, 1, 8, DType::kF16});
    ASSERT_TRUE(one && two);
    EXPECT_EQ(two->weights.size(), one->weights.size() + 1);
    EXPECT_EQ(two->graph.size(), one->graph.size() + 1);
  }
}

/// With a CPU that uses the mapped file.
class TiedOutputInMappedFile : public ::testing::Test {
 protected:
  static void expect_as_predicted(const Model& model) {
    for (const Purpose purpose : {Purpose::kWeights, Purpose::kMappedWeights}) {
      for (const char* device : {"cpu0", "test0"}) {
        EXPECT_EQ(model.predicted().bytes(device, purpose), model.ledger().bytes(device, purpose))
            << device << " " << to_string(purpose);
      }
    }
  }

  // Blocks are the same bytes in a file and in the memory of any machine.
  const SynthModel file_{noise(true, DType::kQ8_0)};
  TestDevice host_{{.name = "cpu0",
                    .kind = DeviceKind::kCpu,
                    .in_host_memory = true,
                    .wants_weight = [](const Graph&, NodeId) { return true; }}};
};

TEST_F(TiedOutputInMappedFile, IsCountedOnceOnTheCpu) {
  TestDevice device = without_rows(1000);
  const auto model = load(file_.path(), {&device, &host_});
  EXPECT_THAT(
      leaves_of(*model, "token_embd.weight"),
      UnorderedElementsAre(std::pair("token_embd.weight", 1), std::pair("output.weight", 1)));
  const std::uint64_t mapped = model->ledger().total(Purpose::kMappedWeights);
  EXPECT_EQ(mapped + model->ledger().total(Purpose::kWeights), model->info().weight_bytes);
  EXPECT_GE(mapped, embedding_bytes(*model));
  expect_as_predicted(*model);
}

TEST_F(TiedOutputInMappedFile, IsCountedForEachDeviceThatUsesTheMapping) {
  TestDevice device({.ops = {"matmul"}, .in_host_memory = true});
  const auto model = load(file_.path(), {&device, &host_});
  EXPECT_THAT(
      leaves_of(*model, "token_embd.weight"),
      UnorderedElementsAre(std::pair("token_embd.weight", 1), std::pair("output.weight", 0)));
  EXPECT_GE(model->ledger().bytes("cpu0", Purpose::kMappedWeights), embedding_bytes(*model));
  EXPECT_GE(model->ledger().bytes("test0", Purpose::kMappedWeights), embedding_bytes(*model));
  expect_as_predicted(*model);
}

TEST_F(TiedOutputInMappedFile, IsCopiedForTheCpuInCopiedMode) {
  TestDevice device = without_rows(1000);
  LoadOptions options = small();
  options.weights = WeightMode::kCopied;
  const auto model = load(file_.path(), {&device, &host_}, options);
  EXPECT_EQ(model->ledger().bytes("cpu0", Purpose::kMappedWeights), 0U);
  EXPECT_GE(model->ledger().bytes("cpu0", Purpose::kWeights),
            model->info().weight_bytes + embedding_bytes(*model));
  expect_as_predicted(*model);
  const auto want = logits(load(file_.path(), {&host_}));
  const auto got = logits(model);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4);
}

}  // namespace
}  // namespace shunt::test::engine_tied_output_test
