#include "ascend/support.h"

#include <cstdio>
#include <cstdlib>

#include "ascend/profiles.h"
#include "ascend/settings.h"

namespace ascend_twin {
namespace {

/// Letters of chips: A is 910B, p 310P, b 310B.
struct Row {
  std::string_view op, types, docs, package, field;
};
struct Exception {
  std::string_view op;
  char chip;
  std::string_view types;  ///< "": all
  std::int32_t code;       ///< ACL_SUCCESS: works in spite of the row
  Support support;
};
struct UnrepeatableRow {
  std::string_view op;
  Unrepeatable when;
};
struct Unknown {
  std::string_view name;
  std::int64_t value;
};

#define ASCEND_TWIN_SUPPORT_ROWS
#include "ascend/support.inc"  // NOLINT: a table

char chip_letter() {
  switch (profile()->chip) {
    case k910b:
      return 'A';
    case k310p:
      return 'p';
    default:
      return 'b';
  }
}

bool has(std::string_view text, char letter) {
  return text.find(letter) != std::string_view::npos;
}

}  // namespace

char letter_of(aclDataType type) {
  switch (type) {
    case ACL_FLOAT:
      return 'f';
    case ACL_FLOAT16:
      return 'h';
    case ACL_BF16:
      return 'b';
    case ACL_DOUBLE:
      return 'd';
    case ACL_INT32:
      return 'i';
    case ACL_INT64:
      return 'l';
    case ACL_INT16:
      return 's';
    case ACL_INT8:
      return 'c';
    case ACL_UINT8:
      return 'u';
    case ACL_BOOL:
      return 'o';
    case ACL_INT4:
      return '4';
    default:
      return 0;
  }
}

std::int32_t support_of(std::string_view op, aclDataType type) {
  if (profile() == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  const auto support = setting_as<Support>(Setting::kSupport);
  const char chip = chip_letter();
  const char letter = letter_of(type);
  for (const Exception& exception : kExceptions) {
    if (exception.op == op && exception.chip == chip && exception.support == support &&
        (exception.types.empty() || has(exception.types, letter)))
      return exception.code;
  }
  for (const Row& row : kRows) {
    if (row.op != op) continue;
    const std::string_view chips = support == Support::kDocs      ? row.docs
                                   : support == Support::kPackage ? row.package
                                                                  : row.field;
    if (!has(chips, chip)) return ACLNN_ERR_INNER_NULLPTR;
    if (letter == 0 || !has(row.types, letter)) return ACLNN_ERR_PARAM_INVALID;
    if (type == ACL_BF16 && !profile()->has_bf16) return ACLNN_ERR_PARAM_INVALID;
    return ACL_SUCCESS;
  }
  return ACLNN_ERR_INNER_NULLPTR;
}

Unrepeatable unrepeatable(std::string_view op) {
  for (const UnrepeatableRow& row : kUnrepeatable) {
    if (row.op == op) return row.when;
  }
  return Unrepeatable::kNever;
}

std::int64_t unknown(std::string_view name) {
  for (const Unknown& row : kUnknowns) {
    if (row.name == name) return row.value;
  }
  std::fprintf(stderr, "Ascend twin: kUnknowns has no \"%.*s\"\n", static_cast<int>(name.size()),
               name.data());
  std::abort();
}

}  // namespace ascend_twin
