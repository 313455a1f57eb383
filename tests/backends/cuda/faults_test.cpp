// Faults of CUDA devices: each one is an error, and nothing stays allocated. A device that is lost
// takes others with it only if they don't answer.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <thread>

#include "backends/cuda/cuda_devices.h"
#include "shunt/peaks.h"
#include "support/sanitized.h"

namespace shunt::test::cuda_faults_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kStride = kSanitized ? 7 : 1;
constexpr std::int64_t kColumns = kSanitized ? 1024 : 8192;

class CudaFaults : public CudaDevices {
 protected:
  void TearDown() override {
    registry_.reset();
    if (!twin_.there()) return;
    EXPECT_THAT(twin_.findings(), IsEmpty());
  }
  Device* device(std::string_view name) const { return *registry_->find(name); }
  std::unique_ptr<GraphRun> run_on(std::string_view device, const Rows& rows) {
    const std::vector<std::string> names = {std::string(device)};
    const auto chosen = registry_->select(names);
    EXPECT_TRUE(chosen) << chosen.error().message();
    auto run = GraphRun::create(rows.graph, *chosen, rows.leaves);
    EXPECT_TRUE(run) << run.error().message();
    return run ? std::move(*run) : nullptr;
  }
};

/// A fault of the twin at each of its calls, later on at every 100th part. Waiting makes calls too,
/// so a slow machine makes many.
class CudaFaultsAtEachCall : public CudaFaults, public testing::WithParamInterface<const char*> {};

TEST_P(CudaFaultsAtEachCall, GiveAnErrorAndLeaveNothingBehind) {
  registry_.reset();
  twin_.restart();
  const Rows rows;
  const bool all_is_lost = std::string_view(GetParam()) == "CUDA_TWIN_FAIL_LOST";
  int failed = 0;
  bool succeeded = false;
  for (int n = 1; n < 1'000'000 && !succeeded; n += std::max(kStride, n / 100)) {
    twin_.set(GetParam(), std::to_string(n).c_str());
    Status status = ok();
    open();
    const auto chosen = devices();
    if (!chosen) {
      status = chosen.error();
    } else {
      auto run = GraphRun::create(rows.graph, *chosen, rows.leaves);
      status = run ? (*run)->plan().run() : Status(run.error());
    }
    registry_.reset();
    if (!all_is_lost) {
      EXPECT_EQ(twin_.live(), 0U) << GetParam() << " " << n;
    }
    twin_.restart();
    succeeded = status.has_value();
    if (!succeeded) ++failed;
  }
  EXPECT_GT(failed, 0);
  EXPECT_TRUE(succeeded);
}

INSTANTIATE_TEST_SUITE_P(, CudaFaultsAtEachCall,
                         testing::Values("CUDA_TWIN_FAIL_ALLOCATION", "CUDA_TWIN_FAIL_MODULE",
                                         "CUDA_TWIN_FAIL_LAUNCH", "CUDA_TWIN_FAIL_COPY",
                                         "CUDA_TWIN_FAIL_LATE", "CUDA_TWIN_FAIL_LOST"),
                         [](const auto& test) { return std::string(test.param).substr(15); });

TEST_F(CudaFaults, AnErrorOfOneContextLeavesOtherDevicesAtWork) {
  registry_.reset();
  twin_.set("CUDA_TWIN_DEVICES", "2");
  twin_.restart();
  open();
  const Rows rows;
  auto first = run_on("cuda0", rows), second = run_on("cuda1", rows);
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(first->plan().run());
  ASSERT_TRUE(second->plan().run());
  twin_.set("CUDA_TWIN_FAIL_LATE", "1");
  const Status lost = first->plan().run();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().device(), "cuda0");
  EXPECT_THAT(lost.error().message(), HasSubstr("CUDA_ERROR_LAUNCH_FAILED"));
  const Status again = first->plan().run();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().device(), "cuda0");
  EXPECT_FALSE(device("cuda0")->open_stream());
  EXPECT_EQ(twin_.counts("empty").launches, 0U);
  for (int i = 0; i < 3; ++i) {
    const Status other = second->plan().run();
    EXPECT_TRUE(other) << other.error().message();
    EXPECT_EQ(twin_.counts("empty").launches, 1U) << "it is asked once whether it works";
  }
}

