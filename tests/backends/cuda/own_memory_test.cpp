// Memory of the device that the driver takes for itself: it is measured, it is on the ledger, and
// none of it is taken in a step.
#include <gmock/gmock.h>

#include "backends/cuda/cuda_devices.h"
#include "engine/model_state.h"
#include "ops/data/data.h"
#include "support/engine_run.h"
#include "support/models.h"

namespace shunt::test::cuda_own_memory_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
/// Of a context of the twin (CUDA_TWIN_DRIVER_MEMORY in its README).
constexpr std::uint64_t kContext = 256 * kMiB;
/// Threads that an H200 holds at once: its multiprocessors, and the threads of each.
constexpr std::uint64_t kThreads = std::uint64_t{132} * 2048;

class CudaOwnMemory : public CudaDevices {
 protected:
  void SetUp() override {
    CudaDevices::SetUp();
    if (!IsSkipped()) reopen({});
  }
  void reopen(Settings settings, const char* memory = "auto") {
    Options options = twin_.options();
    options.backend_options["cuda"]["memory"] = memory;
    twin_.set("CUDA_TWIN_DRIVER_MEMORY", "on");
    CudaDevices::reopen(settings, options);
  }
  Device& device() const { return **registry_->find("cuda0"); }
  /// y = x as IQ3_S: a kernel that needs more than 1 KiB of stack.
  Result<std::unique_ptr<GraphRun>> encode() const {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {256, 2}));
    const auto y = g.cache("y", *make_tensor(DType::kIQ3_S, {256, 2}));
    SHUNT_TRY(g.output(cpy(g, x, y), "copied"));
    SHUNT_ASSIGN(Graph graph, std::move(g).build());
    return GraphRun::create(std::make_shared<const Graph>(std::move(graph)), *devices(),
                            {{x->id, make_values({.sizes = {256, 2, 1, 1}}, 1)},
                             {y->id, RefTensor(Sizes{256, 2, 1, 1})}});
  }
};

TEST_F(CudaOwnMemory, IsMeasuredForTheContextCodeAndStacks) {
  const OwnMemory first = device().own_memory();
  EXPECT_EQ(first.context, kContext);
  EXPECT_EQ(first.code, 2 * kMiB) << "of a kernel that shows that the driver compiles any";
  EXPECT_EQ(first.workspace, 0U);
  EXPECT_EQ(device().info().memory_total - device().memory_free(), kContext + 2 * kMiB)
      << "the second context is gone; code takes 2 MiB";
  const auto run = encode();
  ASSERT_TRUE(run) << run.error().message();
  const OwnMemory loaded = device().own_memory();
  EXPECT_EQ(loaded.context, kContext);
  EXPECT_GE(loaded.code, 4 * kMiB);
  EXPECT_GT(loaded.workspace, kThreads * 1024);
  EXPECT_LT(loaded.workspace, kThreads * 16384);
  const auto free = device().memory_free();
  const Status status = (*run)->plan().run();
  ASSERT_TRUE(status) << status.error().message();
  EXPECT_EQ(device().memory_free(), free) << "a run takes none";
  EXPECT_EQ(device().own_memory().workspace, loaded.workspace);
}

