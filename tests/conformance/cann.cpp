// Ascend NPUs, by the twin of CANN in strict mode: each kind of chip, both layouts of the
// libraries, two orders of work.
#include <array>
#include <vector>

#include "conformance/suite.h"
#include "support/ascend_twin.h"
#include "support/sanitized.h"

namespace shunt::test::cann_conformance {
namespace {

using Layout = AscendTwin::Layout;

struct Machine {
  const char* label;
  const char* profile;
  const char* order;
  Layout layout = Layout::kWhole;
  const char* products = "f32";  ///< the numbers of products of F32
};

/// Samples of every n-th case below this have one of each op that each chip computes.
constexpr std::size_t kMostSampled = 20;

/// Cases that a 910B refuses: all of them are of blocks that CANN has no operators for. Products
/// take weights of these types as others.
std::vector<Exclusion> exclusions() {
  constexpr std::array kOps = {"cpy",      "get_rows", "matmul",  "matmul_id",
                               "out_prod", "set",      "set_rows"};
  constexpr std::array kTypes = {"IQ",   "MXFP4", "TQ",   "Q2_K", "Q3_K", "Q4_1", "Q4_K",
                                 "Q5_0", "Q5_1",  "Q5_K", "Q6_K", "Q8_1", "Q8_K"};
  std::vector<Exclusion> made = {{"custom", "", "a function of the host"}};
  for (const char* op : kOps) {
    for (const char* type : kTypes)
      made.push_back({op, type, "the libraries have no operators for these blocks"});
  }
  return made;
}

DeviceUnderTest twin(const Machine& machine, std::size_t every) {
  DeviceUnderTest device{.label = machine.label,
                         .device = "cann0",
                         .options = {},
                         .everything = false,
                         .something = every < kMostSampled,
                         .exclusions = {{"custom", "", "a function of the host"}},
                         .every = every};
  device.options.threads = 2;
  device.options.libraries["cann"] = AscendTwin::folder_of(machine.layout);
  device.options.backend_options["cann"]["matmul"] = machine.products;
  device.around = [=]() -> std::shared_ptr<void> {
    auto twin = std::make_shared<AscendTwin>(machine.layout);
    if (!twin->there()) return nullptr;
    twin->set("PROFILE", machine.profile);
    twin->set("ORDER", machine.order);
    twin->set("STRICT", "status");
    return std::shared_ptr<void>(twin.get(), [twin](void*) {
      EXPECT_EQ(twin->live(), 0U);
      EXPECT_EQ(twin->count(AscendCount::kObjections), 0U) << twin->last_objection();
    });
  };
  return device;
}

/// One chip in full, and samples of the others. `./dev ci --full` has all cases of all.
std::vector<DeviceUnderTest> devices() {
  const Machine full = {"c910b", "910b", "eager"};
  const Machine lazy_310p = {"c310p", "310p", "lazy", Layout::kSplit, "f16"};
  const Machine seed_310b = {"c310b", "310b", "3", Layout::kWhole, "f16"};
  DeviceUnderTest whole = twin(full, 1);
  whole.everything = true;
  whole.exclusions = exclusions();
  if (kSanitized) return {twin(full, 37), twin(lazy_310p, 397), twin(seed_310b, 397)};
  return {whole, twin({"c910b_lazy", "910b", "lazy", Layout::kSplit}, 17), twin(lazy_310p, 17),
          twin(seed_310b, 17)};
}

INSTANTIATE_TEST_SUITE_P(Cann, Conformance, ops_on(devices()), conformance_name);

}  // namespace
}  // namespace shunt::test::cann_conformance
