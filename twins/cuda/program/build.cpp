#include "cuda/program/program.h"

#include <algorithm>

#include "cuda/program/builder.h"

namespace cuda_twin {
namespace {

constexpr std::size_t kAlignment = 64;

/// As the driver reports them: registers of 32 bits of a thread, within the limits of a block.
std::uint32_t registers_of(const FunctionInfo& function, const ptx::Function& source,
                           const KernelInfo& kernel) {
  constexpr std::uint32_t kMost = 255;
  constexpr std::uint32_t kFile = 65536;
  std::uint32_t most = kMost;
  if (source.max_threads[0] != 0 || source.required_threads[0] != 0) {
    most = std::min(most, std::max(kFile / std::max(kernel.max_threads, 1U) / 8 * 8, 16U));
  }
  if (source.max_registers != 0) most = std::min(most, std::max(source.max_registers, 16U));
  return std::clamp(function.register_bytes / (4 * kLanes) + 2, 8U, most);
}

void finish_kernels(const ptx::Module& module, Program& program) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < module.functions.size(); ++i) {
    const bool kernel = module.functions[i].is_kernel && !module.functions[i].is_declaration;
    if (!kernel) continue;
    KernelInfo& info = program.kernels[next++];
    info.function = program.functions[i];
    info.registers = registers_of(info.function, module.functions[i], info);
  }
}

/// The bank begins at a multiple of 64 bytes of the vector.
void align_constants(Program& program) {
  program.constants.insert(program.constants.begin(), kAlignment, std::byte{0});
  const auto address = reinterpret_cast<std::uintptr_t>(program.constants.data());
  const std::size_t shift = (kAlignment - address % kAlignment) % kAlignment;
  std::move(program.constants.begin() + kAlignment, program.constants.end(),
            program.constants.begin() + static_cast<std::ptrdiff_t>(shift));
}

}  // namespace

const std::byte* Program::constant_bank() const {
  const auto address = reinterpret_cast<std::uintptr_t>(constants.data());
  return constants.data() + (kAlignment - address % kAlignment) % kAlignment;
}

namespace {

bool is_fence(const ptx::Instruction& instruction) {
  if (instruction.name == "fence" || instruction.name == "membar") return true;
  return std::any_of(
      instruction.modifiers.begin(), instruction.modifiers.end(), [](const std::string& modifier) {
        return modifier == "acquire" || modifier == "release" || modifier == "acq_rel";
      });
}

bool has_fences(const ptx::Module& module) {
  return std::any_of(module.functions.begin(), module.functions.end(), [](const auto& function) {
    return std::any_of(function.body.begin(), function.body.end(), is_fence);
  });
}

}  // namespace

std::variant<std::shared_ptr<const Program>, ptx::SyntaxError> build(const ptx::Module& module,
                                                                     std::string text,
                                                                     const AddressOf& address_of) {
  auto program = std::make_shared<Program>();
  program->text = std::move(text);
  program->version = module.version;
  program->target = module.target;
  program->has_fences = has_fences(module);
  auto made = Layout::make(module, *program, address_of);
  if (auto* error = std::get_if<ptx::SyntaxError>(&made)) return std::move(*error);
  const Layout& layout = std::get<Layout>(made);
  Builder builder(module, *program, layout);
  for (std::uint32_t i = 0; i < module.functions.size(); ++i) {
    if (auto error = builder.bind(i)) return std::move(*error);
  }
  builder.complete();
  finish_kernels(module, *program);
  align_constants(*program);
  return std::shared_ptr<const Program>(std::move(program));
}

}  // namespace cuda_twin
