// A device of the twin for tests: memory, modules, launches, and one instruction over many lanes.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda_twin/control.h"
#include "cuda_twin/driver.h"

namespace twin_test {

inline std::string name_of(CUresult code) {
  const char* name = nullptr;
  if (cuGetErrorName(code, &name) != CUDA_SUCCESS || name == nullptr) {
    return "code " + std::to_string(static_cast<int>(code));
  }
  return name;
}

/// Fails the test if a call of the driver failed.
inline void expect_success(CUresult code, const char* call) {
  EXPECT_EQ(code, CUDA_SUCCESS) << call << ": " << name_of(code) << ": "
                                << cuda_twin_last_message();
}
#define TWIN_OK(call) ::twin_test::expect_success(call, #call)

/// A fresh twin with the primary context of device 0 current. At the end nothing may be alive,
/// unless the context was lost.
struct Gpu {
  CUdevice device = 0;
  CUcontext context = nullptr;

  explicit Gpu(const char* profile = "h200") {
    cuda_twin_reset_settings();
    cuda_twin_reset();
    EXPECT_EQ(cuda_twin_set("CUDA_TWIN_PROFILE", profile), 1);
    TWIN_OK(cuInit(0));
    TWIN_OK(cuDeviceGet(&device, 0));
    TWIN_OK(cuDevicePrimaryCtxRetain(&context, device));
    TWIN_OK(cuCtxSetCurrent(context));
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu() {
    if (cuCtxSynchronize() == CUDA_SUCCESS) expect_nothing_alive();
    (void)cuCtxSetCurrent(nullptr);
    (void)cuDevicePrimaryCtxRelease(device);
    cuda_twin_reset();
    cuda_twin_reset_settings();
  }

 private:
  static void expect_nothing_alive() {
    for (const cuda_twin_live kind :
         {CUDA_TWIN_DEVICE_ALLOCATIONS, CUDA_TWIN_PINNED_ALLOCATIONS, CUDA_TWIN_REGISTERED_RANGES,
          CUDA_TWIN_MODULES, CUDA_TWIN_STREAMS, CUDA_TWIN_EVENTS, CUDA_TWIN_GRAPHS,
          CUDA_TWIN_GRAPH_EXECS, CUDA_TWIN_RESERVED_RANGES, CUDA_TWIN_PHYSICAL_HANDLES}) {
      EXPECT_EQ(cuda_twin_count_live(kind), 0u) << "kind " << static_cast<int>(kind);
    }
  }
};

/// Device memory of `size` values.
template <class T>
struct Buffer {
  CUdeviceptr address = 0;
  std::size_t size = 0;

  explicit Buffer(std::vector<T> values) : size(values.size()) {
    allocate();
    write(values);
  }
  Buffer(std::size_t n, T fill) : Buffer(std::vector<T>(n, fill)) {}
  /// Memory that nothing was written to.
  static Buffer unwritten(std::size_t n) { return Buffer(n); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (address != 0) (void)cuMemFree(address);
  }
  void write(const std::vector<T>& values) {
    if (!values.empty()) TWIN_OK(cuMemcpyHtoD(address, values.data(), values.size() * sizeof(T)));
  }
  std::vector<T> read() const {
    std::vector<T> values(size);
    if (size != 0) TWIN_OK(cuMemcpyDtoH(values.data(), address, size * sizeof(T)));
    return values;
  }
  std::size_t bytes() const { return size * sizeof(T); }

