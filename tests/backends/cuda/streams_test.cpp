// Streams and events of CUDA devices, and the bits of their results: in each order of the twin's
// work, on each profile, beside another registry.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "backends/cuda/cuda_devices.h"
#include "shunt/ops.h"
#include "support/event_times.h"
#include "support/networks.h"
#include "support/sanitized.h"

namespace shunt::test::cuda_streams_test {
namespace {

using testing::IsEmpty;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class CudaStreams : public CudaDevices {
 protected:
  Device& device() const { return **registry_->find("cuda0"); }
  /// Of the last run, which has the same bits as those before.
  std::vector<double> output_of(const Network& network, int runs = 1) const {
    auto run = GraphRun::create(network.graph, *devices(), network.leaves, {.by_ability = true});
    EXPECT_TRUE(run) << run.error().message();
    std::vector<double> output;
    for (int i = 0; i < runs; ++i) {
      const Status status = (*run)->plan().run();
      EXPECT_TRUE(status) << status.error().message();
      std::vector<double> again = (*run)->output(network.graph->outputs()[0]).value().data;
      if (i > 0) {
        EXPECT_EQ(again, output) << "run " << i;
      }
      output = std::move(again);
    }
    return output;
  }
};

TEST_F(CudaStreams, TimedEventsHaveTimesOfTheHostsClock) {
  expect_times_of_the_host(device());
}

/// The stated error covers a device's clock that is fast by a tenth, once it has been seen for a
/// second: the drift is measured, and the anchor is renewed.
TEST_F(CudaStreams, TimesAllowForAClockThatDrifts) {
  reopen({{"CUDA_TWIN_CLOCK", "100000"}});
  const auto stream = device().open_stream();
  const auto event = (*stream)->create_timed_event();
  const auto buffer = device().memory().allocate(16);
  const std::vector<std::byte> bytes(16);
  WorkTimes times;
  double before = 0, after = 0;
  const auto work = [&] {
    before = now();
    ASSERT_TRUE((*stream)->write({buffer->get(), 0}, bytes, {}, event->get()));
    ASSERT_TRUE((*event)->wait());
    after = now();
    times = (*event)->times().value();
  };
  work();
  const double start = now();
  while (now() < start + 1.2) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  work();  // renews the anchor
  while (now() < start + 1.9) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  work();
  EXPECT_GE(times.begin, before - times.error);
  EXPECT_LE(times.end, after + times.error);
}

/// Submission returns, though its work never ends. Then the wait for it does.
TEST_F(CudaStreams, WorkIsSubmittedWithoutWaitingForIt) {
  registry_.reset();
  twin_.restart();
  Options options = twin_.options();
  options.backend_options["cuda"]["timeout"] = "1";
  open(options);
  {
    auto stream = device().open_stream();
    ASSERT_TRUE(stream) << stream.error().message();
    const auto event = (*stream)->create_event();
    const auto buffer = device().memory().allocate(64);
    const auto pinned = device().staging_memory()->allocate(64);
    ASSERT_TRUE(event && buffer && pinned);
    ASSERT_TRUE((*stream)->synchronize());
    twin_.set("CUDA_TWIN_FAIL_HANG", "1");
    const std::span<const std::byte> bytes((*pinned)->host_data(), 64);
    const Status submitted = (*stream)->write({buffer->get(), 0}, bytes, {}, event->get());
    EXPECT_TRUE(submitted) << submitted.error().message();
    const Status waited = (*event)->wait();
    ASSERT_FALSE(waited);
    EXPECT_THAT(waited.error().message(), testing::HasSubstr("a task did not end within 1 s"));
  }
  registry_.reset();
  twin_.restart();
}

/// Rows with a pitch on each side cross in one call, and only their bytes.
TEST_F(CudaStreams, RowsWithPitchesAreCopiedAtOnce) {
  constexpr std::size_t kRows = 5, kBytes = 24, kHostPitch = 40, kDevicePitch = 64;
  const auto stream = device().open_stream();
  const auto buffer = device().memory().allocate(kRows * kDevicePitch);
  const auto pinned = device().staging_memory()->allocate(kRows * kHostPitch);
  ASSERT_TRUE(buffer && pinned);
  std::byte* const host = (*pinned)->host_data();
  for (std::size_t i = 0; i < kRows * kHostPitch; ++i) host[i] = static_cast<std::byte>(i);
  ASSERT_TRUE((*buffer)->fill(0, kRows * kDevicePitch, std::byte{0xEE}));
  const CopyShape to_device = {
      .rows = kRows, .bytes = kBytes, .to_pitch = kDevicePitch, .from_pitch = kHostPitch};
  const CopyShape to_host = {
      .rows = kRows, .bytes = kBytes, .to_pitch = kHostPitch, .from_pitch = kDevicePitch};
  const auto calls = twin_.calls("cuMemcpy2DAsync_v2");
  ASSERT_TRUE((*stream)->write_2d({buffer->get(), 0}, host, to_device, {}, nullptr));
  ASSERT_TRUE((*stream)->synchronize());
  std::vector<std::byte> all(kRows * kDevicePitch);
  ASSERT_TRUE((*buffer)->read(0, all));
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t i = 0; i < kDevicePitch; ++i) {
      const auto expected =
          i < kBytes ? static_cast<std::byte>(row * kHostPitch + i) : std::byte{0xEE};
      ASSERT_EQ(all[row * kDevicePitch + i], expected) << row << " " << i;
    }
  }
  std::ranges::fill(std::span(host, kRows * kHostPitch), std::byte{0x77});
  ASSERT_TRUE((*stream)->read_2d(host, {buffer->get(), 0}, to_host, {}, nullptr));
  ASSERT_TRUE((*stream)->synchronize());
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t i = 0; i < kHostPitch; ++i) {
      const auto expected =
          i < kBytes ? static_cast<std::byte>(row * kHostPitch + i) : std::byte{0x77};
      ASSERT_EQ(host[row * kHostPitch + i], expected) << row << " " << i;
    }
  }
  EXPECT_EQ(twin_.calls("cuMemcpy2DAsync_v2"), calls + 2);
}