/// All registries of a process have the same cards.
TEST_F(CudaFaults, ALossIsKnownToDevicesOfOtherRegistries) {
  registry_.reset();
  twin_.set("CUDA_TWIN_DEVICES", "2");
  twin_.restart();
  open();
  const Rows rows;
  auto first = run_on("cuda0", rows);
  ASSERT_TRUE(first);
  auto other = Registry::create(twin_.options());
  ASSERT_TRUE(other) << other.error().message();
  const std::vector<std::string> names = {"cuda1"};
  auto second = GraphRun::create(rows.graph, *(*other)->select(names), rows.leaves);
  ASSERT_TRUE(second) << second.error().message();
  ASSERT_TRUE((*second)->plan().run());
  twin_.set("CUDA_TWIN_FAIL_LATE", "1");
  ASSERT_FALSE(first->plan().run());
  EXPECT_EQ(twin_.counts("empty").launches, 0U);
  EXPECT_TRUE((*second)->plan().run());
  EXPECT_EQ(twin_.counts("empty").launches, 1U) << "it is asked whether it works";
  second->reset();
  other->reset();
}

/// Kernels behind one that found a fault do nothing.
TEST_F(CudaFaults, KernelsAfterAFaultWriteNothing) {
  Rows rows;
  auto run = run_on("cuda0", rows);
  ASSERT_TRUE(run);
  const auto written = [&] { return twin_.counts("rms_norm_F32").bytes_written; };
  ASSERT_TRUE(run->plan().run());
  const auto once = written();
  ASSERT_GT(once, 0U);
  rows.set(0, 3);
  ASSERT_TRUE(run->set_inputs(rows.leaves));
  ASSERT_FALSE(run->plan().run());
  EXPECT_EQ(written(), once);
  rows.set(0, 2);
  ASSERT_TRUE(run->set_inputs(rows.leaves));
  ASSERT_TRUE(run->plan().run());
  EXPECT_EQ(written(), 2 * once);
}

TEST_F(CudaFaults, FreeMemoryIsWhatTheDriverHas) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  Device& card = *device("cuda0");
  const auto before = card.memory_free();
  {
    const auto buffer = card.memory().allocate(100 * kMiB);
    ASSERT_TRUE(buffer);
    EXPECT_EQ(card.memory_free(), before - 100 * kMiB);
  }
  EXPECT_EQ(card.memory_free(), before);
  twin_.set("CUDA_TWIN_FAIL_LOST", "1");
  EXPECT_EQ(card.memory_free(), 1U) << "none: 0 means that it is not known";
}

TEST_F(CudaFaults, ADriverThatLosesTheProcessLosesAllDevices) {
  registry_.reset();
  twin_.set("CUDA_TWIN_DEVICES", "2");
  twin_.restart();
  open();
  const Rows rows;
  auto first = run_on("cuda0", rows), second = run_on("cuda1", rows);
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(first->plan().run());
  twin_.set("CUDA_TWIN_FAIL_LOST", "1");
  for (GraphRun* run : {first.get(), second.get()}) {
    const Status lost = run->plan().run();
    ASSERT_FALSE(lost);
    EXPECT_THAT(lost.error().message(), HasSubstr("CUDA_ERROR_DEVICE_UNAVAILABLE"));
  }
  auto cpu = run_on("cpu0", rows);
  ASSERT_TRUE(cpu);
  EXPECT_TRUE(cpu->plan().run());
}

TEST_F(CudaFaults, WithoutPinnedMemoryFaultsOfKernelsAreFoundToo) {
  registry_.reset();
  twin_.set("CUDA_TWIN_FAIL_PINNED", "1+");
  twin_.restart();
  open();
  Rows rows;
  auto run = run_on("cuda0", rows);
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->plan().run());
  rows.set(0, 3);
  ASSERT_TRUE(run->set_inputs(rows.leaves));
  for (int i = 0; i < 2; ++i) {
    const Status wrong = run->plan().run();
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().message(), HasSubstr("3 is not from 0 to 2"));
    EXPECT_EQ(wrong.error().node(), rows.graph->describe(rows.picked));
  }
  rows.set(0, 2);
  ASSERT_TRUE(run->set_inputs(rows.leaves));
  EXPECT_TRUE(run->plan().run());
  const auto warnings = device("cuda0")->warnings();
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_GT(warnings[0].count, 0U);
  EXPECT_THAT(warnings[0].text, HasSubstr("no pinned memory"));
}

