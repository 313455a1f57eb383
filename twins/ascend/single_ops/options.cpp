// Options of the compiler, for the whole process.
#include <cstring>

#include "ascend/call.h"
#include "ascend/single_ops/single_op.h"
#include "ascend/single_ops/state.h"

namespace ascend_twin {
namespace {

bool is_option(aclCompileOpt option) {
  return option >= 0 && option < kCompileOptions;
}

/// Those with fixed words; others take any text.
bool takes(aclCompileOpt option, const std::string& value) {
  const auto is_one_of = [&](std::initializer_list<const char*> words) {
    for (const char* word : words) {
      if (value == word) return true;
    }
    return false;
  };
  switch (option) {
    case ACL_PRECISION_MODE:
      return is_one_of({"force_fp32", "cube_fp16in_fp32out", "force_fp16", "allow_fp32_to_fp16",
                        "must_keep_origin_dtype", "allow_mix_precision", "allow_mix_precision_fp16",
                        "allow_mix_precision_bf16", "allow_fp32_to_bf16"});
    case ACL_OP_JIT_COMPILE:
      return is_one_of({"enable", "disable"});
    case ACL_OP_DETERMINISTIC:
      return is_one_of({"0", "1"});
    default:
      return true;
  }
}

}  // namespace

std::string compile_option(aclCompileOpt option) {
  const std::shared_ptr<SingleOpState> state = single_op_state();
  const std::lock_guard lock(state->mutex);
  return state->options[static_cast<std::size_t>(option)];
}

}  // namespace ascend_twin

using namespace ascend_twin;

aclError aclSetCompileopt(aclCompileOpt opt, const char* value) {
  return call("aclSetCompileopt", Need::kInitialised, [&]() -> Status {
    if (!is_option(opt) || value == nullptr)
      return refuse(ACL_ERROR_INVALID_PARAM,
                    "no option " + std::to_string(static_cast<int>(opt)) + ", or no value");
    if (!takes(opt, value)) {
      return refuse(ACL_ERROR_INVALID_PARAM, "option " + std::to_string(static_cast<int>(opt)) +
                                                 " is not \"" + value + "\"");
    }
    const std::shared_ptr<SingleOpState> state = single_op_state();
    const std::lock_guard lock(state->mutex);
    state->options[static_cast<std::size_t>(opt)] = value;
    return ACL_SUCCESS;
  });
}

size_t aclGetCompileoptSize(aclCompileOpt opt) {
  size_t size = 0;
  call("aclGetCompileoptSize", Need::kNothing, [&]() -> Status {
    if (!is_option(opt)) return refuse(ACL_ERROR_INVALID_PARAM, "no such option");
    size = compile_option(opt).size() + 1;
    return ACL_SUCCESS;
  });
  return size;
}

aclError aclGetCompileopt(aclCompileOpt opt, char* value, size_t length) {
  return call("aclGetCompileopt", Need::kNothing, [&]() -> Status {
    if (!is_option(opt) || value == nullptr)
      return refuse(ACL_ERROR_INVALID_PARAM, "no such option, or no place for it");
    const std::string text = compile_option(opt);
    if (length < text.size() + 1) {
      return refuse(ACL_ERROR_INVALID_PARAM,
                    "a place of " + std::to_string(length) + " bytes is too small");
    }
    std::memcpy(value, text.c_str(), text.size() + 1);
    return ACL_SUCCESS;
  });
}

/// Shapes are compiled one by one here, whatever the flag.
aclError aclopSetCompileFlag(aclOpCompileFlag flag) {
  return call("aclopSetCompileFlag", Need::kInitialised, [&]() -> Status {
    if (flag != ACL_OP_COMPILE_DEFAULT && flag != ACL_OP_COMPILE_FUZZ)
      return refuse(ACL_ERROR_INVALID_PARAM, "flag " + std::to_string(static_cast<int>(flag)));
    return ACL_SUCCESS;
  });
}
