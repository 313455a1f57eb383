// The variables of a module in device memory.
#include <algorithm>
#include <cstring>

#include "cuda/call.h"
#include "cuda/driver/driver_memory.h"
#include "cuda/driver/modules.h"
#include "cuda/program/layout.h"

namespace cuda_twin {
namespace {

bool is_placed(const ptx::Variable& variable) {
  return (variable.space == ptx::Space::kGlobal || variable.space == ptx::Space::kConst) &&
         !variable.is_extern;
}

CUresult place(Context& context, const ptx::Variable& variable, Module& module, std::string& log) {
  Driver& state = driver();
  // A variable may have no bytes, but has an address.
  const std::uint64_t bytes = std::max<std::uint64_t>(variable.bytes, 1);
  const std::uint64_t alignment = std::max<std::uint64_t>(variable.alignment, 256);
  ExtentPtr extent;
  if (charge(*context.device, bytes)) {
    extent = state.space->allocate_variable(bytes, alignment, context.device->ordinal,
                                            variable.name, variable.space == ptx::Space::kConst);
    if (extent == nullptr) refund(*context.device, bytes);
  }
  if (extent == nullptr) {
    log = "variable " + ptx::shown(variable.name) + " of " + std::to_string(bytes) +
          " bytes: out of memory";
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, log);
  }
  module.globals[variable.name] = {extent->begin, bytes};
  std::copy_n(variable.data.begin(), std::min<std::size_t>(variable.data.size(), bytes),
              extent->data);
  return CUDA_SUCCESS;
}

using Functions = std::unordered_map<std::string_view, std::uint32_t>;

std::optional<std::uint64_t> address_of(const Functions& functions, const Module& module,
                                        const std::string& name) {
  const auto at = module.globals.find(name);
  if (at != module.globals.end()) return at->second.address;
  const auto function = functions.find(name);
  if (function == functions.end()) return std::nullopt;
  return function_address(function->second);
}

CUresult relocate(const Functions& functions, const ptx::Variable& variable, const Module& module,
                  std::string& log) {
  const Module::Global& global = module.globals.at(variable.name);
  const ExtentPtr extent = driver().space->find(global.address);
  for (const ptx::Variable::Relocation& relocation : variable.relocations) {
    const auto value = address_of(functions, module, relocation.name);
    const bool fits = relocation.bytes <= 8 && relocation.offset <= global.bytes &&
                      relocation.bytes <= global.bytes - relocation.offset;
    if (!value || !fits || extent == nullptr) {
      log = "line " + std::to_string(variable.line) + ": " + ptx::shown(variable.name) +
            ": there is no address of " + ptx::shown(relocation.name);
      return refuse(CUDA_ERROR_INVALID_PTX, log);
    }
    const std::uint64_t bits = *value + static_cast<std::uint64_t>(relocation.addend);
    std::memcpy(extent->data + relocation.offset, &bits, relocation.bytes);
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult place_variables(Context& context, const ptx::Module& parsed, Module& module,
                         std::string& log) {
  for (const ptx::Variable& variable : parsed.variables) {
    if (is_placed(variable)) CUDA_TWIN_TRY(place(context, variable, module, log));
  }
  const Functions functions = ptx::functions_by_name(parsed);
  for (const ptx::Variable& variable : parsed.variables) {
    if (is_placed(variable)) CUDA_TWIN_TRY(relocate(functions, variable, module, log));
  }
  return CUDA_SUCCESS;
}

void unload(Module& module) {
  Driver& state = driver();
  for (const auto& [name, global] : module.globals) {
    state.space->remove(global.address);
    refund(*module.device, global.bytes);
  }
  module.globals.clear();
  refund_code(module);
  const std::lock_guard lock(module.mutex);
  for (const auto& [name, function] : module.functions) {
    state.functions.take(reinterpret_cast<std::uint64_t>(function->handle));
  }
  module.functions.clear();
}

}  // namespace cuda_twin