TEST_F(CudaStreams, EventsWithoutTimesHaveNone) {
  const auto stream = device().open_stream();
  const auto event = (*stream)->create_event();
  ASSERT_TRUE(event);
  const auto buffer = device().memory().allocate(16);
  const std::vector<std::byte> bytes(16);
  ASSERT_TRUE((*stream)->write({buffer->get(), 0}, bytes, {}, event->get()));
  ASSERT_TRUE((*event)->wait());
  EXPECT_FALSE((*event)->times().has_value());
}

/// The driver may report an event as complete before it reports its stream as idle.
TEST_F(CudaStreams, SynchronizeWaitsUntilAStreamIsIdle) {
  reopen({{"CUDA_TWIN_ORDER", "1"}});
  const auto stream = device().open_stream();
  const auto buffer = device().memory().allocate(16);
  const std::vector<std::byte> bytes(16);
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE((*stream)->write({buffer->get(), 0}, bytes, {}, nullptr));
    const Status synchronized = (*stream)->synchronize();
    ASSERT_TRUE(synchronized) << synchronized.error().message();
  }
}

/// A call for a full queue of the driver blocks. So each 256th piece of work has a mark behind it.
TEST_F(CudaStreams, CopiesCountForTheLimitOfTheQueue) {
  const auto stream = device().open_stream();
  const auto buffer = device().memory().allocate(16);
  const std::vector<std::byte> bytes(16);
  const auto marks = twin_.calls("cuEventRecord");
  for (int i = 0; i < 1024; ++i)
    ASSERT_TRUE((*stream)->write({buffer->get(), 0}, bytes, {}, nullptr));
  EXPECT_GE(twin_.calls("cuEventRecord") - marks, 4U);
  EXPECT_TRUE((*stream)->synchronize());
}

