// Queries of a device, and its options.
#include <optional>

#include "ascend/include/acl/acl_runtime.h"
#include "ascend/memory/space.h"
#include "ascend/profiles.h"
#include "ascend/runtime/devices.h"

using namespace ascend_twin;

namespace {

std::optional<std::int64_t> capability(aclDeviceInfo which, const Profile& chip) {
  switch (which) {
    case ACL_DEVICE_INFO_AI_CORE_NUM:
      return chip.cube_cores;
    case ACL_DEVICE_INFO_VECTOR_CORE_NUM:
      return chip.vector_cores;
    case ACL_DEVICE_INFO_L2_SIZE:
      return static_cast<std::int64_t>(chip.l2);
    default:
      return std::nullopt;
  }
}

std::optional<std::int64_t> attribute(aclrtDevAttr which, const Profile& chip) {
  switch (which) {
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM:
      return chip.cube_cores;
    case ACL_DEV_ATTR_VECTOR_CORE_NUM:
      return chip.vector_cores;
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE:
      return static_cast<std::int64_t>(device_memory());
    case ACL_DEV_ATTR_L2_CACHE_SIZE:
      return static_cast<std::int64_t>(chip.l2);
    case ACL_DEV_ATTR_NPU_ARCH:
      return chip.arch;
    default:
      return std::nullopt;
  }
}

Status answer_property(std::uint32_t index, int which, std::optional<std::int64_t> found,
                       std::int64_t* value) {
  if (value == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the value's pointer is null");
  std::shared_ptr<Device> device;
  ASCEND_TWIN_TRY(find_device(index, &device));
  if (!found) return refuse(ACL_ERROR_INVALID_PARAM, "no property " + std::to_string(which));
  *value = *found;
  return ACL_SUCCESS;
}

Status check_option(aclSysParamOpt option) {
  if (option < ACL_OPT_DETERMINISTIC || option > ACL_OPT_STRONG_CONSISTENCY)
    return refuse(ACL_ERROR_INVALID_PARAM, "option " + std::to_string(option));
  return ACL_SUCCESS;
}

void set_option(Context& context, aclSysParamOpt option, std::int64_t value) {
  const std::lock_guard lock(context.mutex);
  context.options[option] = value;
}

}  // namespace

aclError aclGetDeviceCapability(uint32_t device, aclDeviceInfo which, int64_t* value) {
  return call("aclGetDeviceCapability", Need::kInitialised, [&]() -> Status {
    return answer_property(
        device, which, profile() == nullptr ? std::nullopt : capability(which, *profile()), value);
  });
}

aclError aclrtGetDeviceInfo(uint32_t device, aclrtDevAttr which, int64_t* value) {
  return call("aclrtGetDeviceInfo", Need::kInitialised, [&]() -> Status {
    return answer_property(
        device, which, profile() == nullptr ? std::nullopt : attribute(which, *profile()), value);
  });
}

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  return call("aclrtSetDeviceSatMode", Need::kContext, [&]() -> Status {
    if (mode < ACL_RT_OVERFLOW_MODE_SATURATION || mode >= ACL_RT_OVERFLOW_MODE_UNDEF)
      return refuse(ACL_ERROR_INVALID_PARAM, "overflow mode " + std::to_string(mode));
    std::shared_ptr<Context> context;
    ASCEND_TWIN_TRY(current_context(&context));
    if (mode == ACL_RT_OVERFLOW_MODE_INFNAN && profile() != nullptr && profile()->saturates)
      return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "this chip only saturates");
    context->device->saturates = mode == ACL_RT_OVERFLOW_MODE_SATURATION;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode) {
  return call("aclrtGetDeviceSatMode", Need::kContext, [&]() -> Status {
    if (mode == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the mode's pointer is null");
    std::shared_ptr<Context> context;
    ASCEND_TWIN_TRY(current_context(&context));
    const bool saturates =
        context->device->saturates || (profile() != nullptr && profile()->saturates);
    *mode = saturates ? ACL_RT_OVERFLOW_MODE_SATURATION : ACL_RT_OVERFLOW_MODE_INFNAN;
    return ACL_SUCCESS;
  });
}

aclError aclrtSetSysParamOpt(aclSysParamOpt option, int64_t value) {
  return call("aclrtSetSysParamOpt", Need::kInitialised, [&]() -> Status {
    ASCEND_TWIN_TRY(check_option(option));
    for (const auto& context : library().contexts.all()) set_option(*context, option, value);
    return ACL_SUCCESS;
  });
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt option, int64_t value) {
  return call("aclrtCtxSetSysParamOpt", Need::kContext, [&]() -> Status {
    ASCEND_TWIN_TRY(check_option(option));
    std::shared_ptr<Context> context;
    ASCEND_TWIN_TRY(current_context(&context));
    set_option(*context, option, value);
    return ACL_SUCCESS;
  });
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt option, int64_t* value) {
  return call("aclrtCtxGetSysParamOpt", Need::kContext, [&]() -> Status {
    if (value == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the value's pointer is null");
    ASCEND_TWIN_TRY(check_option(option));
    std::shared_ptr<Context> context;
    ASCEND_TWIN_TRY(current_context(&context));
    const std::lock_guard lock(context->mutex);
    const auto found = context->options.find(option);
    if (found == context->options.end())
      return refuse(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, "the option was not set");
    *value = found->second;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetDeviceUtilizationRate(int32_t index, aclrtUtilizationInfo* rate) {
  return call("aclrtGetDeviceUtilizationRate", Need::kInitialised, [&]() -> Status {
    if (rate == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the rate's pointer is null");
    std::shared_ptr<Device> device;
    ASCEND_TWIN_TRY(find_device(index, &device));
    if (rate->utilizationExtend != nullptr)
      return refuse(ACL_ERROR_INVALID_PARAM, "the extension is not null");
    const std::uint64_t total = device_memory();
    const std::uint64_t used = total - space().free_bytes(index);
    *rate = {0, 0, 0, total == 0 ? 0 : static_cast<std::int32_t>(used * 100 / total), nullptr};
    return ACL_SUCCESS;
  });
}

aclError aclrtSetOpWaitTimeout(uint32_t /*seconds*/) {
  return call("aclrtSetOpWaitTimeout", Need::kContext, [&]() -> Status {
    if (profile() != nullptr && profile()->chip == k310p)
      return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "this chip has no timeout of waits");
    return ACL_SUCCESS;
  });
}

aclError aclrtSetOpExecuteTimeOut(uint32_t /*seconds*/) {
  return call("aclrtSetOpExecuteTimeOut", Need::kContext, [&]() -> Status { return ACL_SUCCESS; });
}
