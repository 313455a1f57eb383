#include "backends/cuda/driver.h"

#include <array>

#include "backend_support/vendor_error.h"
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
                                    .files = kFiles,
                                    .stays_loaded = true,
                                    .is_twin = is_twin_library};

constexpr std::array kNamedCodes = {
    VendorCode{kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", ErrorCode::kOutOfMemory,
               "place fewer layers on the device, or use a smaller context"},
    VendorCode{kNoDevice, "CUDA_ERROR_NO_DEVICE", ErrorCode::kNotFound,
               "check with nvidia-smi that the driver sees the device"},
    VendorCode{kUnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
               ErrorCode::kUnsupported, "install a newer driver"},
};
constexpr VendorCodes kCodes = {.library = "CUDA driver", .codes = kNamedCodes};

}  // namespace

Result<std::shared_ptr<Driver>> Driver::open(const Options& options) {
  SHUNT_ASSIGN(auto library, VendorLibrary::open(kRuntime, options));
  SHUNT_ASSIGN(const Symbols symbols,
               bind_symbols<Symbols>(
                   symbol_rows(), [&](const char* name) { return library->find(name); },
                   "drivers since version 450 have"));
  std::shared_ptr<Driver> driver(new Driver(std::move(library), symbols));
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

Result<std::shared_ptr<Context>> Context::create(std::shared_ptr<Driver> driver,
                                                 DeviceNumber device) {
  ContextHandle handle = nullptr;
  SHUNT_TRY(driver->check(driver->symbols().device_primary_ctx_retain(&handle, device),
                          name_of<&Symbols::device_primary_ctx_retain>()));
  std::shared_ptr<Context> context(new Context(std::move(driver), device, handle));
  SHUNT_TRY(context->call<&Symbols::stream_create>(&context->own_stream_, kStreamNonBlocking));
  return context;
}

Context::~Context() {
  if (own_stream_ != nullptr) (void)call<&Symbols::stream_destroy>(own_stream_);
  (void)driver_->symbols().device_primary_ctx_release(device_);
}

Context::Current::Current(const Context& context)
    : context_(context), status_(context.driver_->symbols().ctx_push_current(context.handle_)) {}

Context::Current::~Current() {
  ContextHandle popped = nullptr;
  if (status_ == kSuccess) (void)context_.driver_->symbols().ctx_pop_current(&popped);
}

Status Context::Current::status() const {
  return context_.driver_->check(status_, name_of<&Symbols::ctx_push_current>());
}

template <class Submit>
Status Context::complete(Submit submit) {
  const std::lock_guard lock(own_stream_mutex_);
  SHUNT_TRY(submit(own_stream_));
  return call<&Symbols::stream_synchronize>(own_stream_);
}

Status Context::write(DevicePointer to, const void* from, std::size_t bytes) {
  return complete([&](StreamHandle stream) {
    return call<&Symbols::memcpy_to_device>(to, from, bytes, stream);
  });
}

Status Context::read(void* to, DevicePointer from, std::size_t bytes) {
  return complete(
      [&](StreamHandle stream) { return call<&Symbols::memcpy_to_host>(to, from, bytes, stream); });
}

Status Context::fill(DevicePointer at, std::size_t bytes, unsigned char value) {
  return complete(
      [&](StreamHandle stream) { return call<&Symbols::memset_bytes>(at, value, bytes, stream); });
}

}  // namespace shunt::cuda
