// The CPU's memory with "cpu.memory=hbm": high-bandwidth memory where the machine has some, else
// plain memory and a note.
#include "backends/cpu/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "backends/cpu/device.h"
#include "backends/cpu/simd/level.h"
#include "engine/load/weights_in_memory.h"
#include "engine/model_state.h"
#include "support/engine_run.h"
#include "support/graph_run.h"
#include "support/models.h"
#include "support/numa_machines.h"
#include "support/test_device.h"

namespace shunt::test::high_bandwidth_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::unique_ptr<cpu::CpuDevice> device(const std::string& memory,
                                       const std::vector<NumaNode>& nodes) {
  Options options;
  options.threads = 2;
  options.backend_options["cpu"] = {{"memory", memory}, {"level", "best"}, {"fuse", "on"}};
  auto made = cpu::CpuDevice::create(options, machine_with(nodes));
  EXPECT_TRUE(made) << made.error().message();
  return std::move(*made);
}

TEST(HighBandwidthMemory, IsUsedByTheCpuIfRequested) {
  const auto cpu = device("hbm", {{"DRAM"}, {"HBM"}});
  EXPECT_EQ(cpu->memory().name(), "host, high bandwidth");
  EXPECT_TRUE(cpu->memory().host_accessible());
  EXPECT_TRUE(cpu->can_read(cpu->memory()));
  EXPECT_TRUE(cpu->can_read(host_memory()));
  EXPECT_THAT(cpu->note(), IsEmpty());
  EXPECT_THAT(cpu->info().description, HasSubstr(", high-bandwidth memory"));
  EXPECT_FALSE(uses_mapped_file(*cpu)) << "weights are brought there";
}

TEST(HighBandwidthMemory, FallsBackToPlainMemoryWithANote) {
  for (const auto& nodes : {std::vector<NumaNode>{{}}, {{"DRAM"}, {"NVM"}}}) {
    const auto cpu = device("hbm", nodes);
    EXPECT_EQ(&cpu->memory(), &host_memory());
    EXPECT_THAT(cpu->note(), HasSubstr("cpu.memory=hbm: "));
    EXPECT_THAT(cpu->note(), HasSubstr("plain memory is used"));
    EXPECT_THAT(cpu->info().description, ::testing::Not(HasSubstr("high-bandwidth")));
  }
}

TEST(HighBandwidthMemory, IsNotUsedByDefault) {
  const auto cpu = device("plain", {{"DRAM"}, {"HBM"}});
  EXPECT_EQ(&cpu->memory(), &host_memory());
  EXPECT_THAT(cpu->note(), IsEmpty());
}

TEST(HighBandwidthMemory, AllocatesBuffersOfAnySize) {
  const auto cpu = device("hbm", {{"HBM"}});
  BufferType& memory = cpu->memory();
  for (const std::size_t size : {0, 1, 1000, 1 << 20}) {
    const auto buffer = memory.allocate(size);
    ASSERT_TRUE(buffer) << buffer.error().message();
    EXPECT_EQ(&(*buffer)->type(), &memory);
    EXPECT_EQ((*buffer)->size(), size);
    ASSERT_NE((*buffer)->host_data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>((*buffer)->host_data()) % memory.alignment(), 0U);
    ASSERT_TRUE((*buffer)->fill(0, size, std::byte{7}));
    EXPECT_FALSE((*buffer)->fill(size, 1, std::byte{7}));
  }
  for (const std::size_t huge : {std::size_t{1} << 60, static_cast<std::size_t>(-1)}) {
    const auto none = memory.allocate(huge);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code(), ErrorCode::kOutOfMemory);
  }
}

/// The same numbers, with weights, caches and activations there.
TEST(HighBandwidthMemory, GivesTheSameTokens) {
  const SynthModel file;
  LoadOptions options;
  options.session = small_session();
  const auto plain = device("plain", {{"DRAM"}, {"HBM"}});
  const auto expected = run_engine(file.path(), {plain.get()}, options);
  ASSERT_TRUE(expected) << expected.error().message();
  const auto cpu = device("hbm", {{"DRAM"}, {"HBM"}});
  const auto run = run_engine(file.path(), {cpu.get()}, options);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->logits, expected->logits);
  EXPECT_EQ(run->tokens, expected->tokens);
  EXPECT_EQ(run->model->ledger().total(Purpose::kMappedWeights), 0U);
  std::set<std::string_view> kinds;
  for (const auto& [info, record] : run->model->state()->weights.records) {
    kinds.insert(record.address.buffer->type().name());
  }
  EXPECT_TRUE(kinds.contains("host, high bandwidth"));
  EXPECT_FALSE(kinds.contains(host_memory().name()));
}

/// A device that computes in plain host memory uses the file, which the CPU does not.
TEST(HighBandwidthMemory, IsUsedOnlyByTheCpu) {
  const SynthModel file;
  LoadOptions options;
  options.session = small_session();
  options.placement.rules_only = true;
  const auto cpu = device("hbm", {{"DRAM"}, {"HBM"}});
  TestDevice beside({.ops = {"matmul"}, .in_host_memory = true});
  const auto alone = run_engine(file.path(), {cpu.get()}, options);
  ASSERT_TRUE(alone) << alone.error().message();
  const auto run = run_engine(file.path(), {&beside, cpu.get()}, options);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_GT(beside.computed(), 0U);
  EXPECT_EQ(run->tokens, alone->tokens);
}

}  // namespace
}  // namespace shunt::test::high_bandwidth_test
