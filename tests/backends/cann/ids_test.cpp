// Numbers of rows and experts that are not there fail a run on a CANN device, with the node.
// They are checked on the device, and the next run is right.
#include <gmock/gmock.h>

#include <tuple>

#include "backends/cann/cann_devices.h"
#include "support/ids_ops.h"

namespace shunt::test::cann_ids_test {
namespace {

using testing::HasSubstr;

class CannIds : public CannDevices, public testing::WithParamInterface<std::tuple<IdsOp, DType>> {};

TEST_P(CannIds, OutOfRangeFailTheRunAndNotTheNextOne) {
  const auto& [op, type] = GetParam();
  IdsGraph ids(op, type);
  std::vector<double> all_wrong(std::begin(kWrongIds), std::end(kWrongIds));
  if (type == DType::kI64) all_wrong.push_back(kWideWrongId);
  for (const char* graphs : {"on", "off"}) {
    reopen({}, with("graph", graphs));
    const Support support = device().supports(*ids.graph, ids.result);
    ASSERT_TRUE(support) << support.facts();
    ids.set(1, 2);
    const auto run = make_run(ids.graph, ids.leaves);
    ASSERT_NE(run, nullptr);
    std::vector<double> expected;
    for (const double wrong : all_wrong) {
      ids.set(1, 2);
      ASSERT_TRUE(run->set_inputs(ids.leaves));
      EXPECT_EQ(error_of(run->plan().run()), "") << "before " << wrong;
      const auto output = run->output(ids.result)->data;
      if (!expected.empty()) {
        EXPECT_EQ(output, expected) << "before " << wrong;
      }
      expected = output;
      ids.set(1, wrong);
      ASSERT_TRUE(run->set_inputs(ids.leaves));
      const Status status = run->plan().run();
      ASSERT_FALSE(status) << wrong;
      EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
      EXPECT_THAT(status.error().message(), HasSubstr("an index is out of range"));
      EXPECT_THAT(status.error().node(), HasSubstr(op.op));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, CannIds,
                         testing::Combine(testing::ValuesIn(kIdsOps),
                                          testing::Values(DType::kI32, DType::kI64)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) + "_" +
                                  std::string(to_string(std::get<1>(test.param)));
                         });

}  // namespace
}  // namespace shunt::test::cann_ids_test
