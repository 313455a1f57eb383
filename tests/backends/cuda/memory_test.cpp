// Memory of CUDA devices: how it is allocated, shared with the host, and copied between devices.
#include <gmock/gmock.h>

#include "backends/cuda/cuda_devices.h"

namespace shunt::test::cuda_memory_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kMiB = std::size_t{1} << 20;

class CudaMemory : public CudaDevices {
 protected:
  Device& device(std::string_view name = "cuda0") {
    const auto found = registry_->find(name);
    if (!found) throw std::runtime_error(found.error().message());
    return **found;
  }
  Options with(const char* option, const char* value) const {
    Options options = twin_.options();
    options.backend_options["cuda"][option] = value;
    return options;
  }
};

/// The kind of an allocation shows in the functions that are called.
struct KindCase {
  const char* option;
  std::uint64_t mapped, plain, managed;
};
class CudaMemoryKinds : public CudaMemory, public testing::WithParamInterface<KindCase> {};

TEST_P(CudaMemoryKinds, ComeFromTheirFunctions) {
  const KindCase& expected = GetParam();
  reopen({}, with("memory", expected.option));
  const auto calls = [&] {
    return std::array{twin_.calls("cuMemMap"), twin_.calls("cuMemAlloc_v2"),
                      twin_.calls("cuMemAllocManaged")};
  };
  const auto before = calls();
  {
    const auto buffer = device().memory().allocate(3 * kMiB);
    ASSERT_TRUE(buffer) << buffer.error().message();
    const auto after = calls();
    EXPECT_EQ(after[0] - before[0], expected.mapped);
    EXPECT_EQ(after[1] - before[1], expected.plain);
    EXPECT_EQ(after[2] - before[2], expected.managed);
    std::vector<std::byte> bytes(1000, std::byte{7});
    ASSERT_TRUE((*buffer)->write(3 * kMiB - 1000, bytes));
    ASSERT_TRUE((*buffer)->fill(3 * kMiB - 10, 5, std::byte{9}));
    ASSERT_TRUE((*buffer)->read(3 * kMiB - 1000, bytes));
    EXPECT_EQ(bytes[989], std::byte{7});
    EXPECT_EQ(bytes[990], std::byte{9});
    EXPECT_EQ(bytes[995], std::byte{7});
  }
  registry_.reset();
  EXPECT_EQ(twin_.live(), 0U);
}

INSTANTIATE_TEST_SUITE_P(, CudaMemoryKinds,
                         testing::Values(KindCase{"auto", 1, 0, 0}, KindCase{"mapped", 1, 0, 0},
                                         KindCase{"plain", 0, 1, 0}, KindCase{"managed", 0, 0, 1}),
                         [](const auto& test) { return std::string(test.param.option); });

TEST_F(CudaMemory, MappedBuffersBelowAMiBArePlain) {
  const auto mapped = twin_.calls("cuMemMap");
  ASSERT_TRUE(device().memory().allocate(kMiB - 1));
  EXPECT_EQ(twin_.calls("cuMemMap"), mapped);
  ASSERT_TRUE(device().memory().allocate(kMiB));
  EXPECT_EQ(twin_.calls("cuMemMap"), mapped + 1);
}

TEST_F(CudaMemory, OnlyManagedMemoryExceedsTheCard) {
  constexpr std::size_t kCard = 64 * kMiB;
  for (const char* kind : {"plain", "mapped", "managed"}) {
    reopen({{"CUDA_TWIN_MEMORY", "67108864"}}, with("memory", kind));
    const bool managed = std::string_view(kind) == "managed";
    EXPECT_EQ(device().info().memory_total > kCard, managed) << kind;
    EXPECT_EQ(device().info().description.find("managed memory") != std::string::npos, managed);
    const auto buffer = device().memory().allocate(kCard + kMiB);
    EXPECT_EQ(buffer.has_value(), managed) << kind;
    if (!buffer) {
      EXPECT_EQ(buffer.error().code(), ErrorCode::kOutOfMemory) << kind;
    }
    const auto first = device().memory().allocate(kCard / 2 + kMiB);
    const auto second = device().memory().allocate(kCard / 2 + kMiB);
    ASSERT_TRUE(first) << kind << ": " << first.error().message();
    EXPECT_EQ(second.has_value(), managed) << kind;
    if (!second) {
      EXPECT_EQ(second.error().code(), ErrorCode::kOutOfMemory) << kind;
    }
  }
}

