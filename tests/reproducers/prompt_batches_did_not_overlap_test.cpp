// Batches of a prompt over several devices ran one after the other: every caller of plans passed
// one step in flight. Right since 59c6de0.
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "shunt/engine.h"
#include "shunt/trace.h"
#include "support/models.h"
#include "support/test_device.h"

namespace shunt::test::prompt_batches_did_not_overlap_test {
namespace {

TEST(PromptBatches, OverlapOnTwoDevices) {
  // A simulated clock, on which each node takes a second.
  TestWorld world;
  TestDevice first({.name = "test0", .world = &world, .seconds_per_node = 1});
  TestDevice second({.name = "test1", .world = &world, .seconds_per_node = 1});
  TestDevice host({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
  TraceOptions trace_options;
  trace_options.clock = [&] { return world.host_now(); };
  const std::shared_ptr<Trace> trace = *Trace::create(std::move(trace_options));

  LoadOptions options;
  options.memory_margin = 0;
  options.placement.rules_only = true;
  options.placement.pins = {{"blk\\.0\\..*", "test0"}, {"(blk\\.1|output).*", "test1"}};
  options.session.context = 16;
  options.session.batch = 4;
  options.session.trace = trace;
  const SynthModel file(tiny_shape());
  const auto model =
      Model::load(file.path(), std::vector<Device*>{&first, &second, &host}, options);
  ASSERT_TRUE(model) << model.error().message();
  const auto session = Session::create(*model, options.session);
  ASSERT_TRUE(session) << session.error().message();
  std::vector<std::int32_t> prompt(16);
  std::iota(prompt.begin(), prompt.end(), 3);
  ASSERT_TRUE((*session)->append(prompt));

  std::map<std::uint64_t, double> first_begins;  // by step
  std::map<std::uint64_t, double> second_ends;
  const auto actions = trace->actions();
  for (const TraceSpan& span : trace->spans()) {
    const TraceAction& action = actions[span.action];
    if (action.kind != TraceKind::kSegment) continue;
    if (action.stream == "test0") first_begins.try_emplace(span.step, span.times.begin);
    if (action.stream == "test1") second_ends[span.step] = span.times.end;
  }
  ASSERT_EQ(first_begins.size(), 4U);
  ASSERT_EQ(second_ends.size(), 4U);
  for (std::uint64_t step = 0; step < 3; ++step) {
    EXPECT_LT(first_begins.at(step + 1), second_ends.at(step)) << "step " << step;
  }
}

}  // namespace
}  // namespace shunt::test::prompt_batches_did_not_overlap_test