TEST_F(CudaOwnMemory, StacksThatDoNotFitAreAnErrorBeforeTheFirstRun) {
  const std::string card = std::to_string(kContext + 64 * kMiB);
  reopen({{"CUDA_TWIN_MEMORY", card.c_str()}});
  const auto run = encode();
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(run.error().message(),
              AllOf(HasSubstr("stacks of "), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY")));
}

/// The driver would wait for the hanging work, for ever.
TEST_F(CudaOwnMemory, StacksOfADeviceThatHangsAreAnError) {
  Options options = twin_.options();
  options.backend_options["cuda"]["timeout"] = "1";
  registry_.reset();
  twin_.restart();
  open(options);
  {
    const auto stream = device().open_stream();
    const auto buffer = device().memory().allocate(64);
    const auto pinned = device().staging_memory()->allocate(64);
    ASSERT_TRUE(stream && buffer && pinned);
    twin_.set("CUDA_TWIN_FAIL_HANG", "1");
    const std::span<const std::byte> bytes((*pinned)->host_data(), 64);
    ASSERT_TRUE((*stream)->write({buffer->get(), 0}, bytes, {}, nullptr));
    const auto run = encode();
    ASSERT_FALSE(run);
    EXPECT_THAT(run.error().message(), HasSubstr("a task did not end within 1 s"));
  }
  registry_.reset();
  twin_.restart();
}

/// Registries share the context, and its largest stacks.
TEST_F(CudaOwnMemory, AnotherRegistryDoesNotMakeStacksSmaller) {
  const auto run = encode();
  ASSERT_TRUE(run) << run.error().message();
  const auto free = device().memory_free();
  const auto limits = twin_.calls("cuCtxSetLimit");
  auto other = Registry::create(twin_.options());
  ASSERT_TRUE(other) << other.error().message();
  std::swap(registry_, *other);
  {
    const auto again = encode();
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(twin_.calls("cuCtxSetLimit"), limits) << "they are there";
    const Status ran = (*again)->plan().run();
    EXPECT_TRUE(ran) << ran.error().message();
  }
  std::swap(registry_, *other);
  other->reset();
  EXPECT_GE(device().memory_free() + 64 * kMiB, free) << "code of its own at most";
}

TEST_F(CudaOwnMemory, ADeviceWithoutRoomForASecondContextStillWorks) {
  const std::string card = std::to_string(kContext + 128 * kMiB);
  reopen({{"CUDA_TWIN_MEMORY", card.c_str()}});
  EXPECT_EQ(device().own_memory().context, 0U) << "not known";
  const Rows rows;
  auto run = GraphRun::create(rows.graph, *devices(), rows.leaves);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_TRUE((*run)->plan().run());
}

TEST_F(CudaOwnMemory, ChipsThatShareTheHostsMemoryHaveNone) {
  reopen({{"CUDA_TWIN_PROFILE", "orin"}});
  ASSERT_TRUE(encode());
  const OwnMemory own = device().own_memory();
  EXPECT_EQ(own.context + own.code + own.workspace + own.graphs, 0U);
}

class CudaLedger : public CudaOwnMemory {
 protected:
  Result<EngineRun> run() const {
    LoadOptions options;
    options.session = small_session();
    options.placement.rules_only = true;
    SHUNT_ASSIGN(const auto chosen, devices());
    return run_engine(model_.path(), chosen, options);
  }
  SynthModel model_;
};

TEST_F(CudaLedger, HasTheDriversMemory) {
  const auto loaded = run();
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_THAT(loaded->model->notes(),
              Contains(AllOf(HasSubstr("cuda0: layers"), HasSubstr("the device itself takes "),
                             HasSubstr("(context 256.0 MiB"))));
  const Ledger ledger = loaded->model->ledger();
  EXPECT_EQ(ledger.bytes("cuda0", Purpose::kContext), kContext);
  EXPECT_GE(ledger.bytes("cuda0", Purpose::kCode), 2 * kMiB);
}

TEST_F(CudaLedger, SaysWhereMemoryIsManaged) {
  for (const char* memory : {"managed", "plain"}) {
    reopen({}, memory);
    const bool managed = std::string_view(memory) == "managed";
    const auto loaded = run();
    ASSERT_TRUE(loaded) << loaded.error().message();
    const auto says = HasSubstr("managed memory, which may exceed the device's");
    for (const std::string& text :
         {to_text(loaded->model->ledger()), to_text(loaded->model->predicted()),
          loaded->model->notes().front()}) {
      EXPECT_EQ(testing::Value(text, says), managed) << text;
    }
  }
}

}  // namespace
}  // namespace shunt::test::cuda_own_memory_test
