// Threads that use CUDA devices at the same time.
#include <gmock/gmock.h>

#include <thread>

#include "backends/cuda/cuda_devices.h"
#include "support/engine_run.h"
#include "support/models.h"

namespace shunt::test::cuda_threads_test {
namespace {

using testing::IsEmpty;

using CudaThreads = CudaDevices;

TEST_F(CudaThreads, TwoSessionsOnTwoDevicesGiveTheSameText) {
  registry_.reset();
  twin_.set("CUDA_TWIN_DEVICES", "2");
  twin_.restart();
  open();
  const SynthModel model(tiny_shape());
  const auto run = [&](const std::string& name, std::vector<std::int32_t>& tokens) {
    const std::vector<std::string> names = {name};
    const auto chosen = registry_->select(names);
    ASSERT_TRUE(chosen) << chosen.error().message();
    LoadOptions options;
    options.session = small_session();
    options.placement.rules_only = true;
    const auto made = run_engine(model.path(), *chosen, options);
    ASSERT_TRUE(made) << made.error().message();
    tokens = made->tokens;
  };
  std::vector<std::int32_t> alone, first, second;
  run("cuda0", alone);
  std::thread one([&] { run("cuda0", first); });
  std::thread two([&] { run("cuda1", second); });
  one.join();
  two.join();
  EXPECT_FALSE(alone.empty());
  EXPECT_EQ(first, alone);
  EXPECT_EQ(second, alone);
  EXPECT_THAT(twin_.findings(), IsEmpty());
}

TEST_F(CudaThreads, ManyThreadsAllocateAndCopyOnOneDevice) {
  Device& device = **registry_->find("cuda0");
  std::vector<std::thread> threads;
  std::array<int, 4> good = {};
  for (std::size_t t = 0; t < good.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const auto buffer = device.memory().allocate(4096);
        const std::vector<std::byte> written(4096, static_cast<std::byte>(16 * t + 1));
        std::vector<std::byte> read(4096);
        if (!buffer || !(*buffer)->write(0, written) || !(*buffer)->read(0, read)) continue;
        good[t] += read == written ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(good, testing::Each(20));
}

}  // namespace
}  // namespace shunt::test::cuda_threads_test
