// Which exported function a thread is in, and why its last call failed.
#pragma once

#include <cstdint>

namespace twin {

/// How the vendor's documentation writes status codes.
enum class CodeStyle { kHex, kDecimal };  // 0x00040009, 719

/// The exported function that this thread is in. `function` stays with the caller.
void enter(const char* function);

/// Keeps "FUNCTION: CODE: REASON" as this thread's last message.
void keep_message(CodeStyle style, std::int64_t code, const char* reason);

/// This thread's; "" if none was kept. Valid until the next one is.
const char* last_message();

/// Ends the process with the last message on stderr.
[[noreturn]] void end_process(const char* twin);

}  // namespace twin
