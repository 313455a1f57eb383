/// \file
/// Errors are values. A function that can fail returns Result<T>; nothing in Shunt throws across
/// its API, and nothing a user, a file or a device does ends the process. Most other headers
/// include this one.
///
/// \code
/// Status check_rows(std::int64_t rows) {
///   if (rows < 1) return Error(ErrorCode::kInvalidArgument, "rows must be at least 1");
///   return ok();
/// }
///
/// Result<Tensor> matrix(std::int64_t rows) {
///   SHUNT_TRY(check_rows(rows));
///   SHUNT_ASSIGN(const Tensor result, make_tensor(DType::kF32, {64, rows}));
///   return result;
/// }
/// \endcode
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

/// The API of Shunt. Names of it that begin with SHUNT_ are macros.
namespace shunt {

/// The kind of an error; the message has the facts.
enum class ErrorCode : std::uint8_t {
  kInvalidArgument,  ///< a caller's argument, option, shape or parameter is invalid
  kNotFound,         ///< a file, a device, a key or a symbol does not exist
  kIo,               ///< the operating system could not read or write
  kBadFile,          ///< a file's content breaks its format
  kUnsupported,      ///< well-formed, but not something this build or device can do
  kOutOfMemory,      ///< an allocation was refused, or would not fit
  kDevice,           ///< a device or its library failed; see Error::vendor()
  kCancelled,        ///< the caller cancelled it
  kInternal,         ///< a bug in Shunt
};

/// The code's name as it is printed: "invalid argument", "not found", ...
std::string_view to_string(ErrorCode code);

/// The vendor's code and text, verbatim.
struct VendorError {
  std::int64_t code = 0;
  std::string text;
};

/// A code, a message with the facts in it and, where there is one, the vendor's code and text. If a
/// device failed, it names the device and the node, so that a caller can continue without it.
class [[nodiscard]] Error {
 public:
  /// The message states the facts: names, sizes, the accepted values.
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  /// The kind of the error.
  ErrorCode code() const { return code_; }
  /// The facts, without the vendor's text: see to_text().
  const std::string& message() const { return message_; }
  /// The error of a vendor's library, if there was one.
  const std::optional<VendorError>& vendor() const { return vendor_; }
  /// The name of the device that failed; empty if none did.
  const std::string& device() const { return device_; }
  /// The node that it was to compute or to copy, as Graph::describe() has it; the first and the
  /// last one if only the segment is known. Empty if there was none yet.
  const std::string& node() const { return node_; }

  /// The same error with "context: " in front of its message.
  Error with_context(std::string_view context) &&;
  /// The same error with the code and text of a vendor's library.
  Error with_vendor(VendorError vendor) &&;
  /// Existing values stay: the first caller knows the device or node best.
  Error with_device(std::string_view device) &&;
  /// As with_device().
  Error with_node(std::string_view node) &&;

 private:
  ErrorCode code_;
  std::string message_;
  std::optional<VendorError> vendor_;
  std::string device_;
  std::string node_;
};

/// The message with the vendor's code and text: "MESSAGE (code 719: TEXT)".
std::string to_text(const Error& error);

/// A value of T, or the Error that prevented it. Must not be ignored.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using Base = tl::expected<T, Error>;
  using Base::Base;
  /// A failure. Implicit, so that a function may return an Error.
  Result(Error error)
      : Base(tl::unexpect, std::move(error)) {}  // NOLINT: `return error;` is the idiom
};

/// The result of something that has no value, only success.
using Status = Result<void>;

/// Success.
inline Status ok() {
  return Status();
}

}  // namespace shunt

/// Returns the error of a failed `expression` from the enclosing function. (An early return is the
/// one thing that only a macro can do.)
#define SHUNT_TRY(expression)                                                          \
  do {                                                                                 \
    auto shunt_try_result = (expression);                                              \
    if (!shunt_try_result) return ::shunt::Error(std::move(shunt_try_result.error())); \
  } while (false)

#define SHUNT_CONCAT_INNER(a, b) a##b
#define SHUNT_CONCAT(a, b) SHUNT_CONCAT_INNER(a, b)
/// `SHUNT_ASSIGN(auto x, f());` declares x with the value of f(), or returns f()'s error.
#define SHUNT_ASSIGN(declaration, expression) \
  SHUNT_ASSIGN_INNER(SHUNT_CONCAT(shunt_result_, __LINE__), declaration, expression)
// NOLINTBEGIN(bugprone-macro-parentheses): a name that is declared can have none
#define SHUNT_ASSIGN_INNER(result, declaration, expression)      \
  auto result = (expression);                                    \
  if (!result) return ::shunt::Error(std::move(result.error())); \
  declaration = std::move(*result)
// NOLINTEND(bugprone-macro-parentheses)
