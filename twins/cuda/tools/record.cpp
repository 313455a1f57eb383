// cuda_twin_record LIBRARY [--compare FILE]: runs single instructions through a driver library and
// writes "instruction inputs -> output" for each lane. The twin is compared
// with the results of a device.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "cuda/include/cuda_twin/driver.h"
#include "cuda/tools/instructions.h"

namespace cuda_twin_record {
namespace {

constexpr unsigned kLanesOfLaunch = 256;

class Library {
 public:
  explicit Library(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {}
  bool is_open() const { return handle_ != nullptr; }
  template <class Function, class... Args>
  CUresult call(const char* name, Args... args) const {
    auto* function = reinterpret_cast<Function*>(dlsym(handle_, name));
    return function == nullptr ? CUDA_ERROR_NOT_FOUND : function(args...);
  }

 private:
  void* handle_;
};
// driver.h renames functions to their versions: the macro's argument is expanded first.
#define RECORD_NAME(NAME) #NAME
#define RECORD_CALL(LIBRARY, NAME, ...) \
  (LIBRARY).call<decltype(NAME)>(RECORD_NAME(NAME) __VA_OPT__(, ) __VA_ARGS__)

constexpr char kDeclarations[] = R"(
.address_size 64
.func (.reg .b32 to) twice(.reg .b32 from) { add.u32 to, from, from; ret; }
.visible .entry record(.param .u64 in, .param .u64 out) {
  .shared .align 16 .b8 slots[512];
  .local .align 4 .b8 own[4];
  .reg .u64 %at;
  .reg .b64 %l<4>;
  .reg .b32 %i, %n, %m, %r<8>;
  .reg .b16 %h<4>;
  .reg .pred %p<4>;
  mov.u32 %i, %tid.x;
  mov.u32 %m, slots;
  mad.lo.u32 %m, %i, 16, %m;
  mov.u32 %n, %ctaid.x;
  mad.lo.u32 %i, %n, 32, %i;
  ld.param.u64 %at, [in];
  mad.wide.u32 %at, %i, 24, %at;
)";

/// Each lane has 8 bytes of each operand.
std::string text_of(const Row& row) {
  std::string text = ".version " + row.version + "\n.target " + row.target + kDeclarations;
  for (std::size_t k = 0; k < row.types.size(); ++k) {
    const std::string type = ".b" + std::to_string(register_bits(row.types[k]));
    const std::string name = std::string("%") + "abc"[k];
    text.append("  .reg ").append(type).append(" ").append(name);
    text.append(";\n  ld.global").append(type).append(" ").append(name);
    text.append(", [%at+").append(std::to_string(8 * k)).append("];\n");
  }
  const std::string out = ".b" + std::to_string(register_bits(row.out));
  const char* const end = row.code.back() == ':' ? "" : ";";
  return text + "  .reg " + out + " %d;\n  " + row.code + end +
         "\n  ld.param.u64 %at, [out];\n  mad.wide.u32 %at, %i, 8, %at;\n  st.global" + out +
         " [%at], %d;\n  ret;\n}\n";
}

std::string in_hex(std::uint64_t value, unsigned bits) {
  char text[20];
  std::snprintf(text, sizeof text, "%0*llx", static_cast<int>(bits / 4),
                static_cast<unsigned long long>(value));
  return text;
}

struct Buffers {
  CUdeviceptr in = 0, out = 0;
};

CUresult launch(const Library& driver, const Row& row, Buffers buffers) {
  const std::string text = text_of(row);
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUresult code = RECORD_CALL(driver, cuModuleLoadData, &module, text.c_str());
  if (code != CUDA_SUCCESS) return code;
  void* args[] = {&buffers.in, &buffers.out};
  code = RECORD_CALL(driver, cuModuleGetFunction, &function, module, "record");
  if (code == CUDA_SUCCESS) {
    code = RECORD_CALL(driver, cuLaunchKernel, function, kLanesOfLaunch / 32, 1u, 1u, 32u, 1u, 1u,
                       0u, CUstream{}, args, static_cast<void**>(nullptr));
  }
  if (code == CUDA_SUCCESS) code = RECORD_CALL(driver, cuCtxSynchronize);
  (void)RECORD_CALL(driver, cuModuleUnload, module);
  return code;
}

/// A line: "instruction inputs -> output".
struct Line {
  std::string text;
  const Row* row = nullptr;
};

/// The lines of one instruction.
std::vector<Line> record(const Library& driver, const Row& row, Buffers buffers) {
  std::vector<std::uint64_t> in(3 * kLanesOfLaunch), out(kLanesOfLaunch);
  for (unsigned k = 0; k < row.types.size(); ++k) {
    const auto operand = values(row.types[k], k, kLanesOfLaunch);
    for (unsigned i = 0; i < kLanesOfLaunch; ++i) in[3 * i + k] = operand[i];
  }
  CUresult code = RECORD_CALL(driver, cuMemcpyHtoD, buffers.in, in.data(), in.size() * 8);
  if (code == CUDA_SUCCESS) {
    code = RECORD_CALL(driver, cuMemcpyHtoD, buffers.out, out.data(), out.size() * 8);
  }
  if (code == CUDA_SUCCESS) code = launch(driver, row, buffers);
  if (code == CUDA_SUCCESS) {
    code = RECORD_CALL(driver, cuMemcpyDtoH, out.data(), buffers.out, out.size() * 8);
  }
  if (code != CUDA_SUCCESS) {
    return {{row.code + " fails with " + std::to_string(static_cast<int>(code)), &row}};
  }
  std::vector<Line> lines;
  for (unsigned i = 0; i < kLanesOfLaunch; ++i) {
    // A lane's result of an instruction of the whole warp depends on its neighbours, too.
    std::string line = row.code + "  #" + std::to_string(i);
    for (unsigned k = 0; k < row.types.size(); ++k) {
      line += " " + in_hex(in[3 * i + k], register_bits(row.types[k]));
    }
    lines.push_back({line + " -> " + in_hex(out[i], register_bits(row.out)), &row});
  }
  return lines;
}

CUresult start(const Library& driver, Buffers* buffers, std::string* title) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  int version = 0;
  char name[128] = "";
  CUresult code = RECORD_CALL(driver, cuInit, 0u);
  if (code == CUDA_SUCCESS) code = RECORD_CALL(driver, cuDeviceGet, &device, 0);
  if (code == CUDA_SUCCESS) code = RECORD_CALL(driver, cuDevicePrimaryCtxRetain, &context, device);
  if (code == CUDA_SUCCESS) code = RECORD_CALL(driver, cuCtxSetCurrent, context);
  if (code == CUDA_SUCCESS) {
    code = RECORD_CALL(driver, cuDeviceGetName, name, static_cast<int>(sizeof name), device);
  }
  if (code == CUDA_SUCCESS) code = RECORD_CALL(driver, cuDriverGetVersion, &version);
  if (code == CUDA_SUCCESS) {
    code = RECORD_CALL(driver, cuMemAlloc, &buffers->in, std::size_t{24} * kLanesOfLaunch);
  }
  if (code == CUDA_SUCCESS) {
    code = RECORD_CALL(driver, cuMemAlloc, &buffers->out, std::size_t{8} * kLanesOfLaunch);
  }
  *title = std::string("# ") + name + ", driver " + std::to_string(version);
  return code;
}

/// Where the output begins; the length of a line without one.
std::size_t output_of(const std::string& line) {
  const std::size_t arrow = line.find("-> ");
  return arrow == std::string::npos ? line.size() : arrow + 3;
}

enum class Equal : std::uint8_t { kBits, kWithin, kNot };

Equal compare(const Line& line, const std::map<std::string, std::string>& known) {
  const std::size_t at = output_of(line.text);
  const auto other = known.find(line.text.substr(0, at));
  if (other == known.end()) return Equal::kNot;
  const std::string ours = line.text.substr(at);
  if (other->second == ours) return Equal::kBits;
  const auto number = [](const std::string& hex) {
    return static_cast<std::uint64_t>(std::strtoull(hex.c_str(), nullptr, 16));
  };
  return are_within(line.row->tolerance, line.row->out, number(ours), number(other->second))
             ? Equal::kWithin
             : Equal::kNot;
}

/// Writes the lines whose output in the file `in` is another one, beyond the tolerance of the
/// instruction. How many.
int compare(const std::vector<Line>& lines, std::ifstream& in) {
  std::map<std::string, std::string> known;  // outputs
  for (std::string line; std::getline(in, line);) {
    const std::size_t at = output_of(line);
    known[line.substr(0, at)] = line.substr(at);
  }
  int different = 0, within = 0;
  for (const Line& line : lines) {
    const Equal equal = compare(line, known);
    if (equal == Equal::kWithin) ++within;
    if (equal != Equal::kNot) continue;
    std::printf("%s\n", line.text.c_str());
    ++different;
  }
  std::fflush(stdout);  // before the summary
  std::fprintf(stderr, "%d of %zu lines differ; %d are equal within a tolerance only\n", different,
               lines.size(), within);
  return different;
}

int run(const char* library, const char* file) {
  std::ifstream recorded;
  if (file != nullptr) {
    recorded.open(file);
    if (!recorded) {
      std::fprintf(stderr, "cuda_twin_record: %s cannot be read\n", file);
      return 1;
    }
  }
  const Library driver(library);
  if (!driver.is_open()) {
    std::fprintf(stderr, "cuda_twin_record: %s\n",
                 dlerror());  // NOLINT(concurrency-mt-unsafe): there is one thread
    return 2;
  }
  Buffers buffers;
  std::string title;
  const CUresult code = start(driver, &buffers, &title);
  if (code != CUDA_SUCCESS) {
    std::fprintf(stderr, "cuda_twin_record: no device: %d\n", static_cast<int>(code));
    return 2;
  }
  const std::vector<Row> all = rows();
  std::vector<Line> lines;
  for (const Row& row : all) {
    for (Line& line : record(driver, row, buffers)) lines.push_back(std::move(line));
  }
  if (file != nullptr) return compare(lines, recorded) == 0 ? 0 : 1;
  std::printf("%s\n", title.c_str());
  for (const Line& line : lines) std::printf("%s\n", line.text.c_str());
  return 0;
}

}  // namespace
}  // namespace cuda_twin_record

int main(int count, char** arguments) {
  const bool compares = count == 4 && std::strcmp(arguments[2], "--compare") == 0;
  if (count != 2 && !compares) {
    std::fprintf(stderr, "usage: cuda_twin_record LIBRARY [--compare FILE]\n");
    return 2;
  }
  return cuda_twin_record::run(arguments[1], compares ? arguments[3] : nullptr);
}
