// The frame around every exported function, and how the twin says no.
//
// Codes come in three families (include/acl/acl_types.h): the front end checks pointers and
// enumerations (100xxx), the runtime checks the objects behind them (107xxx, 207xxx, 507xxx), the
// operators have their own (161xxx, 361xxx, 561xxx). Keep them apart: pass the code of the layer
// that would find the error. Every refusal has a sentence with facts in it.
#pragma once

#include <cstdint>
#include <string>

#include "ascend/counts.h"
#include "ascend/include/acl/acl_types.h"
#include "ascend/settings.h"
#include "common/call.h"

namespace ascend_twin {

using Status = std::int32_t;

/// The preconditions of a function.
enum class Need : std::uint8_t {
  kNothing,      ///< queries that work before aclInit
  kInitialised,  ///< 100001 without aclInit
  kContext,      ///< and 107002 without a current context of the thread, 507xxx of a lost device
  kRelease,      ///< as kContext, but what a lost device has is given back before it answers 507xxx
};

struct Answers {
  using Status = ascend_twin::Status;
  static constexpr Status kOk = ACL_SUCCESS;
  static constexpr Status kOutOfMemory = ACL_ERROR_BAD_ALLOC;
  static constexpr Status kFailed = ACL_ERROR_INTERNAL_ERROR;
  static constexpr const char* kName = "Ascend";
  static constexpr twin::CodeStyle kCodes = twin::CodeStyle::kDecimal;
  static Strict strict() { return setting_as<Strict>(Setting::kStrict); }
  static void objected();
};
using Calls = twin::Calls<Answers>;

/// The code, with the sentence kept as the thread's last message and as the text of
/// aclGetRecentErrMsg(), whose prefix follows from the code's family.
Status refuse(Status code, const std::string& reason);

/// Strict mode: the real runtime would take this without a word. ACL_SUCCESS if strict mode is off;
/// else the objection is counted and kept, and the code is returned, or the process ends.
Status object(Status code, const std::string& reason);

/// The same from the thread of a stream, where no call can be refused: with STRICT=status the code
/// becomes the stream's late error.
Status object_late(Status code, const std::string& reason);

/// Strict mode objects to calls from inside callbacks.
Status check_no_callback();
/// Before anything that waits for streams, or ends them: 107000 on a stream's own thread, which
/// would wait for itself.
Status check_can_wait();

/// Checks a precondition; ACL_SUCCESS or the refusal.
Status check_need(Need need);

/// After the body of a function that needs kRelease: its code, or that of a lost device.
Status after_release(Status code);

/// Runs the body of an exported function: counts the call, checks the need, lets no exception out.
/// `function` is a literal.
template <class Body>
Status call(const char* function, Need need, Body body) noexcept {
  return Calls::guarded(function, [&]() -> Status {
    count_call(function);
    if (const Status code = check_need(need); code != ACL_SUCCESS) return code;
    return need == Need::kRelease ? after_release(body()) : body();
  });
}

/// Leaves the calling function with the code if it is not ACL_SUCCESS.
#define ASCEND_TWIN_TRY(expression)                                                         \
  do {                                                                                      \
    if (const ::ascend_twin::Status failed_code = (expression); failed_code != ACL_SUCCESS) \
      return failed_code;                                                                   \
  } while (false)

}  // namespace ascend_twin
