// Memory of CANN devices: the prediction before a load, the ledger after steps, and the twin's own
// account.
#include <gmock/gmock.h>

#include "backends/cann/cann_devices.h"
#include "engine/model_state.h"
#include "support/engine_run.h"
#include "support/models.h"

namespace shunt::test::cann_ledger_test {
namespace {

struct LedgerCase {
  const char* profile;
  DType type;
};

class CannLedger : public CannDevices, public testing::WithParamInterface<LedgerCase> {};

TEST_P(CannLedger, PredictsTheMemoryThatTheTwinCounts) {
  constexpr std::uint64_t kTail = 96;        // of an operand: 32 bytes, up to a multiple of 64
  constexpr std::uint64_t kPage = 4096;      // the library's pinned memory is not aligned
  constexpr std::uint64_t kCounters = 1024;  // of checks, as the host reads them
  reopen({{"PROFILE", GetParam().profile}});
  ASSERT_EQ(twin_.device_memory().bytes, 0U);
  SynthOptions shape;
  shape.dtype = GetParam().type;
  shape.width = shape.feed_forward = 256;
  const SynthModel model(shape);
  LoadOptions options;
  options.session = small_session();
  options.placement.rules_only = true;
  const auto chosen = registry_->select(std::vector<std::string>{"cann0"});
  ASSERT_TRUE(chosen) << chosen.error().message();
  const auto run = run_engine(model.path(), *chosen, options);
  ASSERT_TRUE(run) << run.error().message();
  Ledger ledger = run->model->ledger();
  ledger.add(run->session->ledger());
  EXPECT_EQ(ledger.in_buffers(), run->model->predicted().in_buffers())
      << to_text(ledger) << to_text(run->model->predicted());

  std::uint64_t on_device = 0;
  for (const Purpose purpose :
       {Purpose::kWeights, Purpose::kCache, Purpose::kActivations, Purpose::kWorkspace})
    on_device += ledger.bytes("cann0", purpose);
  const std::uint64_t pinned =
      ledger.bytes("cann0", Purpose::kInputs) + ledger.bytes("cann0", Purpose::kStaging);
  const auto device = twin_.device_memory(), host = twin_.pinned_memory();
  EXPECT_GE(device.bytes, on_device);
  EXPECT_LE(device.bytes, on_device + device.count * kTail);
  EXPECT_GE(host.bytes, pinned);
  EXPECT_LE(host.bytes, pinned + kCounters + host.count * (kPage + kTail));
}

INSTANTIATE_TEST_SUITE_P(
    , CannLedger,
    testing::Values(LedgerCase{"910b", DType::kF32}, LedgerCase{"910b", DType::kQ8_0},
                    LedgerCase{"310p", DType::kF16}, LedgerCase{"310b", DType::kF16}),
    [](const auto& test) {
      return std::string(test.param.profile) + "_" + std::string(to_string(test.param.type));
    });

}  // namespace
}  // namespace shunt::test::cann_ledger_test
