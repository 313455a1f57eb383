// Files of the other byte order give the same weights and tokens as the file they were made from.
// The notes state their cost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/model_state.h"
#include "support/big_endian.h"
#include "support/engine_run.h"
#include "support/models.h"
#include "support/run_command.h"
#include "support/shared.h"
#include "support/stories.h"
#include "support/test_device.h"

namespace shunt::test::engine_byte_order_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class EngineByteOrder : public ::testing::Test {
 protected:
  EngineByteOrder() {
    auto registry = Registry::create({});
    EXPECT_TRUE(registry);
    registry_ = std::move(*registry);
    cpu_ = registry_->devices().back();
  }

  /// The big-endian twin of a little-endian file.
  std::string big(const std::string& path, std::string_view name = "big.gguf") const {
    const std::string bytes = read_file(path);
    return folder_.write(name, to_big_endian(std::as_bytes(std::span(bytes))));
  }

  static LoadOptions load_options(WeightMode mode = WeightMode::kAuto) {
    LoadOptions options;
    options.session = small_session();
    options.weights = mode;
    return options;
  }

  EngineRun must_run(const std::string& path, const std::vector<Device*>& devices,
                     const LoadOptions& options) const {
    auto made = run_engine(path, devices, options);
    EXPECT_TRUE(made) << made.error().message();
    return made ? std::move(*made) : EngineRun();
  }

  void expect_same(const std::string& path, const std::vector<Device*>& devices,
                   const LoadOptions& options) const {
    const EngineRun little = must_run(path, devices, options);
    const EngineRun big = must_run(this->big(path), devices, options);
    EXPECT_EQ(big.tokens, little.tokens);
    EXPECT_EQ(big.logits, little.logits);
    EXPECT_FALSE(little.logits.empty());
  }

  TempFolder folder_;
  std::unique_ptr<Registry> registry_;
  Device* cpu_ = nullptr;
};

TEST_F(EngineByteOrder, DoesNotChangeTokensOfTheDefaultModel) {
  for (const WeightMode mode : {WeightMode::kAuto, WeightMode::kMapped, WeightMode::kCopied}) {
    SCOPED_TRACE(to_string(mode));
    expect_same(stories().path, {cpu_}, load_options(mode));
  }
}

TEST_F(EngineByteOrder, DoesNotChangeTheTextOfTheCommand) {
  const RunResult result =
      run_command({"run", "--model", big(stories().path), "-n", stories().count(), "--temp", "0",
                   "--prompt", stories().prompt});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, stories().text + "\n");
}

/// The types that weights can have.
std::vector<DType> weight_types() {
  std::vector<DType> types;
  for (const DTypeTrait& type : dtypes()) {
    const bool stored = type.encode != nullptr || type.encode_weighted != nullptr;
    if (stored && !type.integer && type.dtype != DType::kF64) types.push_back(type.dtype);
  }
  return types;
}

class EngineByteOrderOfType : public EngineByteOrder,
                              public ::testing::WithParamInterface<DType> {};

TEST_P(EngineByteOrderOfType, DoesNotChangeTokens) {
  SynthOptions options;
  options.layers = 1;
  options.width = 256;
  options.feed_forward = 256;
  options.vocabulary = 300;
  options.dtype = GetParam();
  const SynthModel model(options);
  for (const WeightMode mode : {WeightMode::kMapped, WeightMode::kCopied}) {
    SCOPED_TRACE(to_string(mode));
    expect_same(model.path(), {cpu_}, load_options(mode));
  }
}

INSTANTIATE_TEST_SUITE_P(, EngineByteOrderOfType, ::testing::ValuesIn(weight_types()),
                         [](const auto& type) { return std::string(to_string(type.param)); });

TEST_F(EngineByteOrder, DoesNotChangeTokensOnADevice) {
  SynthOptions options;
  options.dtype = DType::kQ4_0;
  const SynthModel model(options);
  TestDevice device({.name = "test0"});
  TestDevice q8({.name = "test0", .wants_types = {{DType::kQ4_0, DType::kQ8_0}}});
  expect_same(model.path(), {&device, cpu_}, load_options());
  expect_same(model.path(), {&q8, cpu_}, load_options());  // transcoded on their way
}

