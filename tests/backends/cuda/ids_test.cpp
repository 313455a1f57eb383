// Numbers of rows and experts that are not there.
#include <gmock/gmock.h>

#include "backends/cuda/cuda_devices.h"
#include "support/ids_ops.h"

namespace shunt::test::cuda_ids_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class CudaIds : public CudaDevices, public testing::WithParamInterface<IdsOp> {};

TEST_P(CudaIds, OutOfRangeFailTheRunAndNotTheNextOne) {
  IdsGraph ids(GetParam());
  const auto run = GraphRun::create(ids.graph, *devices(), ids.leaves, {.by_ability = true});
  ASSERT_TRUE(run) << run.error().message();
  for (const double wrong : kWrongIds) {
    ids.set(1, wrong);
    ASSERT_TRUE((*run)->set_inputs(ids.leaves));
    const Status status = (*run)->plan().run();
    ASSERT_FALSE(status) << wrong;
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.error().message(),
                HasSubstr(std::to_string(static_cast<int>(wrong)) + " is not from 0 to 2"));
  }
  ids.set(1, 2);
  ASSERT_TRUE((*run)->set_inputs(ids.leaves));
  const Status status = (*run)->plan().run();
  EXPECT_TRUE(status) << status.error().message();
  EXPECT_THAT(twin_.findings(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Ops, CudaIds, testing::ValuesIn(kIdsOps),
                         [](const auto& op) { return std::string(op.param.name); });

}  // namespace
}  // namespace shunt::test::cuda_ids_test
