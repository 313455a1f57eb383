// A module ready to run: the decoded ops of all its functions, with registers placed and addresses
// filled in. Immutable after build(); any number of launches share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cuda/program/op.h"
#include "cuda/ptx/syntax.h"

namespace cuda_twin {

/// Registers and memory of a function at run time.
struct FunctionInfo {
  std::string name;
  std::uint32_t first_op = 0, end_op = 0;
  std::uint32_t register_bytes = 0;  ///< of a frame of one warp
  std::uint32_t predicates = 0;
  std::uint64_t local_bytes = 0;  ///< of a lane: .local variables and call parameters
  bool is_kernel = false;
  bool is_defined = true;  ///< has a body
  /// A parameter or result of a .func: a register or predicate of its frame, or (bank kNone) a
  /// place in its local bytes. A vector of registers has a slot for each part. A call copies
  /// parameters into the new frame and results out of it.
  struct Slot {
    Arg reg;
    std::uint64_t offset = 0, bytes = 0;
  };
  std::vector<Slot> parameters, results;
};

struct KernelInfo {
  struct Parameter {
    std::uint64_t offset = 0, bytes = 0;
  };
  FunctionInfo function;
  std::vector<Parameter> parameters;
  std::uint64_t parameter_bytes = 0;
  std::uint64_t static_shared = 0;       ///< bytes of .shared variables that this kernel can reach
  std::uint64_t dynamic_alignment = 16;  ///< of extern .shared
  std::uint64_t local_bytes = 0;         ///< of a lane, calls included, a recursion once
  bool is_recursive = false;             ///< a function that it reaches may call itself
  std::uint32_t registers =
      0;  ///< of a thread, as CU_FUNC_ATTRIBUTE_NUM_REGS: 32-bit ones after reuse
  std::uint32_t max_threads =
      0;  ///< of a block: product of .maxntid or .reqntid, else the device's
  std::uint32_t required_threads[3] = {0, 0, 0};
  std::uint32_t cluster[3] = {0, 0, 0};
};

struct Program {
  std::string text;  ///< the PTX, for messages
  ptx::Version version;
  ptx::Target target;
  bool has_fences = false;  ///< or accesses with release or acquire
  std::vector<Op> ops;
  std::vector<Arg> more;  ///< storage of Op::more
  std::vector<std::byte>
      constants;  ///< bank kConstants; allocate aligned to 64 (see constant_bank())
  std::vector<FunctionInfo> functions;
  std::vector<KernelInfo> kernels;
  std::vector<std::shared_ptr<const void>> owned;  ///< what Op::immediate points to
  const std::byte* constant_bank() const;          ///< 64-byte aligned
};

/// Addresses that the driver gives to .global and .const variables before the program is built.
using AddressOf = std::function<std::optional<std::uint64_t>(const std::string& variable)>;

/// Decodes a parsed module for a device of capability `sm` (80 for 8.0). Every instruction is
/// checked; one that the twin does not have is an error here, never when it runs.
std::variant<std::shared_ptr<const Program>, ptx::SyntaxError> build(const ptx::Module& module,
                                                                     std::string text,
                                                                     const AddressOf& address_of);

}  // namespace cuda_twin
