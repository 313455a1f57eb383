// The conformance suite: every op's own test cases, computed on a device and compared with the op's
// plain reference. A device joins with one short file that instantiates the suite; that file also
// lists the exclusions, with the reasons.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/list.h"
#include "shunt/options.h"

namespace shunt::test {

/// Cases that a device is excused from.
struct Exclusion {
  std::string op;
  std::string case_contains;  ///< empty: all of the op's
  std::string reason;
  bool at_start = false;         ///< of those that contain it, cases that begin with it
  std::size_t except_every = 0;  ///< above 0: the device computes every n-th of these cases
};

struct DeviceUnderTest {
  std::string label;        ///< in test names: letters, digits, underscores
  std::string device;       ///< "cpu0"
  Options options;          ///< of its registry
  bool everything = false;  ///< it must support every case
  bool something = false;   ///< it must support a case of each op
  std::vector<Exclusion> exclusions;
  std::size_t every = 1;  ///< a sample: every n-th case
  /// Called before its registry is made: makes the environment that a device needs. The result is
  /// kept as long as the registry. Null: the device is not there. May be empty.
  std::function<std::shared_ptr<void>()> around = {};
};

/// Ops come first, so that all devices of an instantiation compute the same data of an op.
class Conformance : public ::testing::TestWithParam<std::tuple<const Op*, DeviceUnderTest>> {};

/// All ops, or some, on devices: for INSTANTIATE_TEST_SUITE_P.
inline auto ops_on(std::vector<DeviceUnderTest> devices,
                   std::span<const Op* const> ops = all_ops()) {
  return ::testing::Combine(::testing::ValuesIn(ops.begin(), ops.end()),
                            ::testing::ValuesIn(std::move(devices)));
}

/// "scalar_matmul": for INSTANTIATE_TEST_SUITE_P.
std::string conformance_name(const ::testing::TestParamInfo<Conformance::ParamType>& info);

}  // namespace shunt::test
