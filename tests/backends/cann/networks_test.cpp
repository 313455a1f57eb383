// Whole graphs on CANN devices, compared with the plain reference: networks of the usual kinds. On
// a 910B no node may fall back to the CPU.
#include <gmock/gmock.h>

#include <tuple>

#include "backends/cann/cann_devices.h"
#include "support/networks.h"
#include "support/sanitized.h"

namespace shunt::test::cann_networks_test {
namespace {

Network transformer() {
  return small_transformer();
}
Network experts() {
  return small_transformer(4);
}

struct NamedNetwork {
  const char* name;
  Network (*network)();
  double f32_error;  ///< allowed with products of F32: above 1e-11, caches are F16
};

struct Chip {
  const char* profile;
  bool whole;        ///< it computes every node, products of F32 included
  double error = 0;  ///< allowed for products of F16, normalised mean square
};

class CannNetworks : public CannDevices,
                     public testing::WithParamInterface<std::tuple<NamedNetwork, Chip>> {};

TEST_P(CannNetworks, MatchTheReference) {
  const Chip& chip = std::get<1>(GetParam());
  Options options = twin_.options();
  if (!chip.whole) options.backend_options["cann"]["matmul"] = "f16";
  reopen({{"PROFILE", chip.profile}}, options);
  const Network network = std::get<0>(GetParam()).network();
  const auto run = make_run(network.graph, network.leaves);
  ASSERT_NE(run, nullptr);
  bool used = false;
  for (const Segment& segment : run->plan().segments()) {
    used = used || segment.device == 0;
    if (chip.whole) {
      EXPECT_EQ(segment.device, 0)
          << network.graph->describe(segment.nodes.front()) << ": "
          << device().supports(*network.graph, segment.nodes.front()).facts();
    }
  }
  EXPECT_TRUE(used);
  for (int time = 0; time < 3; ++time) EXPECT_EQ(error_of(run->plan().run()), "");
  EXPECT_LT(reference_error(*run, network),
            chip.whole ? std::get<0>(GetParam()).f32_error : chip.error);
}

/// One chip is enough for a sanitizer.
std::vector<Chip> chips() {
  std::vector<Chip> all = {{"910b", true}, {"310p", false, 2e-6}, {"310b", false, 2e-6}};
  if (kSanitized) all.resize(1);
  return all;
}

INSTANTIATE_TEST_SUITE_P(
    , CannNetworks,
    testing::Combine(testing::Values(NamedNetwork{"bert", bert, 1e-11},
                                     NamedNetwork{"gemma", gemma, 1e-11},
                                     NamedNetwork{"transformer", transformer, 1e-8},
                                     NamedNetwork{"experts", experts, 1e-8}),
                     testing::ValuesIn(chips())),
    [](const auto& test) {
      return std::string(std::get<0>(test.param).name) + "_" + std::get<1>(test.param).profile;
    });

}  // namespace
}  // namespace shunt::test::cann_networks_test
