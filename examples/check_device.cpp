// Runs the test cases of one op on a device and prints those that fail: check_device DEVICE OP.
// The exit status is 1 if a case fails or the device or op does not exist.
// Devices of plugins in the folders of SHUNT_BACKEND_PATH are included.
#include <shunt/check_ops.h>
#include <shunt/registry.h>
#include <stdio.h>

using namespace shunt;

static Result<bool> all_pass(const std::string& name, const std::string& op) {
  SHUNT_ASSIGN(const Options options, options_from_environment());
  SHUNT_ASSIGN(const auto registry, Registry::create(options));
  SHUNT_ASSIGN(Device* const device, registry->find(name));
  SHUNT_ASSIGN(const OpCasesCheck found, check_op(*device, op));
  for (const CaseCheck& each : found.failures) {
    printf("%s: %s\n", each.name.c_str(), each.message.c_str());
  }
  printf("%s: %zu of %zu cases passed, %zu failed, %zu unsupported\n", op.c_str(), found.passed,
         found.cases(), found.failed, found.unsupported);
  return found.failed == 0;
}

int main(int argc, char** argv) {
  const Result<bool> passed = all_pass(argc > 1 ? argv[1] : "cpu0", argc > 2 ? argv[2] : "add");
  if (!passed) fprintf(stderr, "%s\n", passed.error().message().c_str());
  return passed && *passed ? 0 : 1;
}
