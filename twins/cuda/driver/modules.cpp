#include "cuda/driver/modules.h"

#include <chrono>

#include "cuda/call.h"
#include "cuda/driver/driver_memory.h"
#include "cuda/driver/jit.h"
#include "cuda/graphs/capture.h"
#include "cuda/ptx/parser.h"
#include "cuda/ptx/targets.h"
#include "cuda/settings.h"

namespace cuda_twin {
namespace {

constexpr std::size_t kMostText = std::size_t{64} << 20;

CUresult say(CUresult result, std::string& log, std::string text) {
  log = std::move(text);
  return refuse(result, log);
}

CUresult say(const ptx::SyntaxError& error, std::string& log) {
  return say(
      error.version_unsupported ? CUDA_ERROR_UNSUPPORTED_PTX_VERSION : CUDA_ERROR_INVALID_PTX, log,
      "line " + std::to_string(error.line) + ": error: " + error.reason);
}

/// Compiled code for devices: an ELF file, or a container of several.
bool is_binary(const std::string& text) {
  return text.rfind(
             "\x7F"
             "ELF",
             0) == 0 ||
         text.rfind("\xB1\x43\x62\x46", 0) == 0 || text.rfind("\x50\xED\x55\xBA", 0) == 0;
}

CUresult check_text(const std::string& text, std::string& log) {
  if (is_binary(text)) {
    return say(CUDA_ERROR_NO_BINARY_FOR_GPU, log, "the twin executes PTX only, no compiled code");
  }
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 || byte == '\n' || byte == '\t' || byte == '\r') continue;
    return say(CUDA_ERROR_INVALID_IMAGE, log, "the image is no text");
  }
  return text.empty() ? say(CUDA_ERROR_INVALID_IMAGE, log, "the image is empty") : CUDA_SUCCESS;
}

/// `wanted` is the architecture that the caller asks for, if any: its code runs on devices of the
/// same major version.
CUresult check_for(const Device& device, const ptx::Module& parsed,
                   const std::optional<ptx::Target>& wanted, std::string& log) {
  if (wanted && !ptx::runs_on(parsed.target, wanted->sm)) {
    return say({parsed.target_line, "target " + ptx::name_of(parsed.target) +
                                        " cannot be compiled for " + ptx::name_of(*wanted)},
               log);
  }
  if (wanted && (wanted->sm / 10 != device.sm() / 10 || !ptx::runs_on(*wanted, device.sm()))) {
    return say(CUDA_ERROR_NO_BINARY_FOR_GPU, log,
               "code for " + ptx::name_of(*wanted) + " does not run on capability " +
                   std::to_string(device.sm()));
  }
  if (!ptx::runs_on(parsed.target, device.sm())) {
    return say(CUDA_ERROR_NO_BINARY_FOR_GPU, log,
               "target " + ptx::name_of(parsed.target) + " does not run on capability " +
                   std::to_string(device.sm()));
  }
  return CUDA_SUCCESS;
}

CUresult compile(Context& context, std::string text, const JitOptions& options, Module& module,
                 std::string& log) {
  CUDA_TWIN_TRY(check_text(text, log));
  ptx::ParserLimits limits;
  limits.text_bytes = kMostText;
  limits.newest = newest_ptx(static_cast<int>(setting(Setting::kDriver)));
  auto parsed = ptx::parse(text, limits);
  if (const auto* const error = std::get_if<ptx::SyntaxError>(&parsed)) return say(*error, log);
  const auto& source = std::get<ptx::Module>(parsed);
  CUDA_TWIN_TRY(check_for(*context.device, source, options.target(), log));
  CUDA_TWIN_TRY(charge_code(module, text.size(), log));
  CUDA_TWIN_TRY(place_variables(context, source, module, log));
  const auto address_of = [&module](const std::string& name) -> std::optional<std::uint64_t> {
    const auto at = module.globals.find(name);
    if (at == module.globals.end()) return std::nullopt;
    return at->second.address;
  };
  auto built = build(source, std::move(text), address_of);
  if (const auto* const error = std::get_if<ptx::SyntaxError>(&built)) return say(*error, log);
  module.program = std::get<std::shared_ptr<const Program>>(built);
  return CUDA_SUCCESS;
}