/// A product that takes the twin several times the timeout: as good as one that never ends.
class CudaFaultsOfTime : public CudaFaults {
 protected:
  void SetUp() override {
    CudaFaults::SetUp();
    if (IsSkipped()) return;
    registry_.reset();
    twin_.set("CUDA_TWIN_THREADS", "1");
    twin_.restart();
    Options options = twin_.options();
    options.backend_options["cuda"]["timeout"] = "1";
    open(options);
  }
  Result<std::unique_ptr<GraphRun>> make_product() const {
    GraphBuilder g;
    const auto w = g.weight("w", *make_tensor(DType::kF32, {512, 512}));
    const auto x = g.input("x", *make_tensor(DType::kF32, {512, kColumns}));
    SHUNT_TRY(g.output(matmul(g, w, x), "y"));
    SHUNT_ASSIGN(Graph graph, std::move(g).build());
    return GraphRun::create(std::make_shared<const Graph>(std::move(graph)), *devices(),
                            {{w->id, RefTensor(Sizes{512, 512, 1, 1})},
                             {x->id, RefTensor(Sizes{512, kColumns, 1, 1})}});
  }
};

TEST_F(CudaFaultsOfTime, ADeviceThatTakesLongerThanItsTimeoutIsLost) {
  auto run = make_product();
  ASSERT_TRUE(run) << run.error().message();
  const Status status = (*run)->plan().run();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().device(), "cuda0");
  EXPECT_THAT(status.error().message(), HasSubstr("a task did not end within 1 s"));
  // The process has one context of the device. Another registry does not use it.
  const auto expect_refused = [&] {
    const auto allocations = twin_.calls("cuMemAlloc_v2");
    const auto other = Registry::create(twin_.options());
    ASSERT_TRUE(other) << other.error().message();
    EXPECT_FALSE((*other)->find("cuda0"));
    for (const BackendStatus& backend : (*other)->backends()) {
      if (backend.name != "cuda") continue;
      EXPECT_THAT(backend.note, HasSubstr("a task did not end within 1 s"));
    }
    EXPECT_EQ(twin_.calls("cuMemAlloc_v2"), allocations);
  };
  expect_refused();
  // The driver's functions that free memory would wait for the task.
  const auto frees = twin_.calls("cuMemFree_v2"), destroyed = twin_.calls("cuStreamDestroy_v2");
  const auto released = twin_.calls("cuDevicePrimaryCtxRelease_v2");
  run->reset();
  registry_.reset();
  EXPECT_EQ(twin_.calls("cuMemFree_v2"), frees);
  EXPECT_EQ(twin_.calls("cuStreamDestroy_v2"), destroyed);
  EXPECT_EQ(twin_.calls("cuDevicePrimaryCtxRelease_v2"), released);
  expect_refused();
  twin_.restart();
}

/// The primary context is that of the process: calls of one registry wait for work of another.
TEST_F(CudaFaultsOfTime, ADeviceThatHangsForOneRegistryIsLostForAnother) {
  auto other = Registry::create(twin_.options());  // its own timeout is long
  ASSERT_TRUE(other) << other.error().message();
  Device& second = **(*other)->find("cuda0");
  auto buffer = second.memory().allocate(64);
  ASSERT_TRUE(buffer);
  auto run = make_product();
  ASSERT_TRUE(run) << run.error().message();
  twin_.set("CUDA_TWIN_FAIL_HANG", "1");
  ASSERT_FALSE((*run)->plan().run());
  const auto frees = twin_.calls("cuMemFree_v2");
  buffer->reset();
  const auto more = second.memory().allocate(64);
  ASSERT_FALSE(more);
  EXPECT_THAT(more.error().message(), HasSubstr("a task did not end within 1 s"));
  EXPECT_FALSE(second.open_stream());
  other->reset();
  run->reset();
  registry_.reset();
  EXPECT_EQ(twin_.calls("cuMemFree_v2"), frees);
  twin_.restart();
}

