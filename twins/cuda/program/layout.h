// Where the variables of a module are: parameters, shared memory of each kernel, local memory of
// each function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "cuda/program/program.h"
#include "cuda/ptx/syntax.h"

namespace cuda_twin {

/// A variable's place. `offset` is a device address for .global and .const. For .shared and .param
/// of a kernel it is the place in the block's or the launch's bytes. For .local and all other
/// .param it is the place in the frame of the function, from Warp::local_base on.
struct Place {
  ptx::Space space = ptx::Space::kGlobal;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool dynamic = false;    ///< extern .shared: `offset` counts from the end of the static variables
  bool parameter = false;  ///< declared .param
  bool undefined = false;  ///< extern without a definition
};

class Layout {
 public:
  /// Fills Program::functions and Program::kernels: names, parameters, shared and local bytes.
  static std::variant<Layout, ptx::SyntaxError> make(const ptx::Module& module, Program& program,
                                                     const AddressOf& address_of);

  /// A variable that function `index` may name; null if there is none.
  const Place* find(std::uint32_t index, const std::string& name) const;
  /// Bytes of static .shared before the dynamic ones, if it is the same for all kernels that reach
  /// function `index`.
  std::optional<std::uint64_t> dynamic_base(std::uint32_t index) const;

 private:
  friend class LayoutMaker;
  std::unordered_map<std::string, Place> module_;
  std::vector<std::unordered_map<std::string, Place>> functions_;
  std::vector<std::optional<std::uint64_t>> dynamic_bases_;
};

/// The value of a function's address in a register: a call through it finds the function by this.
inline constexpr std::uint64_t kFunctionAddress = std::uint64_t{1} << 57;
inline std::uint64_t function_address(std::uint32_t index) {
  return kFunctionAddress + std::uint64_t{16} * index;
}

}  // namespace cuda_twin