TEST_F(CudaMemory, AChipThatSharesMemoryUsesTheHosts) {
  reopen({{"CUDA_TWIN_PROFILE", "orin"}}, twin_.options());
  EXPECT_TRUE(device().info().host_memory);
  EXPECT_TRUE(device().memory().host_accessible());
  EXPECT_EQ(device().staging_memory(), nullptr);
  const auto buffer = device().memory().allocate(64);
  ASSERT_TRUE(buffer);
  ASSERT_NE((*buffer)->host_data(), nullptr);
  (*buffer)->host_data()[3] = std::byte{5};
  std::array<std::byte, 4> bytes = {};
  ASSERT_TRUE((*buffer)->read(0, bytes));
  EXPECT_EQ(bytes[3], std::byte{5});
}

/// Such a chip has the other kinds, too, if they are asked for.
TEST_F(CudaMemory, AChipThatSharesMemoryHasTheKindThatIsAskedFor) {
  for (const auto& [kind, there] :
       {std::pair("plain", true), std::pair("mapped", true), std::pair("managed", false)}) {
    reopen({{"CUDA_TWIN_PROFILE", "orin"}}, with("memory", kind));
    ASSERT_EQ(status().loaded, there) << kind << ": " << status().note;
    if (!there) {
      EXPECT_THAT(status().note, HasSubstr("no managed memory"));
      continue;
    }
    EXPECT_FALSE(device().memory().host_accessible()) << kind;
    Rows rows;
    auto run = GraphRun::create(rows.graph, *devices(), rows.leaves);
    ASSERT_TRUE(run) << run.error().message();
    EXPECT_TRUE((*run)->plan().run()) << kind;
  }
}

TEST_F(CudaMemory, WithoutPinnedMemoryThereIsNoStaging) {
  EXPECT_NE(device().staging_memory(), nullptr);
  reopen({}, with("pinned", "off"));
  EXPECT_EQ(device().staging_memory(), nullptr);
  Rows rows;
  auto run = GraphRun::create(rows.graph, *devices(), rows.leaves);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_TRUE((*run)->plan().run());
}

/// Whether cuda1 copies directly from cuda0.
class CudaPeers : public CudaMemory, public testing::WithParamInterface<const char*> {};

TEST_P(CudaPeers, CopyDirectlyWhereBothCan) {
  for (const bool twin_has : {true, false}) {
    for (const char* option : {"on", "off"}) {
      Options options = with("peers", option);
      options.backend_options["cuda"]["memory"] = GetParam();
      reopen({{"CUDA_TWIN_DEVICES", "2"}, {"CUDA_TWIN_PEERS", twin_has ? "on" : "off"}}, options);
      Device& from = device("cuda0");
      Device& to = device("cuda1");
      const bool expected = twin_has && std::string_view(option) == "on";
      EXPECT_EQ(to.can_copy_from(from.memory()), expected);
      EXPECT_EQ(from.can_copy_from(to.memory()), expected);
      EXPECT_FALSE(to.can_copy_from(to.memory()));
      if (!expected) continue;
      const auto source = from.memory().allocate(2 * kMiB);
      const auto target = to.memory().allocate(2 * kMiB);
      ASSERT_TRUE(source && target);
      ASSERT_TRUE((*source)->fill(0, 2 * kMiB, std::byte{3}));
      const auto stream = to.open_stream();
      ASSERT_TRUE(stream);
      ASSERT_TRUE((*stream)->copy({target->get(), 0}, {source->get(), 0}, 2 * kMiB, {}, nullptr));
      const Status done = (*stream)->synchronize();
      ASSERT_TRUE(done) << done.error().message();
      std::array<std::byte, 2> bytes = {};
      ASSERT_TRUE((*target)->read(2 * kMiB - 2, bytes));
      EXPECT_EQ(bytes[1], std::byte{3});
      EXPECT_THAT(twin_.findings(), IsEmpty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaPeers, testing::Values("plain", "mapped", "managed"),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(CudaMemory, OptionsWithOtherValuesAreRefused) {
  for (const auto& [option, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"memory", "host"},
           {"pinned", "1"},
           {"peers", ""},
           {"timeout", "0"},
           {"timeout", "1.5"},
           {"timeout", "-3"},
           {"timeout", "99999999999999999999"}}) {
    const auto registry = Registry::create(with(option, value));
    ASSERT_FALSE(registry) << option << "=" << value;
    EXPECT_EQ(registry.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(registry.error().message(), HasSubstr(std::string("cuda.") + option));
  }
}

}  // namespace
}  // namespace shunt::test::cuda_memory_test
