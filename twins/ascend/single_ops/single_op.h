// Single operators by name (aclop...): descriptors, attributes, and the way to an aclnn kernel.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "ascend/include/acl/acl_single_op.h"
#include "ascend/ops/op.h"

namespace ascend_twin {

using Attribute = std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<std::string>,
                               std::vector<std::vector<std::int64_t>>>;
using Attributes = std::map<std::string, Attribute>;

/// An input in host memory, already read.
struct Constant {
  bool is_host = false;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
};

/// One use: contiguous ND views whose bases are the data buffers. An optional input that is left
/// out has no type.
struct SingleOp {
  std::string type;
  std::vector<View> inputs, outputs;
  std::vector<Constant> constants;  ///< one for each input
  Attributes attributes;

  bool has_input(std::size_t position) const {
    return position < inputs.size() && inputs[position].type != ACL_DT_UNDEFINED;
  }
};

/// A row of the table in single_ops/table.cpp: the vendor's type of operator, the Op it shares
/// (Op::name), and how many inputs it has. Types without a row are 100024.
struct SingleOpRow {
  const char* type;  ///< "MatMulV2"
  const char* op;
  std::size_t least, most;
  /// The arguments in the order of the Op's roles, or a refusal.
  Status (*arguments)(const SingleOp& use, std::vector<Argument>* arguments);
};
const SingleOpRow* find_row(std::string_view type);

/// A use that the vendor's compiler would not build.
Status not_built(const SingleOp& use, const std::string& reason);

// Attributes, or their defaults where they are not set. An integer of another kind counts as unset.
bool bool_attribute(const SingleOp& use, const char* name, bool otherwise);
std::int64_t integer_attribute(const SingleOp& use, const char* name, std::int64_t otherwise);
double real_attribute(const SingleOp& use, const char* name, double otherwise);
std::vector<std::int64_t> list_attribute(const SingleOp& use, const char* name);

/// The value of aclSetCompileopt, empty where it is not set.
std::string compile_option(aclCompileOpt option);

}  // namespace ascend_twin