/// Runs of a segment that adds one to the first n rows of a cache, and of one without launches. As
/// many are submitted before the first begins as the limit of the queue allows.
TEST_F(CudaStreams, ConcurrentRunsHaveTheirOwnSizes) {
  GraphBuilder g;
  const Dim n = *g.dynamic_dim("n", 4);
  const auto cache = g.cache("cache", *make_tensor(DType::kF32, {1, 4}));
  const auto numbers = g.input("numbers", *make_tensor(DType::kI32, {n}));
  const auto one = g.weight("one", *make_tensor(DType::kF32, {1, 1}));
  const auto rows = get_rows(g, cache, numbers);
  const auto more = add(g, rows, one);
  const auto written = set_rows(g, cache, more, numbers);
  ASSERT_TRUE(written) << written.error().message();
  ASSERT_TRUE(g.output(written, "y"));
  const Graph graph = std::move(*std::move(g).build());
  std::vector<std::unique_ptr<Buffer>> buffers(graph.size());
  std::vector<Address> addresses(graph.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    const NodeId owner = graph.node(id).storage;
    if (!buffers[owner]) buffers[owner] = *device().memory().allocate(16);
    addresses[id] = {buffers[owner].get(), 0};
  }
  const std::int32_t places[] = {0, 1, 2, 3};
  const float value[] = {1, 0, 0, 0};
  ASSERT_TRUE(buffers[cache->id]->fill(0, 16, std::byte{0}));
  ASSERT_TRUE(buffers[numbers->id]->write(0, std::as_bytes(std::span(places))));
  ASSERT_TRUE(buffers[one->id]->write(0, std::as_bytes(std::span(value))));
  const NodeId nodes[] = {rows->id, more->id, written->id};
  const std::vector<const BufferType*> memory(graph.size(), &device().memory());
  const std::vector<std::uint8_t> kept(graph.size(), 1);
  const auto program = device().prepare(
      {graph, nodes, {reinterpret_cast<const bool*>(kept.data()), kept.size()}, memory});
  ASSERT_TRUE(program) << program.error().message();
  const auto scratch = device().memory().allocate((*program)->needs().scratch_bytes);
  const auto binding = (*program)->bind({addresses, {scratch->get(), 0}});
  ASSERT_TRUE(binding) << binding.error().message();
  const auto no_program = device().prepare(
      {graph, {}, {reinterpret_cast<const bool*>(kept.data()), kept.size()}, memory});
  ASSERT_TRUE(no_program) << no_program.error().message();
  const auto nothing = (*no_program)->bind({addresses, {scratch->get(), 0}});
  ASSERT_TRUE(nothing) << nothing.error().message();
  const auto stream = device().open_stream();
  const auto done = (*stream)->create_event();
  // The first run waits for a long copy.
  const auto other = device().open_stream();
  const auto copied = (*other)->create_event();
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  const auto large = device().memory().allocate(kBytes);
  const auto pinned = device().staging_memory()->allocate(kBytes);
  const std::span<const std::byte> bytes((*pinned)->host_data(), kBytes);
  ASSERT_TRUE((*other)->write({large->get(), 0}, bytes, {}, copied->get()));
  std::vector<Event*> waits = {copied->get()};
  constexpr int kRuns = 1'500;
  std::array<float, 4> expected = {};
  for (int i = 0; i < kRuns; ++i) {
    DynamicDimValues dims = graph.max_dynamic_dims();
    std::int64_t& count = dims[n.dynamic_dim];
    count = 1 + i % 3;
    const bool adds = i % 100 == 0;
    for (std::int64_t row = 0; adds && row < count; ++row)
      ++expected[static_cast<std::size_t>(row)];
    const Status run = (*stream)->run(adds ? **binding : **nothing, {.dynamic_dims = dims}, waits,
                                      i + 1 == kRuns ? done->get() : nullptr);
    ASSERT_TRUE(run) << run.error().message();
    waits.clear();
  }
  ASSERT_TRUE((*done)->wait());
  std::array<float, 4> found;
  ASSERT_TRUE(buffers[cache->id]->read(0, std::as_writable_bytes(std::span(found))));
  EXPECT_EQ(found, expected);
  ASSERT_TRUE((*stream)->synchronize());
}

TEST_F(CudaStreams, AnEventOutlivesItsStream) {
  std::unique_ptr<Event> event;
  const auto buffer = device().memory().allocate(16);
  const std::vector<std::byte> bytes(16);
  {
    const auto stream = device().open_stream();
    event = std::move(*(*stream)->create_event());
    ASSERT_TRUE((*stream)->write({buffer->get(), 0}, bytes, {}, event.get()));
  }
  EXPECT_TRUE(event->wait());
  event.reset();
  registry_.reset();
}