TEST_F(EngineByteOrder, OnlyNativeOrderWeightsAreUsedInTheMappedFile) {
  const SynthModel model;  // F32
  const std::string twin = big(model.path());
  const bool host_is_little = std::endian::native == std::endian::little;
  const std::string& native = host_is_little ? model.path() : twin;
  const std::string& foreign = host_is_little ? twin : model.path();
  const std::string name = cpu_->info().name;

  const EngineRun used = must_run(native, {cpu_}, load_options(WeightMode::kMapped));
  const std::uint64_t all = used.model->info().weight_bytes;
  EXPECT_EQ(used.model->ledger().bytes(name, Purpose::kMappedWeights), all);
  EXPECT_EQ(used.model->ledger().bytes(name, Purpose::kWeights), 0U);
  EXPECT_THAT(used.model->notes(), Not(Contains(HasSubstr("byte order"))));

  for (const WeightMode mode : {WeightMode::kMapped, WeightMode::kAuto, WeightMode::kCopied}) {
    SCOPED_TRACE(to_string(mode));
    const EngineRun copied = must_run(foreign, {cpu_}, load_options(mode));
    EXPECT_EQ(copied.model->ledger().bytes(name, Purpose::kMappedWeights), 0U);
    EXPECT_GE(copied.model->ledger().bytes(name, Purpose::kWeights), all);
    Ledger used_now = copied.model->ledger();
    used_now.add(copied.session->ledger());
    EXPECT_EQ(to_text(used_now.in_buffers()), to_text(copied.model->predicted().in_buffers()));
    EXPECT_THAT(copied.model->notes(), Contains(HasSubstr("in another byte order")));
    EXPECT_EQ(copied.tokens, used.tokens);
  }
}

TEST_F(EngineByteOrder, OfBlocksInMemoryIsLittleEndianOnAnyHost) {
  SynthOptions options;
  options.dtype = DType::kQ8_0;
  const SynthModel model(options);
  const EngineRun little = must_run(model.path(), {cpu_}, load_options(WeightMode::kMapped));
  const EngineRun big =
      must_run(this->big(model.path()), {cpu_}, load_options(WeightMode::kMapped));
  const std::string name = cpu_->info().name;
  std::uint64_t blocks = 0;
  std::uint64_t plain = 0;
  for (const gguf::TensorInfo& info : little.model->state()->file.tensors()) {
    (info.tensor.dtype == DType::kQ8_0 ? blocks : plain) += info.bytes;
  }
  const bool host_is_little = std::endian::native == std::endian::little;
  EXPECT_EQ(little.model->ledger().bytes(name, Purpose::kMappedWeights),
            blocks + (host_is_little ? plain : 0));
  EXPECT_EQ(big.model->ledger().bytes(name, Purpose::kMappedWeights), host_is_little ? 0 : plain);
}

TEST_F(EngineByteOrder, OfQuantizedFilesIsLittleEndian) {
  SynthOptions options;
  options.dtype = DType::kF16;
  const SynthModel model(options);
  const std::string twin = big(model.path());
  std::vector<std::string> quantized;
  for (const std::string& path : {model.path(), twin}) {
    const std::string to = folder_.file(std::to_string(quantized.size()) + ".gguf");
    const RunResult result = run_command({"quantize", path, to, "Q8_0"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    quantized.push_back(read_file(to));
  }
  EXPECT_TRUE(quantized[0] == quantized[1]);
}

TEST_F(EngineByteOrder, IsShownByInspect) {
  const SynthModel model;
  const RunResult little = run_command({"inspect", model.path()});
  const RunResult big = run_command({"inspect", this->big(model.path())});
  EXPECT_THAT(little.out, Not(HasSubstr("endian")));
  EXPECT_THAT(big.out, HasSubstr(", big-endian\n"));
  const RunResult json = run_command({"inspect", this->big(model.path()), "--json"});
  EXPECT_THAT(json.out, HasSubstr("\"byte_order\": \"big\""));
}

}  // namespace
}  // namespace shunt::test::engine_byte_order_test
