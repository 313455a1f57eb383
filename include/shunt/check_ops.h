/// \file
/// Checks a device against the ops' definitions. Every op has small test cases of its own: each is
/// computed on the device, alone, and compared with the op's reference in double precision. No
/// other device and no model is needed. Include it to test a backend. For the operations of a model
/// see verify.h. Link shunt::conformance: the test cases are not in libshunt.
///
/// \code
/// SHUNT_ASSIGN(const OpCasesCheck check, check_op(device, "matmul"));
/// for (const CaseCheck& failure : check.failures) {
///   std::cout << failure.name << ": " << failure.message << "\n";
/// }
/// \endcode
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/device.h"

namespace shunt {

/// The outcome of a case.
enum class CaseOutcome : std::uint8_t {
  kPassed,
  kFailed,       ///< the result is wrong, or an error came after the device had accepted it
  kUnsupported,  ///< the device refuses it, which is allowed
};
/// "passed", "failed", "unsupported".
std::string_view to_string(CaseOutcome outcome);

/// One case of an op.
struct CaseCheck {
  std::string op;    ///< "matmul"
  std::string name;  ///< "F32 [7, 3], F32 [7, 2]": no other case of the op has it
  CaseOutcome outcome = CaseOutcome::kPassed;
  std::string message = {};  ///< the reason why it failed or is not supported
};

/// A reason of a device for refusing cases, and their number.
struct RefusedCases {
  std::string reason;
  std::size_t count = 0;
};

/// All cases of an op.
struct OpCasesCheck {
  std::string op;
  std::size_t passed = 0;
  std::size_t failed = 0;
  std::size_t unsupported = 0;
  std::vector<RefusedCases> reasons = {};  ///< why cases are not supported; most frequent first
  std::vector<CaseCheck> failures = {};    ///< those that failed

  /// Number of cases that were computed or refused.
  std::size_t cases() const { return passed + failed + unsupported; }
};

/// Options of check_op().
struct CheckOpOptions {
  /// True leaves a case out: it is not computed, and not counted. May be empty.
  std::function<bool(std::string_view op, std::string_view name)> skip = {};
  /// Called after each case; may be empty.
  std::function<void(const CaseCheck& check)> visit = {};
  const std::atomic<bool>* cancel = nullptr;
  /// A case that takes longer is cancelled, and has failed; 0: no limit.
  double case_seconds = 60;
  /// Seconds that a device may take to end a cancelled case.
  double patience_seconds = 10;
  /// Called once, by another thread, if it takes longer. check_op() then returns only after the
  /// device and this call have returned, as a thread inside a device can't be ended. The callback
  /// may print a message and end the process. May be empty.
  std::function<void(const CaseCheck& check)> stuck = {};
};

/// Names of all ops, family by family.
std::vector<std::string_view> op_names();
/// Number of test cases of an op; 0 if there is no such op.
std::size_t case_count(std::string_view op);

/// Computes all cases of an op on a device. A fault of the device in one case (an error, an
/// exception, a wrong or incomplete result, changed bytes outside of the result, no end in time)
/// makes that case fail, and the others continue. Takes the memory of one small case at a time. May
/// be called from many threads. Errors: NotFound for an op that does not exist or has no test
/// cases. Cancelled, within one node if the device obeys its contract. Invalid if
/// libshunt_conformance and libshunt are of different builds.
Result<OpCasesCheck> check_op(Device& device, std::string_view op,
                              const CheckOpOptions& options = {});

}  // namespace shunt
