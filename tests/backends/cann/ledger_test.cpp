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
  reopen({{"PROFILE", GetParam().profile}});
  const std::uint64_t before = twin_.device_bytes();
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
  std::printf("%s\npredicted\n%s\ntwin %llu (%llu before) host %llu\n", to_text(ledger).c_str(),
              to_text(run->model->predicted()).c_str(), (unsigned long long)twin_.device_bytes(),
              (unsigned long long)before, (unsigned long long)twin_.host_bytes());
}

INSTANTIATE_TEST_SUITE_P(, CannLedger,
                         testing::Values(LedgerCase{"910b", DType::kF32},
                                         LedgerCase{"910b", DType::kQ8_0},
                                         LedgerCase{"310p", DType::kF16},
                                         LedgerCase{"310b", DType::kF16}),
                         [](const auto& test) {
                           return std::string(test.param.profile) + "_" +
                                  std::string(to_string(test.param.type));
                         });

}  // namespace
}  // namespace shunt::test::cann_ledger_test
