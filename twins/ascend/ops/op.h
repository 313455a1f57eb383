// An operator is written once, as a row and one function: "Adding an operator" in README.md shows
// it. The two exported functions of its phases come from ASCEND_OP. The checks that all share are
// in phases.cpp.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "ascend/call.h"
#include "ascend/runtime/task.h"
#include "ascend/tensors/objects.h"
#include "ascend/tensors/operand.h"

namespace ascend_twin {

/// One argument of a signature, as the caller passed it. The C type decides the kind.
struct Argument {
  enum class Kind : std::uint8_t { kTensor, kList, kScalar, kIntegers, kNumber, kReal, kText };
  Kind kind = Kind::kNumber;
  const void* handle = nullptr;  ///< of descriptors: for addresses that are set later
  bool is_null = false;
  std::vector<View> views;              ///< one of a tensor, all of a list; copies
  double real = 0;                      ///< scalars, double parameters
  std::int64_t integer = 0;             ///< scalars, integers, bool, types
  aclDataType type = ACL_DT_UNDEFINED;  ///< of a scalar
  std::vector<std::int64_t> integers;
  std::string text;

  Argument(const aclTensor* tensor);  // NOLINT: implicit conversions make ASCEND_OP short
  Argument(const aclTensorList* list);
  Argument(const aclScalar* scalar);
  Argument(const aclIntArray* array);
  Argument(std::int64_t value) : integer(value) {}
  Argument(int value) : integer(value) {}
  Argument(std::int8_t value) : integer(value) {}
  Argument(bool value) : integer(value ? 1 : 0) {}
  Argument(aclDataType value) : integer(value) {}
  Argument(double value) : kind(Kind::kReal), real(value) {}
  Argument(const char* value)
      : kind(Kind::kText), is_null(value == nullptr), text(value == nullptr ? "" : value) {}
  /// Without a descriptor (single operators, tests).
  static Argument of(const View& view);
};

struct Op;

/// The bound arguments of one use of an operator. Positions are those of the signature.
class Call {
 public:
  Call(const Op& op, std::vector<Argument> arguments);

  const Op& op() const { return *op_; }
  const Argument& at(std::size_t position) const { return arguments_[position]; }
  Argument& at(std::size_t position) { return arguments_[position]; }
  std::size_t size() const { return arguments_.size(); }
  /// Letter of Op::roles, and whether a '?' follows it.
  char role(std::size_t position) const { return roles_[position]; }
  bool is_optional(std::size_t position) const { return optional_[position]; }

  bool has(std::size_t position) const { return !arguments_[position].is_null; }
  const View& view(std::size_t position) const { return arguments_[position].views.front(); }
  double real(std::size_t position) const { return arguments_[position].real; }
  std::int64_t integer(std::size_t position) const { return arguments_[position].integer; }
  const std::vector<std::int64_t>& integers(std::size_t position) const {
    return arguments_[position].integers;
  }
  /// "aclnnAdd: self is F16 [2, 3]" and the like, for refusals.
  std::string describe(std::size_t position) const;

 private:
  const Op* op_;
  std::vector<Argument> arguments_;
  std::vector<char> roles_;
  std::vector<bool> optional_;
};

/// The input of the body of phase 2: the call, and the operands with their memory found. Nothing of
/// the caller's descriptors is read any more.
class Kernel {
 public:
  Kernel(const Call& of_call, const Run& of_run) : call(of_call), run(of_run) {}
  /// Finds the memory of all tensors; the code of a device exception where there is none.
  Status open();

  const Operand& operand(std::size_t position, std::size_t member = 0) const {
    return operands_[position][member];
  }
  bool has(std::size_t position) const { return call.has(position); }

  const Call& call;
  const Run& run;