TEST_F(CudaStreams, ACancelledRunLeavesTheNextOneAlone) {
  const Rows rows;
  auto run = GraphRun::create(rows.graph, *devices(), rows.leaves);
  ASSERT_TRUE(run) << run.error().message();
  std::atomic<bool> cancel = true;
  const Status cancelled = (*run)->plan().run(&cancel);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code(), ErrorCode::kCancelled);
  cancel = false;
  EXPECT_TRUE((*run)->plan().run(&cancel));
}

TEST_F(CudaStreams, TwoRegistriesComputeSideBySide) {
  const Network network = bert();
  const std::vector<double> alone = output_of(network);
  auto other = Registry::create(twin_.options());
  ASSERT_TRUE(other) << other.error().message();
  EXPECT_EQ(output_of(network), alone);
  std::swap(registry_, *other);
  EXPECT_EQ(output_of(network), alone);
  other->reset();
  EXPECT_EQ(output_of(network), alone) << "the other one has released its context";
  EXPECT_THAT(twin_.findings(), IsEmpty());
}

TEST_F(CudaStreams, ResultsHaveTheSameBitsInEachOrderOfWork) {
  for (Network (*make)() : every(2, std::vector{bert, gemma})) {
    const Network network = make();
    const std::vector<double> in_order = output_of(network);
    for (const char* seed : {"1", "2", "3"}) {
      reopen({{"CUDA_TWIN_ORDER", seed}});
      EXPECT_EQ(output_of(network), in_order) << "seed " << seed;
      EXPECT_THAT(twin_.findings(), IsEmpty());
    }
    reopen({{"CUDA_TWIN_ORDER", "0"}});
  }
}

/// y = s + rms_norm(s) * w with s = a + b, which is read twice.
Network residual() {
  GraphBuilder g;
  const auto input = [&](const char* name) {
    return g.input(name, *make_tensor(DType::kF32, {300, 5}));
  };
  const auto a = input("a"), b = input("b");
  const auto w = g.weight("w", *make_tensor(DType::kF32, {300}));
  const auto s = add(g, a, b);
  EXPECT_TRUE(g.output(add(g, s, mul(g, rms_norm(g, s, {}), w)), "y"));
  Network made{std::make_shared<const Graph>(std::move(*std::move(g).build())), {}};
  for (const Value& leaf : {*a, *b, *w}) {
    made.leaves[leaf.id] =
        make_values({.sizes = max_sizes(made.graph->node(leaf.id).result.shape)}, leaf.id);
  }
  return made;
}

TEST_F(CudaStreams, FusedOperationsHaveTheSameBitsInFewerLaunches) {
  const auto open_with = [&](const char* fuse) {
    registry_.reset();
    twin_.restart();
    Options options = twin_.options();
    options.backend_options["cuda"]["fuse"] = fuse;
    open(options);
  };
  for (Network (*make)() : {gemma, residual}) {
    const Network network = make();
    const auto launches_of = [&](std::vector<double>& output) {
      const auto before = twin_.all_counts().launches;
      output = output_of(network);
      return twin_.all_counts().launches - before;
    };
    std::vector<double> fused, apart;
    open_with("on");
    const auto few = launches_of(fused);
    EXPECT_GT(twin_.counts("rms_norm_scaled").launches, 0U);
    open_with("off");
    EXPECT_GT(launches_of(apart), few);
    EXPECT_EQ(fused, apart);
  }
}

TEST_F(CudaStreams, ResultsHaveTheSameBitsOnEachProfile) {
  const Network network = gemma();
  const std::vector<double> expected = output_of(network);
  for (const char* profile :
       every(3, std::vector{"p40", "t4", "a100", "rtx4090", "orin", "b200"})) {
    reopen({{"CUDA_TWIN_PROFILE", profile}});
    EXPECT_EQ(output_of(network, 2), expected) << profile;
    EXPECT_THAT(twin_.findings(), IsEmpty());
  }
}

}  // namespace
}  // namespace shunt::test::cuda_streams_test