 private:
  explicit Buffer(std::size_t n) : size(n) { allocate(); }
  void allocate() {
    if (size != 0) TWIN_OK(cuMemAlloc(&address, size * sizeof(T)));
  }
};

/// A module's text: header and body.
inline std::string module(const std::string& body, const char* version = "8.5",
                          const char* target = "sm_90") {
  return std::string(".version ") + version + "\n.target " + target + "\n.address_size 64\n" +
         body + "\n";
}

/// Loads a full text; the error log of the driver's compiler goes to `log`.
inline CUresult load(const std::string& ptx, CUmodule* out, std::string* log = nullptr) {
  std::array<char, 4096> text{};
  std::array<CUjit_option, 2> options = {CU_JIT_ERROR_LOG_BUFFER,
                                         CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void*, 2> values = {text.data(), reinterpret_cast<void*>(text.size())};
  const CUresult code = cuModuleLoadDataEx(out, ptx.c_str(), static_cast<unsigned>(options.size()),
                                           options.data(), values.data());
  text.back() = 0;
  if (log != nullptr) *log = text.data();
  return code;
}

struct Dim {
  unsigned x = 1, y = 1, z = 1;
  Dim(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

/// Loads, launches on the default stream, synchronizes, unloads. `args` point to the parameters'
/// values. The first error.
inline CUresult launch(const std::string& ptx, const char* kernel, Dim grid, Dim block,
                       std::vector<void*> args, unsigned shared = 0, std::string* log = nullptr) {
  CUmodule loaded = nullptr;
  CUresult code = load(ptx, &loaded, log);
  if (code != CUDA_SUCCESS) return code;
  CUfunction function = nullptr;
  code = cuModuleGetFunction(&function, loaded, kernel);
  if (code == CUDA_SUCCESS) {
    code = cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared,
                          nullptr, args.data(), nullptr);
  }
  if (code == CUDA_SUCCESS) code = cuCtxSynchronize();
  (void)cuModuleUnload(loaded);
  return code;
}

namespace detail {

template <class T>
constexpr const char* register_type() {
  static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);
  return sizeof(T) == 8 ? ".b64" : sizeof(T) == 4 ? ".b32" : ".b16";
}
template <class T>
constexpr const char* memory_type() {
  return sizeof(T) == 1 ? ".u8" : register_type<T>();
}
inline std::string input_name(std::size_t index) {
  return std::string("%") + "abcefghijk"[index];
}
/// Ends the last statement with ";", unless it is a block.
inline std::string whole_statements(const std::string& code) {
  const std::size_t last = code.find_last_not_of(" \n\t");
  if (last == std::string::npos || code[last] == ';') return code;
  const std::size_t open = code.rfind('{', last);
  const bool block = code[last] == '}' && code.find(';', open) < last;
  return block ? code : code + ";";
}
template <class T>
std::vector<T> whole_warps(std::vector<T> values, std::size_t count) {
  values.resize(count, values.empty() ? T{} : values.back());
  return values;
}

}  // namespace detail

/// The text of kernel `lanes`: lane i loads element i of each input into %a, %b, %c, %e, %f, ...,
/// executes `code` and stores %d. Registers are untyped, by size (.b16 for bytes). Also declared:
/// %p0..7 .pred, %r0..15 .b32, %h0..15 .b16, %l0..15 .b64, %f0..15 .f32, %g0..15 .f64.
template <class Out, class... In>
std::string frame(const std::string& code, const char* version = "8.5",
                  const char* target = "sm_90") {
  const std::vector<std::string> registers = {detail::register_type<In>()...};
  const std::vector<std::string> memory = {detail::memory_type<In>()...};
  const std::vector<std::size_t> sizes = {sizeof(In)...};
  std::string parameters;
  std::string declarations;
  std::string loads;
  for (std::size_t k = 0; k < registers.size(); ++k) {
    const std::string number = std::to_string(k);
    const std::string name = detail::input_name(k);
    parameters += ".param .u64 in" + number + ", ";
    declarations += "  .reg " + registers[k] + " " + name + ";\n";
    loads += "  ld.param.u64 %at, [in" + number + "];\n  mad.wide.u32 %at, %index, " +
             std::to_string(sizes[k]) + ", %at;\n  ld.global" + memory[k] + " " + name +
             ", [%at];\n";
  }
  const std::string body =
      ".visible .entry lanes(" + parameters + ".param .u64 out) {\n" +
      "  .reg .b64 %at;\n  .reg .b32 %index, %block;\n  .reg .pred %p<8>;\n" +
      "  .reg .b32 %r<16>;\n  .reg .b16 %h<16>;\n  .reg .b64 %l<16>;\n" +
      "  .reg .f32 %f<16>;\n  .reg .f64 %g<16>;\n" + declarations + "  .reg " +
      detail::register_type<Out>() + " %d;\n" +
      "  mov.u32 %index, %tid.x;\n  mov.u32 %block, %ctaid.x;\n" +
      "  mad.lo.u32 %index, %block, 32, %index;\n" + loads + detail::whole_statements(code) +
      "\n  ld.param.u64 %at, [out];\n  mad.wide.u32 %at, %index, " + std::to_string(sizeof(Out)) +
      ", %at;\n  st.global" + detail::memory_type<Out>() + " [%at], %d;\n  ret;\n}\n";
  return module(body, version, target);
}

/// Of a module.
struct Isa {
  const char* version = "8.5";
  const char* target = "sm_90";
};

/// Runs frame() once for each element of the inputs, 32 to a block; 32 elements if there is no
/// input. A failure is one of the test, and gives zeros.
template <class Out, class... In>
std::vector<Out> lanes_of(const Isa& isa, const std::string& code,
                          const std::vector<In>&... inputs) {
  std::size_t count = sizeof...(In) == 0 ? 32 : 0;
  ((count = inputs.size() > count ? inputs.size() : count), ...);
  const std::size_t warps = (count + 31) / 32;
  const std::size_t total = warps * 32;
  auto results = Buffer<Out>::unwritten(total);
  std::string log;
  CUresult result = CUDA_SUCCESS;
  const auto execute = [&](auto&... buffers) {
    std::vector<void*> args = {&buffers.address..., &results.address};
    result = launch(frame<Out, In...>(code, isa.version, isa.target), "lanes",
                    Dim(static_cast<unsigned>(warps)), Dim(32), args, 0, &log);
  };
  const auto with = [&](Buffer<In>&&... buffers) { execute(buffers...); };
  with(Buffer<In>(detail::whole_warps(inputs, total))...);
  if (result != CUDA_SUCCESS) {
    ADD_FAILURE() << code << ": " << name_of(result) << ": " << log << ": "
                  << cuda_twin_last_message() << ": " << cuda_twin_last_fault();
    return std::vector<Out>(count);
  }
  std::vector<Out> values = results.read();
  values.resize(count);
  return values;
}
template <class Out, class... In>
std::vector<Out> lanes(const std::string& code, const std::vector<In>&... inputs) {
  return lanes_of<Out>(Isa{}, code, inputs...);
}

/// The result of loading frame() around `code`. With no types given, %a, %b, %c, %e and %d have 32
/// bits.
template <class Out = std::uint32_t, class... In>
CUresult compile_error(const std::string& code, std::string* log = nullptr) {
  std::string text;
  if constexpr (sizeof...(In) == 0) {
    text = frame<Out, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>(code);
  } else {
    text = frame<Out, In...>(code);
  }
  CUmodule loaded = nullptr;
  const CUresult result = load(text, &loaded, log);
  if (result == CUDA_SUCCESS) (void)cuModuleUnload(loaded);
  return result;
}

}  // namespace twin_test