 private:
  std::vector<std::vector<Operand>> operands_;
};

struct Op {
  const char* name;  ///< "Add": the row in support.inc, and aclnnAdd
  /// A letter for each argument, with '?' after it if null is allowed. Tensors: i is read, p in
  /// part (run() calls expect_written()), o is written, x is both. Lists: l is read, O is written.
  /// Others: s scalar, a array, n number, t text.
  const char* roles;
  Status (*check)(Call& call);
  Status (*run)(Kernel& kernel);
  /// Bytes beyond those that default_workspace() counts; null: none. Not monotonic in the shapes
  /// where the real one is not.
  std::uint64_t (*workspace)(const Call& call) = nullptr;
  /// Position of the tensor whose type support.inc looks at.
  std::size_t typed_by = 0;
  /// The memory that the task touches where it is more than a tensor's view; null: the view's.
  View (*touched)(const View& view) = nullptr;
  /// The last step of a first phase, which nothing refuses any more: a descriptor that changes.
  void (*finish)(const Call& call) = nullptr;
};

/// Copies of operands that are not contiguous, rounded up to 64 each, and Op::workspace.
std::uint64_t workspace_of(const Call& call);

// --- Checks for Op::check; each refuses with 161002 and names the argument.
Status need_type(const Call& call, std::size_t position, std::initializer_list<aclDataType> types);
Status need_same_type(const Call& call, std::size_t a, std::size_t b);
Status need_shape(const Call& call, std::size_t position, const Shape& shape);
Status need_rank(const Call& call, std::size_t position, std::size_t least, std::size_t most);
/// The result of a float computation cannot be an integer.
Status need_castable(const Call& call, aclDataType from, std::size_t position);

// --- Phases
Status first_phase(const Op& op, std::initializer_list<Argument> arguments, uint64_t* workspace,
                   aclOpExecutor** executor);
Status second_phase(const Op& op, void* workspace, uint64_t bytes, aclOpExecutor* executor,
                    aclrtStream stream);

/// The checks of phase 1: nulls, support, strict mode, Op::check. The order is the facts' 12.
/// `support` is the row of support.inc where it is not that of the name ("aclop:MatMulV2").
Status bind(Call& call, std::string_view support = {});
/// A task that runs the call; `workspace` of `bytes` is watched by strict mode.
TaskPointer task_of(const Call& call, const void* workspace, std::uint64_t bytes);
/// Nothing to compute: all results are empty.
bool is_empty(const Call& call);

/// All operators by Op::name; ASCEND_OP adds each.
const Op* find_single_op(std::string_view name);
struct Registered {
  explicit Registered(const Op& op);
};
/// The checks of phase 1, then the task in the stream: a single operator's way to the same kernel.
/// `support` as for bind().
Status launch(const Op& op, std::vector<Argument> arguments, Stream& stream,
              std::string_view support);

#define ASCEND_TWIN_UNPACK(...) __VA_ARGS__
/// Defines both exported functions; a difference from the header's declaration does not compile.
#define ASCEND_OP(name, operation, arguments, ...)                                               \
  static const ::ascend_twin::Registered registered_##name(operation);                           \
  aclnnStatus aclnn##name##GetWorkspaceSize(__VA_ARGS__, uint64_t* workspaceSize,                \
                                            aclOpExecutor** executor) {                          \
    return ::ascend_twin::call(                                                                  \
        "aclnn" #name "GetWorkspaceSize", ::ascend_twin::Need::kContext, [&] {                   \
          return ::ascend_twin::first_phase(operation, {ASCEND_TWIN_UNPACK arguments},           \
                                            workspaceSize, executor);                            \
        });                                                                                      \
  }                                                                                              \
  aclnnStatus aclnn##name(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,      \
                          aclrtStream stream) {                                                  \
    return ::ascend_twin::call("aclnn" #name, ::ascend_twin::Need::kContext, [&] {               \
      return ::ascend_twin::second_phase(operation, workspace, workspaceSize, executor, stream); \
    });                                                                                          \
  }

}  // namespace ascend_twin