/// Each of these calls waits for the work of another registry, which hangs: the timeout ends it.
TEST_F(CudaFaultsOfTime, CallsThatMayWaitInTheDriverEndWithTheTimeout) {
  std::unique_ptr<Buffer> buffer;
  const std::map<std::string, std::function<void(Device&)>> calls = {
      {"allocate", [](Device& card) { EXPECT_FALSE(card.memory().allocate(64)); }},
      {"free", [&](Device&) { buffer.reset(); }},
      {"pinned", [](Device& card) { EXPECT_FALSE(card.staging_memory()->allocate(64)); }},
      {"load", [](Device& card) {
         const auto meter = card.open_peak_meter(1);
         ASSERT_TRUE(meter);
         EXPECT_FALSE((*meter)->measure(Peak::kF32, 0.001));
       }}};
  for (const auto& [name, call] : calls) {
    SCOPED_TRACE(name);
    Options options = twin_.options();
    options.backend_options["cuda"]["timeout"] = "1";
    open(options);
    auto other = Registry::create(options);
    ASSERT_TRUE(other) << other.error().message();
    Device& second = **(*other)->find("cuda0");
    buffer = std::move(*second.memory().allocate(64));
    auto run = make_product();
    ASSERT_TRUE(run) << run.error().message();
    twin_.set("CUDA_TWIN_FAIL_HANG", "1");
    Status status = ok();
    const auto launches = twin_.calls("cuLaunchKernel");
    std::thread hanging([&] { status = (*run)->plan().run(); });
    while (twin_.calls("cuLaunchKernel") == launches) std::this_thread::yield();
    call(second);
    hanging.join();
    EXPECT_FALSE(status);
    EXPECT_FALSE(second.open_stream()) << "the device is lost";
    other->reset();
    run->reset();
    registry_.reset();
    twin_.restart();
  }
}

/// Calls of the driver that free memory wait for all work of the device.
TEST_F(CudaFaultsOfTime, FreeingMemoryDoesNotBlockBehindATaskThatDoesNotEnd) {
  auto run = make_product();
  ASSERT_TRUE(run) << run.error().message();
  auto buffer = device("cuda0")->memory().allocate(64);
  ASSERT_TRUE(buffer);
  const auto frees = twin_.calls("cuMemFree_v2"), launches = twin_.calls("cuLaunchKernel");
  Status status = ok();
  std::atomic<bool> ended = false;
  std::thread other([&] {
    status = (*run)->plan().run();
    ended = true;
  });
  const auto wait_for_more = [&](const char* function, std::uint64_t calls) {
    while (twin_.calls(function) <= calls && !ended) std::this_thread::yield();
  };
  // Once it asks for an event, its launches are in the stream.
  wait_for_more("cuLaunchKernel", launches + 1);
  wait_for_more("cuEventQuery", twin_.calls("cuEventQuery"));
  buffer->reset();
  other.join();
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message(), HasSubstr("a task did not end within 1 s"));
  EXPECT_EQ(twin_.calls("cuMemFree_v2"), frees);
  run->reset();
  registry_.reset();
  twin_.restart();
}

/// A stream has pinned memory of its own, also where copies use none.
TEST_F(CudaFaults, PinnedMemoryThatIsRefusedToAStreamIsAWarning) {
  registry_.reset();
  twin_.set("CUDA_TWIN_FAIL_PINNED", "1+");
  twin_.restart();
  Options options = twin_.options();
  options.backend_options["cuda"]["pinned"] = "off";
  open(options);
  const auto stream = device("cuda0")->open_stream();
  ASSERT_TRUE(stream) << stream.error().message();
  const auto warnings = device("cuda0")->warnings();
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0].text, HasSubstr("no pinned memory"));
}

TEST_F(CudaFaults, NothingIsFreedThroughTheDriverOnceTheDeviceIsLost) {
  const Rows rows;
  auto run = run_on("cuda0", rows);
  ASSERT_TRUE(run);
  twin_.set("CUDA_TWIN_FAIL_LATE", "1");
  ASSERT_FALSE(run->plan().run());
  const auto frees = twin_.calls("cuMemFree_v2");
  run.reset();
  registry_.reset();
  EXPECT_EQ(twin_.calls("cuMemFree_v2"), frees);
  EXPECT_EQ(twin_.live(), 0U) << "the context was released";
}

}  // namespace
}  // namespace shunt::test::cuda_faults_test
