// `shunt run -m m.gguf --trace m.gguf` replaced the model by a trace, with exit code 0.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/models.h"
#include "support/run_command.h"
#include "support/shared.h"

namespace shunt::test::run_trace_overwrites_its_model_test {
namespace {

TEST(RunCommand, TraceDoesNotOverwriteItsModel) {
  const SynthModel model;
  const std::string before = read_file(model.path());
  const RunResult result =
      run_command({"run", "-m", model.path(), "-n", "1", "-p", "a", "--trace", model.path()});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.err, testing::HasSubstr(model.path()));
  EXPECT_EQ(read_file(model.path()), before);
}

}  // namespace
}  // namespace shunt::test::run_trace_overwrites_its_model_test