CUresult load(Context& context, CUmodule* module, const void* image, const JitOptions& options) {
  if (module == nullptr || image == nullptr) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "module or image is null");
  }
  CUDA_TWIN_TRY(options.check());
  CUDA_TWIN_TRY(refuse_unsafe_call());
  if (fault_is_due(Setting::kFailModule)) {
    return refuse(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "CUDA_TWIN_FAIL_MODULE");
  }
  std::string text;
  if (!read_text(image, kMostText, text)) {
    return refuse(CUDA_ERROR_INVALID_IMAGE, "the image is not readable, or longer than 64 MiB");
  }
  wait_without_order(context);
  auto made = std::make_shared<Module>();
  made->context = context.weak_from_this();
  made->device = context.device;
  std::string log;
  const auto start = std::chrono::steady_clock::now();
  const CUresult result = compile(context, std::move(text), options, *made, log);
  const std::chrono::duration<float, std::milli> time = std::chrono::steady_clock::now() - start;
  options.write_time(time.count());
  options.write_logs(result == CUDA_SUCCESS ? "compiled for the twin" : "", log);
  if (result != CUDA_SUCCESS) {
    unload(*made);
    return result;
  }
  made->handle = as_handle<CUmodule>(driver().modules.add(made));
  *module = made->handle;
  return CUDA_SUCCESS;
}

CUresult module_of(CUmodule handle, std::shared_ptr<Module>& module) {
  module = driver().modules.find(handle);
  if (module != nullptr) return CUDA_SUCCESS;
  return refuse(CUDA_ERROR_INVALID_HANDLE, "the handle is no module");
}

std::shared_ptr<Function> function_in(Module& module, const std::string& name) {
  const std::lock_guard lock(module.mutex);
  const auto at = module.functions.find(name);
  if (at != module.functions.end()) return at->second;
  for (const KernelInfo& kernel : module.program->kernels) {
    if (kernel.function.name != name) continue;
    auto function = std::make_shared<Function>();
    function->context = module.context;
    function->module = module.handle;
    function->program = module.program;
    function->kernel = &kernel;
    function->handle = as_handle<CUfunction>(driver().functions.add(function));
    module.functions[name] = function;
    return function;
  }
  return nullptr;
}

}  // namespace
}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return call_in_context(__func__, [&](Context& context) {
    return load(context, module, image, JitOptions(0, nullptr, nullptr));
  });
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int count,
                            CUjit_option* options, void** values) {
  return call_in_context(__func__, [&](Context& context) {
    return load(context, module, image, JitOptions(count, options, values));
  });
}

CUresult cuModuleUnload(CUmodule module) {
  return call_in_context(__func__, [&](Context&) -> CUresult {
    std::shared_ptr<Module> found;
    CUDA_TWIN_TRY(module_of(module, found));
    CUDA_TWIN_TRY(refuse_unsafe_call());
    const std::shared_ptr<Context> context = found->context.lock();
    if (context != nullptr) CUDA_TWIN_TRY(synchronize(*context));
    if (driver().modules.take(module) == nullptr) {
      return refuse(CUDA_ERROR_INVALID_HANDLE, "the module is unloaded already");
    }
    unload(*found);
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return call_in_context(__func__, [&](Context&) -> CUresult {
    std::shared_ptr<Module> found;
    if (function == nullptr || name == nullptr) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "function or name is null");
    }
    CUDA_TWIN_TRY(module_of(module, found));
    const std::shared_ptr<Function> kernel = function_in(*found, name);
    if (kernel == nullptr) {
      return refuse(CUDA_ERROR_NOT_FOUND, "the module has no kernel " + std::string(name));
    }
    *function = kernel->handle;
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  return call_in_context(__func__, [&](Context&) -> CUresult {
    std::shared_ptr<Module> found;
    if (name == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "name is null");
    CUDA_TWIN_TRY(module_of(module, found));
    const auto at = found->globals.find(name);
    if (at == found->globals.end()) {
      return refuse(CUDA_ERROR_NOT_FOUND, "the module has no variable " + std::string(name));
    }
    if (address != nullptr) *address = at->second.address;
    if (bytes != nullptr) *bytes = at->second.bytes;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
