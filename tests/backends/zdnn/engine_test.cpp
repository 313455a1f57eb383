// A model on the accelerator: the weights and the memory that it takes, and its notes.
#include <set>

#include "backends/zdnn/support.h"
#include "engine/model_state.h"
#include "support/engine_run.h"
#include "support/models.h"

namespace shunt::test::engine_test {
namespace {

using ZdnnEngine = ZdnnTest;
using ZdnnLogits = ZdnnMachinesTest;

LoadOptions load_options() {
  LoadOptions options;
  options.session = small_session();
  options.memory_margin = 0;
  options.placement.rules_only = true;
  return options;
}
SynthOptions shape(DType dtype) {
  SynthOptions options;
  options.dtype = dtype;
  return options;
}
double distance(const EngineRun& a, const EngineRun& b) {
  RefTensor x({static_cast<std::int64_t>(a.logits.size()), 1, 1, 1});
  RefTensor y = x;
  std::ranges::copy(a.logits, x.data.begin());
  std::ranges::copy(b.logits, y.data.begin());
  return nmse(x, y);
}

TEST_P(ZdnnLogits, MatchTheCpuWithThePredictedMemory) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0}) {
    const SynthModel file(shape(type));
    const auto run = run_engine(file.path(), devices_, load_options());
    ASSERT_TRUE(run) << to_string(type) << ": " << run.error().message();
    Ledger used;
    for (const Device* device : devices_) {
      for (const Ledger& ledger : {run->model->ledger(), run->session->ledger()}) {
        for (const LedgerRow& row : ledger.rows) {
          if (row.device == device->info().name) used.add(row.device, row.purpose, row.bytes);
        }
      }
    }
    EXPECT_EQ(to_text(used.in_buffers()), to_text(run->model->predicted().in_buffers()))
        << to_string(type);
    // Matrices and norms, in the machine's layout; not the matrix whose rows are looked up.
    std::set<std::string> in_layout;
    for (const auto& [info, record] : run->model->state()->weights.records) {
      if (record.layouts.contains(&zdnn())) in_layout.insert(info->name);
    }
    for (const char* name :
         {"blk.0.attn_q.weight", "blk.1.ffn_down.weight", "output.weight", "blk.0.attn_norm.weight",
          "blk.1.ffn_norm.weight", "output_norm.weight"}) {
      EXPECT_TRUE(in_layout.contains(name)) << name << " of " << to_string(type);
    }
    EXPECT_FALSE(in_layout.contains("token_embd.weight")) << to_string(type);
    const auto cpu = run_engine(file.path(), {devices_.back()}, load_options());
    ASSERT_TRUE(cpu) << cpu.error().message();
    // The CPU rounds the other operand of quantised weights to 8 bits, which is coarser.
    EXPECT_LT(distance(*run, *cpu), 2e-3) << to_string(type);
    EXPECT_GT(distance(*run, *cpu), 1e-10)
        << to_string(type) << ": is it the machine that computes?";
    EXPECT_EQ(twin_->objections(), 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(, ZdnnLogits, kZdnnMachinesAndSums, name_of_machine);

TEST_F(ZdnnEngine, NotesListWorkedAroundFaults) {
  const SynthModel file(shape(DType::kF32));
  const auto run = run_engine(file.path(), devices_, load_options());
  ASSERT_TRUE(run) << run.error().message();
  const std::size_t before = run->session->notes().size();
  twin_->set("ZDNN_TWIN_FAIL_RANGE", "5");
  const std::vector<std::int32_t> next = {7};
  ASSERT_TRUE(run->session->append(next));
  const auto notes = run->session->notes();
  ASSERT_EQ(notes.size(), before + 1);
  EXPECT_THAT(notes.back(), testing::StartsWith("zdnn0: "));
  EXPECT_THAT(notes.back(), testing::HasSubstr("had numbers outside the range of DLFLOAT16"));
  EXPECT_THAT(notes.back(), testing::EndsWith("(1 time)"));
  // Not the events before there was a session.
  const auto second = Session::create(run->model, small_session());
  ASSERT_TRUE(second) << second.error().message();
  for (const std::string& note : (*second)->notes()) {
    EXPECT_THAT(note, testing::Not(testing::HasSubstr("had numbers outside")));
  }
}

TEST_F(ZdnnEngine, ContinuesWithoutAFailedDevice) {
  const SynthModel file(shape(DType::kF32));
  const auto cpu = run_engine(file.path(), {devices_.back()}, load_options());
  ASSERT_TRUE(cpu) << cpu.error().message();
  LoadOptions options = load_options();
  auto kept = run_engine(file.path(), devices_, options);
  ASSERT_TRUE(kept);
  twin_->set("ZDNN_TWIN_FAIL_HARDWARE", "60+");
  const auto denied = run_engine(file.path(), devices_, options);
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().device(), "zdnn0");
  EXPECT_TRUE(denied.error().vendor());
  twin_->set("ZDNN_TWIN_FAIL_HARDWARE", "60+");
  options.on_device_error.mode = DeviceErrorMode::kFallback;
  const auto run = run_engine(file.path(), devices_, options);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_LT(distance(*run, *cpu), 1e-3);
}

}  // namespace
}  // namespace shunt::test::engine_test
