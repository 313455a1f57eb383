/// \file
/// The list of all ops, for documentation and for programs that show it. To build a graph of ops
/// see ops.h; to check a device with their test cases see check_ops.h.
///
/// \code
/// for (const OpDescription& op : describe_ops()) std::printf("%s\n", op.name.c_str());
/// \endcode
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shunt {

/// A source of an op.
struct OpSource {
  std::string name;
  bool optional = false;
};

/// An op as it documents itself.
struct OpDescription {
  std::string name;               ///< "rms_norm"
  std::string family;             ///< "norm": the header that declares it, <shunt/ops/FAMILY.h>
  std::string summary;            ///< one paragraph with the formula
  std::vector<OpSource> sources;  ///< in order
  std::string parameters;         ///< names and defaults: "eps=1e-05"; empty: none
  /// The memory of the result: "own", "view" (of the first source) or "into first source".
  std::string_view storage;
  bool has_gradient = false;
};

/// All ops, family by family.
std::vector<OpDescription> describe_ops();

}  // namespace shunt
