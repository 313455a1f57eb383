// PTX: any text is read and decoded, or refused with a line and a reason. Kernels that load are
// launched: they end, or fail.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/program/program.h"
#include "cuda/ptx/parser.h"
#include "cuda_twin/control.h"
#include "cuda_twin/driver.h"

namespace {

using namespace cuda_twin;

/// Ends the run as a finding if a required condition does not hold.
void require(bool condition) {
  if (!condition) std::abort();
}

void require_reason(const ptx::SyntaxError& error, std::size_t bytes) {
  require(error.line >= 1 && error.line <= bytes + 1);
  require(!error.reason.empty() && error.reason.size() < 2000);
}

void require_operand(const Program& program, const FunctionInfo& function, const Arg& arg) {
  if (arg.bank == Bank::kPredicates) require(arg.offset < function.predicates);
  if (arg.bank == Bank::kNone || arg.bank == Bank::kPredicates) return;
  require(arg.bytes == 4 || arg.bytes == 8 || arg.bytes == 16);
  require(arg.offset % 128 == 0);
  const std::size_t end = arg.offset + std::size_t{arg.bytes} * kLanes;
  require(end <=
          (arg.bank == Bank::kConstants ? program.constants.size() : function.register_bytes));
}

/// Every operand is inside of its bank.
void require_program(const Program& program) {
  for (const FunctionInfo& function : program.functions) {
    require(function.first_op <= function.end_op && function.end_op <= program.ops.size());
    for (std::uint32_t i = function.first_op; i < function.end_op; ++i) {
      const Op& op = program.ops[i];
      require(op.run != nullptr);
      require(op.guard == Op::kNoGuard || op.guard < function.predicates);
      for (const Arg& arg : op.args) require_operand(program, function, arg);
      for (std::size_t k = 0; k < op.count_more; ++k) {
        require_operand(program, function, op.more[k]);
      }
    }
  }
}

/// Starts of words, numbers and signs, and the end of the text.
std::vector<std::size_t> token_starts(std::string_view text) {
  std::vector<std::size_t> starts;
  const auto is_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == 0 || !is_name(text[i]) || !is_name(text[i - 1])) starts.push_back(i);
  }
  starts.push_back(text.size());
  return starts;
}

void start_driver() {
  cuda_twin_reset_settings();
  cuda_twin_reset();
  require(cuda_twin_set("CUDA_TWIN_MEMORY", "67108864") == 1);
  require(cuda_twin_set("CUDA_TWIN_FINDINGS", "record") == 1);
  require(cuda_twin_set("CUDA_TWIN_INSTRUCTIONS", "2000") == 1);
  require(cuda_twin_set("CUDA_TWIN_THREADS", "1") == 1);
  require(cuInit(0) == CUDA_SUCCESS);
  CUcontext context = nullptr;
  require(cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
  require(cuCtxSetCurrent(context) == CUDA_SUCCESS);
}

/// One warp of each kernel, whose parameters are zeros. False after an error of the context.
bool launch_all(const Program& program, CUmodule module) {
  std::array<std::byte, 32768> parameters{};
  std::size_t bytes = parameters.size();
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, parameters.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                   &bytes, CU_LAUNCH_PARAM_END};
  for (const KernelInfo& kernel : program.kernels) {
    CUfunction function = nullptr;
    if (cuModuleGetFunction(&function, module, kernel.function.name.c_str()) != CUDA_SUCCESS) {
      continue;
    }
    (void)cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra);
    if (cuCtxSynchronize() != CUDA_SUCCESS) return false;
  }
  return true;
}

/// The driver starts again after an error only: that takes longer than the rest.
void launch(const Program& program, const std::string& text) {
  static bool started = false;
  if (!started) start_driver();
  started = true;
  CUmodule module = nullptr;
  if (cuModuleLoadData(&module, text.c_str()) != CUDA_SUCCESS) return;
  started = launch_all(program, module) && cuModuleUnload(module) == CUDA_SUCCESS;
  cuda_twin_drop_findings();
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* bytes, std::size_t count, std::size_t most);

/// Every other time a token takes the place of another one.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* bytes, std::size_t count,
                                               std::size_t most, unsigned seed) {
  std::minstd_rand random(seed);
  const std::string text(reinterpret_cast<const char*>(bytes), count);
  const std::vector<std::size_t> starts = token_starts(text);
  if (random() % 2 == 0 || starts.size() < 3) return LLVMFuzzerMutate(bytes, count, most);
  const std::size_t to = random() % (starts.size() - 1);
  const std::size_t from = random() % (starts.size() - 1);
  const std::string mutated = text.substr(0, starts[to]) +
                              text.substr(starts[from], starts[from + 1] - starts[from]) +
                              text.substr(starts[random() % 4 == 0 ? to : to + 1]);
  const std::size_t size = std::min(mutated.size(), most);
  std::copy_n(mutated.begin(), size, bytes);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), count);
  const auto parsed = ptx::parse(text);
  if (const auto* error = std::get_if<ptx::SyntaxError>(&parsed)) {
    require_reason(*error, count);
    return 0;
  }
  const auto address_of = [](const std::string& name) -> std::optional<std::uint64_t> {
    if (name.size() % 8 == 7) return std::nullopt;
    return 0x7F0000000000 + name.size() * 256;
  };
  const auto built = build(std::get<ptx::Module>(parsed), std::string(text), address_of);
  if (const auto* error = std::get_if<ptx::SyntaxError>(&built)) {
    require_reason(*error, count);
    return 0;
  }
  const Program& program = *std::get<std::shared_ptr<const Program>>(built);
  require_program(program);
  launch(program, std::string(text));
  return 0;
}
