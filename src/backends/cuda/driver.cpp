#include "backends/cuda/driver.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "backend_support/vendor_error.h"
#include "backends/cuda/pause.h"
#include "base/clock.h"
#include "shunt/message.h"

namespace shunt::cuda {

namespace {

constexpr std::array kNames = {"libcuda.so.1"};
constexpr std::array kFiles = {LibraryFile{kNames}};

bool is_twin_library(const VendorLibrary& library) {
  return library.find("cuda_twin_version") != nullptr;
}

constexpr VendorRuntime kRuntime = {.backend = "cuda",
                                    .description = "NVIDIA's driver",
                                    .remedy = "install it if this machine has an NVIDIA GPU",
                                    .files = kFiles,
                                    .stays_loaded = true,
                                    .is_twin = is_twin_library};

constexpr std::array kNamedCodes = {
    VendorCode{kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", ErrorCode::kOutOfMemory,
               "place fewer layers on the device, or use a smaller context"},
    VendorCode{kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", ErrorCode::kUnsupported,
               "check with nvidia-smi that the driver's kernel module is loaded"},
    VendorCode{kStubLibrary, "CUDA_ERROR_STUB_LIBRARY", ErrorCode::kUnsupported,
               "this libcuda.so.1 is the toolkit's stub: remove its folder from LD_LIBRARY_PATH"},
    VendorCode{kUnknown, "CUDA_ERROR_UNKNOWN", ErrorCode::kDevice,
               "check with nvidia-smi that the driver works, and look at the kernel's log (dmesg)"},
    VendorCode{kNoDevice, "CUDA_ERROR_NO_DEVICE", ErrorCode::kNotFound,
               "check with nvidia-smi that the driver sees the device"},
    VendorCode{kUnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
               ErrorCode::kUnsupported, "install a newer driver"},
    VendorCode{kInvalidPtx, "CUDA_ERROR_INVALID_PTX", ErrorCode::kUnsupported,
               "install a newer driver"},
    VendorCode{kNoPtxCompiler, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", ErrorCode::kNotFound,
               "install libnvidia-ptxjitcompiler.so.1, which comes with the driver"},
    VendorCode{kPtxCompilerDisabled, "CUDA_ERROR_JIT_COMPILATION_DISABLED", ErrorCode::kUnsupported,
               "unset CUDA_DISABLE_PTX_JIT"},
    VendorCode{kOperatingSystem, "CUDA_ERROR_OPERATING_SYSTEM", ErrorCode::kUnsupported,
               "check the process's limit of locked memory (ulimit -l)"},
    VendorCode{kSystemNotReady, "CUDA_ERROR_SYSTEM_NOT_READY", ErrorCode::kUnsupported,
               "start NVIDIA's services (nvidia-fabricmanager, nvidia-persistenced)"},
    VendorCode{
        kDriverMismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", ErrorCode::kUnsupported,
        "the kernel has another version of the driver than libcuda.so.1: restart the machine"},
    VendorCode{kCompatNotSupported, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
               ErrorCode::kUnsupported,
               "remove the folder of CUDA's compatibility libraries from LD_LIBRARY_PATH"},
    VendorCode{kMpsConnectionFailed, "CUDA_ERROR_MPS_CONNECTION_FAILED", ErrorCode::kUnsupported,
               "start nvidia-cuda-mps-control, or unset CUDA_MPS_PIPE_DIRECTORY"},
    VendorCode{kDeviceUnavailable, "CUDA_ERROR_DEVICE_UNAVAILABLE", ErrorCode::kDevice,
               "another process may use the device exclusively (nvidia-smi -q -d COMPUTE)"},
    VendorCode{kNotPermitted, "CUDA_ERROR_NOT_PERMITTED", ErrorCode::kUnsupported, ""},
    VendorCode{kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", ErrorCode::kUnsupported, ""},
};
/// After these nothing of the context works any more.
constexpr std::array kContextEnds = {
    kDeinitialized,         kDeviceUnavailable,  kEccUncorrectable,   kNvlinkUncorrectable,
    kIllegalAddress,        kLaunchTimeout,      kContextIsDestroyed, kAssert,
    kHardwareStackError,    kIllegalInstruction, kMisalignedAddress,  kInvalidAddressSpace,
    kInvalidProgramCounter, kLaunchFailed,       kContained,          kTensorMemoryLeak,
    kMpsClientTerminated};

/// After these the device itself may not answer: its context is not released.
constexpr std::array kDeviceEnds = {kDeinitialized, kDeviceUnavailable, kEccUncorrectable,
                                    kNvlinkUncorrectable};

/// A device that works completes an empty kernel within this time.
constexpr std::chrono::milliseconds kMostForEmptyKernel{30'000};

constexpr VendorCodes kCodes = {.library = "CUDA driver", .codes = kNamedCodes};

}  // namespace

Result<std::shared_ptr<Driver>> Driver::open(const Options& options) {
  SHUNT_ASSIGN(auto library, VendorLibrary::open(kRuntime, options));
  const auto find = [&](const char* name) { return library->find(name); };
  SHUNT_ASSIGN(const Symbols symbols,
               bind_symbols<Symbols>(symbol_rows(), find, "drivers since version 450 have"));
  auto missing = missing_features(symbol_rows(), find);
  std::shared_ptr<Driver> driver(new Driver(std::move(library), symbols));
  driver->missing_ = std::move(missing);
  driver->twin_ = is_twin_library(*driver->library_);
  SHUNT_TRY(driver->check(symbols.init(0), name_of<&Symbols::init>()));
  SHUNT_TRY(driver->check(symbols.driver_get_version(&driver->version_),
                          name_of<&Symbols::driver_get_version>()));
  SHUNT_TRY(driver->check(symbols.device_get_count(&driver->devices_),
                          name_of<&Symbols::device_get_count>()));
  return driver;
}

Status Driver::check(Status32 status, const char* function) const {
  if (status == kSuccess) return ok();
  return error(status, function);
}

Error Driver::error(Status32 status, const char* function) const {
  const auto ask = [&](auto* get) -> std::string_view {
    const char* text = nullptr;
    return get(status, &text) == kSuccess && text != nullptr ? text : "";
  };
  return vendor_error(kCodes, function, status, ask(symbols_.get_error_string),
                      ask(symbols_.get_error_name));
}

bool Driver::has(std::string_view feature) const {
  return std::ranges::find(missing_, feature, &MissingFeature::feature) == missing_.end();
}

int Driver::attribute(Attribute which, DeviceNumber device) const {
  int value = 0;
  return symbols_.device_get_attribute(&value, which, device) == kSuccess ? value : 0;
}

bool ends_context(Status32 status) {
  return std::ranges::find(kContextEnds, status) != kContextEnds.end();
}

bool ends_device(Status32 status) {
  return std::ranges::find(kDeviceEnds, status) != kDeviceEnds.end();
}

Result<std::shared_ptr<Context>> Context::create(std::shared_ptr<Driver> driver,
                                                 DeviceNumber device,
                                                 std::shared_ptr<DeviceHealth> health) {
  ContextHandle handle = nullptr;
  SHUNT_TRY(driver->check(driver->symbols().device_primary_ctx_retain(&handle, device),
                          name_of<&Symbols::device_primary_ctx_retain>()));
  SHUNT_TRY(driver->state().context(handle).add(health));  // or leave it retained
  std::shared_ptr<Context> context(
      new Context(std::move(driver), device, std::move(health), handle));
  SHUNT_TRY(context->call<&Symbols::stream_create>(&context->own_stream_, kStreamNonBlocking));
  context->add_stream(context->own_stream_);
  return context;
}

Context::~Context() {
  // Without asking whether the device works: nothing that follows needs an answer.
  if (own_stream_ != nullptr) {
    remove_stream(own_stream_);
    (void)peek<&Symbols::stream_destroy>(own_stream_);
  }
  state_.remove(health_);
  if (!health_->is_hung()) (void)driver_->symbols().device_primary_ctx_release(device_);
}

std::optional<std::uint64_t> Context::free_memory() const {
  std::size_t free = 0, total = 0;
  if (!call<&Symbols::mem_get_info>(&free, &total)) return std::nullopt;
  return free;
}

std::uint64_t Context::own_bytes() const {
  std::call_once(measured_, [this] {
    const ContextState::Pause pause(state_);  // a driver may wait for all work here
    if (!wait_for_streams()) return;
    const auto before = free_memory();
    const Symbols& symbols = driver_->symbols();
    ContextHandle second = nullptr;
    if (!before || symbols.ctx_create(&second, 0, device_) != kSuccess) return;
    std::size_t free = 0, total = 0;
    const Status32 asked = symbols.mem_get_info(&free, &total);  // it is the current one
    ContextHandle popped = nullptr;
    (void)symbols.ctx_pop_current(&popped);
    (void)symbols.ctx_destroy(second);
    if (asked == kSuccess && free < *before) own_bytes_ = *before - free;
  });
  return own_bytes_;
}

Status Context::reserve_stacks(std::size_t bytes) const {
  const std::lock_guard lock(state_.limits());
  std::size_t now = 0;
  SHUNT_TRY(call<&Symbols::ctx_get_limit>(&now, kStackSize));
  if (bytes <= now) return ok();
  return call_idle<&Symbols::ctx_set_limit>(kStackSize, bytes);
}

Context::Current::Current(const Context& context)
    : context_(context), status_(context.driver_->symbols().ctx_push_current(context.handle_)) {}

Context::Current::~Current() {
  ContextHandle popped = nullptr;
  if (status_ == kSuccess) (void)context_.driver_->symbols().ctx_pop_current(&popped);
}

Status Context::Current::status() const {
  return context_.check(status_, name_of<&Symbols::ctx_push_current>());
}

Status Context::check(Status32 status, const char* function) const {
  if (status == kSuccess) return ok();
  Error error = driver_->error(status, function);
  if (ends_device(status)) {
    health_->lose_hung(error);
  } else if (ends_context(status)) {
    health_->lose(error);
  }
  return error;
}

Status Context::check_health() const {
  SHUNT_TRY(health_->check());
  return seen_losses_ == driver_->state().losses() ? ok() : check_alive();
}

void Context::set_empty_kernel(FunctionHandle kernel) {
  const std::lock_guard lock(alive_mutex_);
  empty_kernel_ = kernel;
}

Status Context::launch_empty_kernel() const {
  SHUNT_ASSIGN(const Status32 status,
               query_unchecked<&Symbols::launch_kernel>(empty_kernel_, 1U, 1U, 1U, 1U, 1U, 1U, 0U,
                                                        own_stream_, static_cast<void**>(nullptr),
                                                        static_cast<void**>(nullptr)));
  return check(status, name_of<&Symbols::launch_kernel>());
}

Status Context::check_alive() const {
  const std::lock_guard lock(alive_mutex_);
  const int losses = driver_->state().losses();
  if (seen_losses_ == losses) return health_->check();
  if (const Status hung = state_.check(); !hung) {  // the device of this context, in a registry
    health_->lose_hung(hung.error());
    return health_->check();
  }
  Status status = empty_kernel_ != nullptr ? launch_empty_kernel() : ok();
  if (status)
    status = wait_until_idle(own_stream_, std::min(health_->timeout(), kMostForEmptyKernel));
  if (!status && !health_->is_lost()) health_->lose_hung(status.error());
  seen_losses_ = losses;  // now other threads may go on
  return health_->check();
}

Result<bool> Context::is_idle_within(StreamHandle stream, std::chrono::milliseconds most) const {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + most;
  for (int i = 0;; ++i) {
    SHUNT_ASSIGN(const Status32 status, peek<&Symbols::stream_query>(stream));
    if (status != kNotReady) {
      const Status ended = check(status, name_of<&Symbols::stream_query>());
      // An error that stays, whatever its number, has ended the context, or the device is gone.
      if (!ended && !health_->is_lost()) health_->lose_hung(ended.error());
      SHUNT_TRY(ended);
      return true;
    }
    if (Clock::now() >= end) return false;
    pause(i);
  }
}

Status Context::wait_until_idle(StreamHandle stream, std::chrono::milliseconds most) const {
  SHUNT_ASSIGN(const bool idle, is_idle_within(stream, most));
  if (!idle) health_->lose_hung();
  return health_->check();
}

Status Context::wait_for_streams() const {
  SHUNT_TRY(check_health());
  // A stream may wait for work of a device that was lost, for ever.
  const auto longest = state_.longest_timeout();
  const auto most =
      driver_->state().has_lost_within(longest) ? std::min(longest, kMostForEmptyKernel) : longest;
  const auto end = std::chrono::steady_clock::now() + most;
  return state_.for_each_stream([&](StreamHandle stream) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    return wait_until_idle(stream, std::max(left, std::chrono::milliseconds(0)));
  });
}

template <class Submit>
Status Context::complete(Submit submit) {
  SHUNT_TRY(check_health());
  const std::lock_guard lock(own_stream_mutex_);
  const Status submitted = submit(own_stream_);
  Status ended = wait_until_idle(own_stream_);  // work submitted before an error runs, too
  SHUNT_TRY(submitted);
  return ended;
}

Status Context::write(DevicePointer to, const void* from, std::size_t bytes) {
  return complete([&](StreamHandle stream) {
    return submit<&Symbols::memcpy_to_device>(to, from, bytes, stream);
  });
}

Status Context::read(void* to, DevicePointer from, std::size_t bytes) {
  return complete([&](StreamHandle stream) {
    return submit<&Symbols::memcpy_to_host>(to, from, bytes, stream);
  });
}

Status Context::fill(DevicePointer at, std::size_t bytes, unsigned char value) {
  return complete([&](StreamHandle stream) {
    return submit<&Symbols::memset_bytes>(at, value, bytes, stream);
  });
}

Status Context::launch_and_wait(FunctionHandle function, unsigned blocks, unsigned threads,
                                void* parameters, int times) {
  return complete([&](StreamHandle stream) -> Status {
    for (int i = 0; i < times; ++i) {
      SHUNT_TRY(submit<&Symbols::launch_kernel>(function, blocks, 1U, 1U, threads, 1U, 1U, 0U,
                                                stream, &parameters, static_cast<void**>(nullptr)));
    }
    return ok();
  });
}

}  // namespace shunt::cuda
