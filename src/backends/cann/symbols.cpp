#include "backends/cann/symbols.h"

#include <array>

namespace shunt::cann {

namespace {

constexpr std::array kSymbolTable = {
    symbol<&Symbols::init>("aclInit"),
    symbol<&Symbols::init_ops>("aclnnInit", "8.0"),
    symbol<&Symbols::finalize>("aclFinalize"),
    symbol<&Symbols::finalize_reference>("aclFinalizeReference", "9.0"),
    symbol<&Symbols::recent_message>("aclGetRecentErrMsg"),
    symbol<&Symbols::soc_name>("aclrtGetSocName"),
    symbol<&Symbols::version>("aclrtGetVersion"),
    symbol<&Symbols::run_mode>("aclrtGetRunMode"),
    symbol<&Symbols::device_count>("aclrtGetDeviceCount"),
    symbol<&Symbols::set_device>("aclrtSetDevice"),
    symbol<&Symbols::reset_device>("aclrtResetDevice"),
    symbol<&Symbols::device_capability>("aclGetDeviceCapability"),
    symbol<&Symbols::set_system_option>("aclrtCtxSetSysParamOpt", "8.0", kDeterminismFeature),
    symbol<&Symbols::can_access_peer>("aclrtDeviceCanAccessPeer", "7.0", kPeersFeature),
    symbol<&Symbols::enable_peer>("aclrtDeviceEnablePeerAccess", "7.0", kPeersFeature),
    symbol<&Symbols::set_context>("aclrtSetCurrentContext"),
    symbol<&Symbols::get_context>("aclrtGetCurrentContext"),
    symbol<&Symbols::memory_info>("aclrtGetMemInfo"),
    symbol<&Symbols::malloc>("aclrtMalloc"),
    symbol<&Symbols::free>("aclrtFree"),
    symbol<&Symbols::malloc_host>("aclrtMallocHost"),
    symbol<&Symbols::free_host>("aclrtFreeHost"),
    symbol<&Symbols::memcpy>("aclrtMemcpy"),
    symbol<&Symbols::memcpy_async>("aclrtMemcpyAsync"),
    symbol<&Symbols::memcpy_2d_async>("aclrtMemcpy2dAsync", "7.0"),
    symbol<&Symbols::memset>("aclrtMemset"),
    symbol<&Symbols::create_stream>("aclrtCreateStream"),
    symbol<&Symbols::destroy_stream>("aclrtDestroyStream"),
    symbol<&Symbols::synchronize_stream>("aclrtSynchronizeStreamWithTimeout"),
    symbol<&Symbols::query_stream>("aclrtStreamQuery"),
    symbol<&Symbols::create_event>("aclrtCreateEventExWithFlag"),
    symbol<&Symbols::destroy_event>("aclrtDestroyEvent"),
    symbol<&Symbols::record_event>("aclrtRecordEvent"),
    symbol<&Symbols::wait_event>("aclrtStreamWaitEvent"),
    symbol<&Symbols::synchronize_event>("aclrtSynchronizeEventWithTimeout"),
    symbol<&Symbols::elapsed_time>("aclrtEventElapsedTime", "7.0", kTimesFeature),
    symbol<&Symbols::capture_begin>("aclmdlRICaptureBegin", "8.1", kGraphsFeature),
    symbol<&Symbols::capture_end>("aclmdlRICaptureEnd", "8.1", kGraphsFeature),
    symbol<&Symbols::execute_model>("aclmdlRIExecuteAsync", "8.1", kGraphsFeature),
    symbol<&Symbols::destroy_model>("aclmdlRIDestroy", "8.1", kGraphsFeature),
    symbol<&Symbols::create_tensor>("aclCreateTensor"),
    symbol<&Symbols::destroy_tensor>("aclDestroyTensor"),
    symbol<&Symbols::create_scalar>("aclCreateScalar"),
    symbol<&Symbols::destroy_scalar>("aclDestroyScalar"),
    symbol<&Symbols::create_int_array>("aclCreateIntArray"),
    symbol<&Symbols::destroy_int_array>("aclDestroyIntArray"),
    symbol<&Symbols::create_tensor_list>("aclCreateTensorList"),
    symbol<&Symbols::destroy_tensor_list>("aclDestroyTensorList"),
    symbol<&Symbols::set_repeatable>("aclSetAclOpExecutorRepeatable"),
    symbol<&Symbols::destroy_executor>("aclDestroyAclOpExecutor"),
};

}  // namespace

std::span<const SymbolRow<Symbols>> symbol_rows() {
  return kSymbolTable;
}

}  // namespace shunt::cann
