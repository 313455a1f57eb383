// The PTX parser: errors with line and reason, and hostile texts.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

#include "support.h"

namespace ptx_test {
namespace {

using twin_test::Gpu;
using twin_test::load;
using twin_test::module;

/// Line 5 of the module is the first of `code`.
std::string kernel(const std::string& code) {
  return module(".visible .entry k(.param .u64 out) {\n" + code + "\n}");
}

struct Loaded {
  CUresult code;
  std::string log;
};

Loaded try_load(const std::string& text) {
  CUmodule loaded = nullptr;
  Loaded result;
  result.code = load(text, &loaded, &result.log);
  if (result.code == CUDA_SUCCESS) TWIN_OK(cuModuleUnload(loaded));
  return result;
}

struct Refusal {
  std::string text;
  unsigned line;
  std::string reason;
};

void expect_refused(const Refusal& refusal) {
  const Loaded loaded = try_load(refusal.text);
  EXPECT_EQ(loaded.code, CUDA_ERROR_INVALID_PTX) << refusal.text;
  EXPECT_NE(loaded.log.find("line " + std::to_string(refusal.line) + ":"), std::string::npos)
      << refusal.text << "\n"
      << loaded.log;
  EXPECT_NE(loaded.log.find(refusal.reason), std::string::npos) << refusal.text << "\n"
                                                                << loaded.log;
}

constexpr const char* kRegisters =
    ".reg .b32 %r<8>; .reg .b64 %d<8>; .reg .f32 %f<8>; .reg .b16 %h<8>; .reg .pred %p<8>;\n";

/// `code` is line 6 and those after it, behind registers %r %d %f %h %p.
Refusal in_kernel(const std::string& code, unsigned line, const std::string& reason) {
  return {kernel(kRegisters + code), line, reason};
}

TEST(PtxRefusals, Header) {
  const Gpu gpu;
  EXPECT_EQ(try_load("").code, CUDA_ERROR_INVALID_IMAGE);
  expect_refused({" ", 1, "expected \".version\""});
  expect_refused({".target sm_80\n", 1, "expected \".version\""});
  expect_refused({".version seven\n.target sm_80\n", 1, "a version such as 7.0"});
  expect_refused({".version 7.0\n\n.address_size 64\n", 3, "expected \".target\""});
  expect_refused({".version 7.0\n.target sm_eighty\n", 2, "sm_eighty is no target"});
  expect_refused({".version 7.0\n.target debug\n", 2, "debug is no target"});
  expect_refused({".version 7.0\n.target sm_80\n.address_size 32\n", 3, "only .address_size 64"});
}

TEST(PtxRefusals, ModuleScope) {
  const Gpu gpu;
  expect_refused({module("\n.global .u32 a, b, a;"), 5, "a is declared twice"});
  expect_refused({module(".global .u32 a[];"), 4, "a needs an array size"});
  expect_refused({module(".global a;"), 4, "a type"});
  expect_refused({module(".global .u32 .f32 a;"), 4, ".f32 has no place"});
  expect_refused({module(".global .align 3 .u32 a;"), 4, "power of two"});
  expect_refused({module(".global .pred a;"), 4, "predicates are registers"});
  expect_refused({module(".reg .u32 a;"), 4, ".reg has no place outside of functions"});
  expect_refused({module(".local .u32 a;"), 4, ".local has no place outside of functions"});
  expect_refused({module(".alias a, b;"), 4, "a is no function"});
  expect_refused(
      {module(".func a();\n.func b();\n.alias a, b;"), 6, "b is no function with a body"});
  expect_refused({module(".func a(.reg .u32 x);\n.func b() { ret; }\n.alias a, b;"), 6,
                  "a differs from its declaration"});
  expect_refused({module(".shared .u32 a = 3;"), 4, "only .global and .const"});
  expect_refused({module(".global .u32 a = 3.5;"), 4, "a float as its initial value"});
  expect_refused({module(".global .u64 a = b;"), 4, "b is not declared"});
  expect_refused({module(".global .u32 a[2] = {1, 2, 3};"), 4, "more initial values"});
  expect_refused({module(".global .u32 a[2] = {{1}, 2};"), 4, "more braces"});
  expect_refused({module(".global .u16 b;\n.global .u16 a = b;"), 5, "needs a variable of 64"});
  expect_refused({module(".global .u32 a = 1 / (2 - 2);"), 4, "divides by zero"});
  expect_refused({module(".global .u32 a = 18446744073709551616;"), 4, "exceeds 64 bits"});
  expect_refused({module(".global .u32 a = 09;"), 4, "is malformed"});
  expect_refused({module(".global .f32 a = 0f3F80;"), 4, "needs 8 hexadecimal digits"});
  expect_refused({module(".func f() { ret; }\n.func f() { ret; }"), 5, "defined twice"});
  expect_refused({module(".func f(.param .b32 a);\n.func f(.param .b64 a) { ret; }"), 5,
                  "differs from its declaration"});
  expect_refused({module(".entry (.param .b32 r) k() { ret; }"), 4, "a kernel has no results"});
  expect_refused({module(".entry k(.param .u32 a, .param .u32 a) { ret; }"), 4, "declared twice"});
  expect_refused({module(".entry k() .maxntid 0 { ret; }"), 4, "a dimension must be 1"});
  expect_refused({module(".entry k() .fast { ret; }"), 4, ".fast is no directive"});
  expect_refused({module("hello"), 4, "expected a directive before \"hello\""});
  expect_refused({module("\n\n/* no end"), 6, "comment without an end"});
  expect_refused({module(".file 1 \"no end\n"), 4, "string without an end"});
  expect_refused({module(".global .u32 \xc3\xa4;"), 4, "the name of a variable"});
}

TEST(PtxRefusals, NamesInFunctions) {
  const Gpu gpu;
  expect_refused(in_kernel(".reg .b32 %r3;", 6, "%r3 is declared twice"));
  expect_refused(in_kernel(".reg .b32 %x2;\n.reg .b64 %x<3>;", 7, "%x<3> is declared twice"));
  expect_refused(in_kernel(".reg .b32 %r<2>;", 6, "is declared twice"));
  expect_refused(in_kernel("add.u32 %r1, %r2, %r8;", 6, "%r8 is not declared"));
  expect_refused(in_kernel("\nmov.u32 %r1, %tid.q;", 7, "%tid.q is not declared"));
  expect_refused(in_kernel("mov.u32 %r1, nothing;", 6, "nothing is not defined"));
  expect_refused(in_kernel("\nbra MISSING;", 7, "MISSING is not defined in function k"));
  expect_refused(in_kernel("{ bra INNER; }\n{ INNER: ret; }", 6, "INNER is not defined"));
  expect_refused(in_kernel("A: ret;\nA: ret;", 7, "A is declared twice"));
  expect_refused(in_kernel("@%r1 bra A; A:", 6, "the guard %r1 is no predicate"));
  expect_refused(in_kernel("@%q bra A; A:", 6, "%q is not declared"));
  expect_refused(in_kernel("bra %r1;", 6, "bra:"));
  expect_refused(in_kernel("bra out;", 6, "out is no label"));
  expect_refused(in_kernel("call nowhere;", 6, "nowhere"));
  expect_refused(in_kernel("{ .reg .b32 %in; }\nmov.b32 %r1, %in;", 7, "%in is not declared"));
  // A label of another function, before it and after it.
  const std::string other = ".func f() {\nTHERE: ret;\n}\n";
  const std::string jumps = ".entry k() {\nbra THERE;\n}\n";
  expect_refused({module(other + jumps), 8, "THERE is not defined in function k"});
  expect_refused({module(jumps + other), 5, "THERE is not defined in function k"});
}

TEST(PtxRefusals, Instructions) {
  const Gpu gpu;
  expect_refused(in_kernel("\n\nfrobnicate.u32 %r1, %r2;", 8, "frobnicate.u32: "));
  expect_refused(in_kernel("add.u33 %r1, %r2, %r3;", 6, "add.u33: "));
  expect_refused(in_kernel("add.u32 %r1, %r2;", 6, "add.u32: "));
  expect_refused(in_kernel("add.u32 %r1, %r2, %r3, %r4;", 6, "add.u32: "));
  expect_refused(in_kernel("add.u32.fast %r1, %r2, %r3;", 6, "add.u32.fast: "));
  expect_refused(in_kernel("add.u32 %r1, %r2 %r3;", 6, "expected \";\" before \"%r3\""));
  expect_refused(in_kernel("add.u32 %r1, %r2, ;", 6, "expected an operand before \";\""));
  expect_refused(in_kernel("add.u32 5, %r2, %r3;", 6, "the destination must be a register"));
  expect_refused(in_kernel("add.u32 %r1, [%d1], %r3;", 6, "add.u32: "));
  expect_refused(in_kernel("ld.global.u32 %r1, %d1;", 6, "an address in brackets"));
  expect_refused(in_kernel("ld.global.u32 %r1, [%f1];", 6, "the base %f1 of an address is .f32"));
  expect_refused(in_kernel("ld.global.u32 %r1, [%h1];", 6, "the base %h1 of an address is .b16"));
  expect_refused(in_kernel("ld.global.u32 %r1, [out];", 6, "out is not in .global"));
  expect_refused(in_kernel("ld.shared.u32 %r1, [k];", 6, "k is no variable"));
}

/// A reason names the first 80 characters.
TEST(PtxRefusals, LongNamesAreCut) {
  const Gpu gpu;
  const std::string name(10000, 'n');
  const std::string reg = "%r" + name;
  const std::string plain = kRegisters;
  const std::string registers = plain + ".reg .f32 " + reg + ";\n.shared .b32 v" + name + ";\n";
  const std::string frame = ".local .b8 big[600000];";
  for (const std::string& text :
       {module(".entry " + name + "() { " + frame + " ret; }"),
        module(".func " + name + "() { " + frame + " ret; }"),
        module(".entry " + name + "(.param .b8 a[100000]) { ret; }"),
        module(".entry " + name + "() { .shared .b8 s[60000]; ret; }"),
        module(".extern .global .u32 " + name + ";\n.entry k() { .reg .b64 d; mov.b64 d, " + name +
               "; }"),
        module(".func " + name + "();\n.entry k() { call " + name + "; }"),
        module(".entry " + name + "() { ret; }\n.entry k() { call " + name + "; }"),
        kernel(registers + "add.u32 %r1, " + reg + ", 1;"),
        kernel(registers + "add.u32 %r1, " + reg + "+1, 1;"),
        kernel(registers + "mov.b16 %h1, v" + name + ";"),
        kernel(registers + "bra v" + name + ";"),
        kernel(registers + "ld.global.u32 %r1, [v" + name + "];"),
        kernel(registers + "ld.global.u32 %r1, [" + reg + "];"),
        kernel(registers + "cvta.global.u64 %d1, v" + name + ";"),
        kernel(registers + "call (%r1), %d1, (v" + name + "), v" + name + ";"),
        kernel(plain + "call " + name + ";"),
        kernel(plain + "bra " + name + ";"),
        kernel(plain + "call %d1, T" + name + ";"),
        kernel(plain + "mov.u32 %r1, %" + name + ";"),
        kernel(plain + "add." + name + " %r1, %r2, %r3;"),
        kernel(plain + "add.u32." + name + " %r1, %r2, %r3;"),
        kernel(plain + "set." + name + ".u32.u32 %r1, %r2, %r3;"),
        kernel(plain + "mma.sync.aligned." + name + ".row.col.f32.f16.f16.f32 %r1, %r2;"),
        kernel(kRegisters + name + ".u32 %r1, %r2;")}) {
    const Loaded loaded = try_load(text);
    EXPECT_EQ(loaded.code, CUDA_ERROR_INVALID_PTX) << text.substr(0, 300);
    EXPECT_LT(loaded.log.size(), 500u) << text.substr(0, 300) << "\n" << loaded.log;
  }
}

TEST(PtxRefusals, TypesOfOperands) {
  const Gpu gpu;
  expect_refused(in_kernel("add.u32 %r1, %r2, %d3;", 6, "%d3 is .b64 where .u32 is needed"));
  expect_refused(in_kernel("add.u64 %d1, %d2, %r3;", 6, "%r3 is .b32 where .u64 is needed"));
  expect_refused(in_kernel("add.u32 %r1, %r2, %f3;", 6, "%f3 is .f32 where .u32 is needed"));
  expect_refused(in_kernel("add.u16 %h1, %h2, %r3;", 6, "%r3 is .b32 where .u16 is needed"));
  expect_refused(in_kernel(".reg .s32 %i;\nadd.f32 %f1, %f2, %i;", 7, "%i is .s32 where .f32"));
  expect_refused(in_kernel("add.u32 %r1, %r2, %p3;", 6, "%p3 is .pred where .u32 is needed"));
  expect_refused(in_kernel("add.f32 %f1, %f2, 1;", 6, "the constant is none of type .f32"));
  expect_refused(in_kernel("add.u32 %r1, %r2, 1.0;", 6, "the constant is none of type .u32"));
  expect_refused(in_kernel("add.u32 %r1, %r2, %tid.x;", 6, "only mov and cvt read %tid.x"));
  expect_refused(in_kernel("mov.u64 %d1, %tid.x;", 6, "%tid.x is .u32 where .u64"));
  expect_refused(in_kernel("selp.b32 %r1, %r2, %r3, %r4;", 6, "%r4 is .b32 where .pred is needed"));
  expect_refused(in_kernel("mov.u32 %r1, k;", 6, "the address of a function has 64 bits"));
}

TEST(PtxRefusals, VectorWidths) {
  const Gpu gpu;
  expect_refused(in_kernel("ld.global.v4.u32 {%r1, %r2, %r3}, [%d1];", 6, "a vector of 4"));
  expect_refused(in_kernel("ld.global.v2.u32 {%r1, %r2, %r3}, [%d1];", 6, "a vector of 2"));
  expect_refused(in_kernel("ld.global.v2.u32 %r1, [%d1];", 6, "a vector of 2"));
  expect_refused(in_kernel("ld.global.u32 {%r1, %r2}, [%d1];", 6, "ld.global.u32: "));
  expect_refused(in_kernel("ld.global.v3.u32 {%r1, %r2, %r3}, [%d1];", 6, "ld.global.v3.u32: "));
  expect_refused(in_kernel("ld.global.v4.u64 {%d1, %d2, %d3, %d4}, [%d1];", 6, "ld.global.v4.u64"));
  expect_refused(in_kernel("ld.global.v2.u32 {%r1, %d2}, [%d1];", 6, "ld.global.v2.u32: "));
  expect_refused({module(".global .v4 .f64 a;"), 4, "at most 128 bits"});
}

TEST(PtxRefusals, VersionAndTarget) {
  const Gpu gpu;
  const std::string code =
      ".visible .entry k() { .reg .b32 %r<4>;\nredux.sync.add.s32 %r1, %r2, -1;\n}";
  expect_refused({module(code, "6.5", "sm_75"), 5, "needs .version 7.0"});
  expect_refused({module(code, "7.0", "sm_75"), 5, "needs .target sm_80"});
  EXPECT_EQ(try_load(module(code, "7.0", "sm_80")).code, CUDA_SUCCESS);
  const std::string special = ".visible .entry k() { .reg .b32 %r<4>;\nmov.u32 %r1, %REG;\n}";
  std::string rank = special;
  rank.replace(rank.find("%REG"), 4, "%cluster_ctarank");
  expect_refused({module(rank, "7.7", "sm_86"), 5, "needs .version 7.8"});
  expect_refused({module(rank, "7.8", "sm_80"), 5, "needs .target sm_90"});
  EXPECT_EQ(try_load(module(rank, "7.8", "sm_90")).code, CUDA_SUCCESS);
}

/// From the release notes of the PTX document: the version before the first one that has the
/// target, and that one.
TEST(PtxVersions, TargetsNeedTheirVersion) {
  struct Row {
    const char* target;
    const char* before;
    const char* first;
  };
  for (const Row& row :
       {Row{"sm_70", "5.0", "6.0"}, Row{"sm_72", "6.0", "6.1"}, Row{"sm_75", "6.2", "6.3"},
        Row{"sm_80", "6.5", "7.0"}, Row{"sm_86", "7.0", "7.1"}, Row{"sm_87", "7.3", "7.4"},
        Row{"sm_89", "7.7", "7.8"}, Row{"sm_90", "7.7", "7.8"}, Row{"sm_90a", "7.8", "8.0"},
        Row{"sm_100", "8.5", "8.6"}, Row{"sm_100a", "8.5", "8.6"}, Row{"sm_100f", "8.7", "8.8"},
        Row{"sm_103", "8.7", "8.8"}, Row{"sm_110", "8.8", "9.0"}, Row{"sm_120", "8.6", "8.7"},
        Row{"sm_121a", "8.7", "8.8"}}) {
    const Gpu gpu;
    const std::string body = ".visible .entry k() { ret; }";
    expect_refused(
        {module(body, row.before, row.target), 2, std::string("needs .version ") + row.first});
    const CUresult first = try_load(module(body, row.first, row.target)).code;
    EXPECT_TRUE(first == CUDA_SUCCESS || first == CUDA_ERROR_NO_BINARY_FOR_GPU) << row.target;
  }
}

TEST(PtxVersions, TargetsAreArchitecturesAndOptions) {
  const Gpu gpu;
  const std::string body = ".visible .entry k() { ret; }";
  for (const char* target :
       {"sm_83", "sm_90f", "sm_80a", "sm_80, foo", "texmode_unified", "debug, sm_80"}) {
    expect_refused({module(body, "9.0", target), 2, "is no target"});
  }
  EXPECT_EQ(try_load(module(body, "9.0", "sm_80, texmode_unified")).code, CUDA_SUCCESS);
  // Runs on devices that have the features of the last one.
  EXPECT_EQ(try_load(module(body, "9.0", "sm_120, sm_80")).code, CUDA_ERROR_NO_BINARY_FOR_GPU);
}

/// The newest PTX of each driver, from the release notes of the CUDA toolkits.
TEST(PtxVersions, NewerThanTheDriverIsUnsupported) {
  struct Row {
    const char* driver;
    const char* newest;
    const char* newer;
  };
  for (const Row& row :
       {Row{"11000", "7.0", "7.1"}, Row{"11040", "7.4", "7.5"}, Row{"11080", "7.8", "8.0"},
        Row{"12000", "8.0", "8.1"}, Row{"12050", "8.5", "8.6"}, Row{"12060", "8.5", "8.6"},
        Row{"12090", "8.8", "9.0"}, Row{"13000", "9.0", "9.1"}}) {
    const Gpu gpu;
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_DRIVER", row.driver), 1) << row.driver;
    const std::string body = ".visible .entry k() { ret; }";
    EXPECT_EQ(try_load(module(body, row.newest, "sm_70")).code, CUDA_SUCCESS) << row.driver;
    const Loaded newer = try_load(module(body, row.newer, "sm_70"));
    EXPECT_EQ(newer.code, CUDA_ERROR_UNSUPPORTED_PTX_VERSION) << row.driver;
    EXPECT_NE(newer.log.find(row.newer), std::string::npos) << newer.log;
  }
}

// --- Hostile texts

/// Uses most of the grammar, one thing a line.
const std::string& sample() {
  static const std::string text = module(R"(
.extern .shared .align 16 .b8 dynamic[];
.visible .global .align 4 .u32 counter = 7;
.const .u64 table[] = {counter, generic(counter)+8, 0x10U, 017, 0b101};
.global .b8 bytes[6] = {0xFF(counter), 0xFF00(counter), 1, 2};
.func (.param .b32 sum) total (.param .b32 n)
{
  .reg .b32 %r<4>;
  .reg .pred %p;
  ld.param.u32 %r1, [n];
  setp.eq.u32 %p, %r1, 0;
  @%p bra DONE;
  sub.u32 %r2, %r1, 1;
  {
    .param .b32 a;
    .param .b32 b;
    st.param.b32 [a+0], %r2;
    call.uni (b), total, (a);
    ld.param.b32 %r2, [b];
  }
  add.u32 %r1, %r1, %r2;
DONE:
  st.param.b32 [sum], %r1;
  ret;
}
.visible .entry k (.param .u64 out)
.maxntid 128, 1, 1
{
  .local .align 8 .b8 __local_depot0[16];
  .reg .b64 %rd<4>;
  .reg .f32 %f<3>;
  .reg .pred %p<3>;
  .reg .b32 %r<9>;
  .loc 1 3 0
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  setp.lt.and.u32 %p1|%p2, %r1, 16, !%p0;
  mov.f32 %f1, 0f3F800000;
  add.rn.f32 %f2, %f1, 2.5;
  @!%p1 bra $L__end;
  shfl.sync.bfly.b32 %r4|%p1, %r3, 1, 31, -1;
  {
    .reg .b32 %r1;
    mov.u32 %r1, dynamic;
    bra inner;
inner:
  }
  st.global.v2.u32 [%rd1+-16], {%r1, %r2};
$L__end:
  ret;
}
)");
  return text;
}

/// Every 8 bytes of the parameters are the address of 256 bytes.
CUresult launch_one_warp(CUfunction function) {
  CUdeviceptr memory = 0;
  TWIN_OK(cuMemAlloc(&memory, 256));
  std::vector<CUdeviceptr> parameters(4096, memory);
  std::size_t bytes = parameters.size() * sizeof parameters[0];
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, parameters.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                   &bytes, CU_LAUNCH_PARAM_END};
  CUresult code = cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra);
  if (code == CUDA_SUCCESS) code = cuCtxSynchronize();
  if (code == CUDA_SUCCESS) code = cuMemFree(memory);
  return code;
}

/// A text that loads can be launched: its kernel ends, or fails with a reason. The number of
/// launches so far is in `launches`.
void expect_launch_ends(const std::string& text, unsigned& launches) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  TWIN_OK(load(text, &module));
  if (cuModuleGetFunction(&function, module, "k") != CUDA_SUCCESS) {
    TWIN_OK(cuModuleUnload(module));
    return;
  }
  ++launches;
  const CUresult code = launch_one_warp(function);
  if (code == CUDA_SUCCESS) {
    TWIN_OK(cuModuleUnload(module));
    return;
  }
  EXPECT_NE(std::string(cuda_twin_last_message()) + cuda_twin_last_fault(), "") << text;
  EXPECT_NE(code, CUDA_ERROR_UNKNOWN) << text;
  // The reset ends the memory and the module.
  CUcontext context = nullptr;
  TWIN_OK(cuDevicePrimaryCtxReset(0));
  TWIN_OK(cuDevicePrimaryCtxRetain(&context, 0));
  TWIN_OK(cuCtxSetCurrent(context));
}

void expect_run_or_refused(const std::string& text, unsigned& launches) {
  const Loaded loaded = try_load(text);
  if (loaded.code == CUDA_SUCCESS) return expect_launch_ends(text, launches);
  EXPECT_TRUE(loaded.code == CUDA_ERROR_INVALID_PTX ||
              loaded.code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ||
              loaded.code == CUDA_ERROR_NO_BINARY_FOR_GPU)
      << loaded.code << "\n"
      << text;
  const bool has_line =
      loaded.log.rfind("line ", 0) == 0 && loaded.log.find(": error: ") != std::string::npos;
  EXPECT_EQ(has_line, loaded.code != CUDA_ERROR_NO_BINARY_FOR_GPU) << loaded.log << "\n" << text;
  EXPECT_FALSE(loaded.log.empty()) << text;
}

TEST(PtxHostile, TheSampleLoads) {
  const Gpu gpu;
  const Loaded loaded = try_load(sample());
  EXPECT_EQ(loaded.code, CUDA_SUCCESS) << loaded.log;
}

TEST(PtxHostile, CutAtEveryLine) {
  const Gpu gpu;
  unsigned launches = 0;
  cuda_twin_set("CUDA_TWIN_INSTRUCTIONS", "10000");
  for (std::size_t at = sample().find('\n'); at != std::string::npos;
       at = sample().find('\n', at + 1)) {
    const std::string cut = sample().substr(0, at);
    const std::string rest = sample().substr(at);
    const Loaded loaded = try_load(cut);
    const auto count = [](const std::string& text, char c) {
      return std::count(text.begin(), text.end(), c);
    };
    const bool open = count(cut, '{') != count(cut, '}');
    EXPECT_EQ(loaded.code == CUDA_ERROR_INVALID_PTX, open || loaded.code != CUDA_SUCCESS) << cut;
    expect_run_or_refused(cut, launches);
    expect_run_or_refused(sample().substr(0, 60) + rest, launches);
  }
}

/// Start and end of every word, number and sign.
std::vector<std::pair<std::size_t, std::size_t>> tokens(const std::string& text) {
  std::vector<std::pair<std::size_t, std::size_t>> result;
  const auto is_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
  };
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (is_name(text[i])) {
      while (end < text.size() && is_name(text[end])) ++end;
    }
    if (std::isspace(static_cast<unsigned char>(text[i])) == 0) result.emplace_back(i, end - i);
    i = end;
  }
  return result;
}

TEST(PtxHostile, EveryTokenReplaced) {
  const Gpu gpu;
  unsigned launches = 0;
  cuda_twin_set("CUDA_TWIN_INSTRUCTIONS", "10000");
  for (const auto& [at, length] : tokens(sample())) {
    for (const char* other : {"", ";", "{", "}", "(", "[", "%r1", "%rd1", "%p1", "k", "5", "-1",
                              ".v4", ".u64", "0xffffffffffffffff", "1e999", "@", "\"", "/*"}) {
      std::string text = sample();
      text.replace(at, length, other);
      expect_run_or_refused(text, launches);
    }
  }
  EXPECT_GT(launches, 100u);
}

TEST(PtxHostile, TenThousandRegisters) {
  const Gpu gpu;
  constexpr unsigned kCount = 10000;
  std::ostringstream code;
  code << ".visible .entry k(.param .u64 out) {\n.reg .b32 %r<" << kCount
       << ">;\n.reg .b64 %d;\nld.param.u64 %d, [out];\n";
  // All are alive at once: written in order, read in order.
  for (unsigned i = 0; i < kCount; ++i) {
    code << "ld.global.u32 %r" << i << ", [%d+" << 4 * (i % 64) << "];\n";
  }
  for (unsigned i = 1; i < kCount; ++i) {
    code << "mad.lo.u32 %r0, %r0, 3, %r" << i << ";\n";
  }
  code << "st.global.u32 [%d], %r0;\nret;\n}\n";
  std::vector<std::uint32_t> values(64);
  for (std::uint32_t i = 0; i < 64; ++i) values[i] = 1000 + i * i;
  std::uint32_t expected = values[0];
  for (unsigned i = 1; i < kCount; ++i) expected = expected * 3 + values[i % 64];
  twin_test::Buffer<std::uint32_t> buffer(values);
  TWIN_OK(twin_test::launch(module(code.str()), "k", 1, 1, {&buffer.address}));
  EXPECT_EQ(buffer.read()[0], expected);
}

TEST(PtxHostile, HugeVariables) {
  const Gpu gpu;
  EXPECT_NE(try_load(module(".global .b8 a[4000000000000];")).code, CUDA_SUCCESS);
  expect_refused({module(".const .b8 a[1000000000];"), 4, "too much constant memory"});
  expect_refused({module(".global .b32 a[1000000000][1000000000];"), 4, "is too large"});
  expect_refused({module(".global .b32 a[99999999999999];"), 4, "an array size must be"});
  expect_refused(
      {module(".global .b8 a[2][1000000000] = {{1}, {1}};"), 4, "initial values exceed"});
  const std::string use =
      ".visible .entry k() { .reg .b32 %r;\n.AREA .b8 a[1000000000];\n"
      "st.AREA.u32 [a], %r;\nret; }";
  const auto in = [&](const std::string& area) {
    std::string text = use;
    for (std::size_t at; (at = text.find("AREA")) != std::string::npos;) text.replace(at, 4, area);
    return module(text);
  };
  expect_refused({in("shared"), 4, "uses too much shared memory"});
  expect_refused({in("local"), 4, "the stack frame"});
  expect_refused({module(".entry k(.param .b8 a[100000]) { ret; }"), 4, "parameters of k exceed"});
}

std::string repeated(const std::string& text, std::size_t count) {
  std::string result;
  result.reserve(text.size() * count);
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

TEST(PtxHostile, DeepNesting) {
  const Gpu gpu;
  constexpr std::size_t kDeep = 100000;
  expect_refused({module(".global .u32 a = " + repeated("(", kDeep)), 4, "nested too deeply"});
  expect_refused({module(".global .u32 a = " + repeated("-", kDeep)), 4, "nested too deeply"});
  expect_refused({module(".global .u32 a = " + repeated("1 ? ", kDeep)), 4, "nested too deeply"});
  expect_refused({module(".global .u32 a[9] = " + repeated("{", kDeep)), 4, "more braces"});
  expect_refused(in_kernel(repeated("{", kDeep), 6, "nested too deeply"));
  expect_refused(in_kernel("mov.b32 %r1, " + repeated("{", kDeep), 6, "nested too deeply"));
  expect_refused(in_kernel("call " + repeated("(", kDeep), 6, "nested too deeply"));
  expect_refused(in_kernel("ld.u32 %r1, " + repeated("[%d1, ", kDeep), 6, "nested too deeply"));
  expect_refused(in_kernel("mov.b32 {" + repeated("%r1, ", kDeep), 6, "too many operands"));
  expect_refused(in_kernel("mov.b32 " + repeated("%r1, ", kDeep), 6, "too many operands"));
  expect_refused({module(".global .u32 a" + repeated("[1]", kDeep) + ";"), 4, "16 dimensions"});
}

TEST(PtxHostile, ManyOfEverythingLoads) {
  const Gpu gpu;
#ifdef __SANITIZE_ADDRESS__
  constexpr std::size_t kMany = 5000;
#else
  constexpr std::size_t kMany = 20000;
#endif
  expect_refused(in_kernel(".reg .b32 %x<4000000000>;", 6, "too many registers"));
  expect_refused(in_kernel(repeated(".reg .b32 %ab<1000000>;\n{", 3), 7, "registers"));
  std::ostringstream labels;
  for (std::size_t i = 0; i < kMany; ++i) {
    // All registers live through all blocks.
    labels << "L" << i << ": @%p" << i % 8 << " bra L" << (i * 7919) % kMany << ";\nadd.u32 %s" << i
           << ", %s" << (i * 31) % kMany << ", 1;\n";
  }
  const std::string many = ".reg .b32 %s<" + std::to_string(kMany) + ">;\n";
  const Loaded branches = try_load(kernel(kRegisters + many + labels.str()));
  EXPECT_EQ(branches.code, CUDA_SUCCESS) << branches.log;
  std::ostringstream chain;
  for (std::size_t i = 0; i < kMany; ++i) {
    chain << ".func f" << i << "() { ";
    if (i > 0) chain << "call f" << i - 1 << ";";
    chain << " ret; }\n.entry k" << i << "() { call f" << i << "; ret; }\n";
  }
  const Loaded calls = try_load(module(chain.str()));
  EXPECT_EQ(calls.code, CUDA_SUCCESS) << calls.log;
}

/// Short texts that stand for much.
TEST(PtxHostile, ListsOfTargetsAreBounded) {
  const Gpu gpu;
  const std::string ranges = repeated("a<1048576>, ", 1000);
  for (const char* kind : {"branchtargets", "calltargets"}) {
    expect_refused(in_kernel("T: ." + std::string(kind) + " " + ranges + "b;", 6, "lists of"));
  }
  const std::string name(std::size_t{1} << 20, 'a');
  expect_refused(in_kernel("T: .branchtargets " + name + "<1000>;", 6, "lists of targets exceed"));
}

TEST(PtxHostile, ManyBranchesThroughOneListAreRefused) {
  const Gpu gpu;
  constexpr std::size_t kMany = 2000;
  std::ostringstream code;
  code << "T: .branchtargets L<" << kMany << ">;\n";
  for (std::size_t i = 0; i < kMany; ++i) code << "L" << i << ": brx.idx %r1, T;\n";
  const Loaded many = try_load(kernel(kRegisters + code.str()));
  EXPECT_EQ(many.code, CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(many.log.find("brx instructions of the module have more than"), std::string::npos)
      << many.log;
}

TEST(PtxHostile, ManyCallsShareAListOfTargets) {
  const Gpu gpu;
  constexpr std::size_t kMany = 4000;
  std::ostringstream text;
  for (std::size_t i = 0; i < kMany; ++i) text << ".func f" << i << "() { ret; }\n";
  text << ".global .u64 table[" << kMany << "] = {f0";
  for (std::size_t i = 1; i < kMany; ++i) text << ", f" << i;
  text << "};\n.entry k() {\n.reg .b64 %f;\nmov.b64 %f, f7;\nT: .calltargets f<" << kMany << ">;\n";
  for (std::size_t i = 0; i < kMany; ++i)
    text << "call %f, " << (i % 2 == 0 ? "T" : "table") << ";\n";
  const Loaded loaded = try_load(module(text.str() + "ret;\n}\n"));
  EXPECT_EQ(loaded.code, CUDA_SUCCESS) << loaded.log;
}

TEST(PtxHostile, AliasesDoNotCopyTheirFunction) {
  const Gpu gpu;
  constexpr std::size_t kMany = 3000;
  std::ostringstream text;
  for (std::size_t i = 0; i < kMany; ++i) text << ".func a" << i << "();\n";
  text << ".func f() {\n.reg .b32 %r;\n" << repeated("add.u32 %r, %r, 1;\n", kMany) << "ret;\n}\n";
  for (std::size_t i = 0; i < kMany; ++i) text << ".alias a" << i << ", f;\n";
  const Loaded loaded = try_load(module(text.str()));
  EXPECT_EQ(loaded.code, CUDA_SUCCESS) << loaded.log;
}

TEST(PtxHostile, VariablesOfAFunctionWithALongName) {
  const Gpu gpu;
  std::ostringstream text;
  text << ".func " << std::string(std::size_t{1} << 20, 'f') << "() {\n.global .u32 x0";
  for (std::size_t i = 1; i < 2000; ++i) text << ", x" << i;
  const Loaded loaded = try_load(module(text.str() + ";\nret;\n}\n"));
  EXPECT_EQ(loaded.code, CUDA_SUCCESS) << loaded.log;
}

/// Bytes of memory that the process has in use.
std::size_t resident_bytes() {
  std::ifstream status("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  status >> all >> resident;
  return resident * 4096;
}

TEST(PtxHostile, ALargeVariableTakesMemoryOnlyWhereItIsUsed) {
  const Gpu gpu;
  const std::size_t before = resident_bytes();
  CUmodule loaded = nullptr;
  CUfunction function = nullptr;
  TWIN_OK(load(module(".visible .global .align 8 .b8 a[100000000000] = {5, 6, 7};\n"
                      ".visible .entry k(.param .u64 out) {\n  .reg .b32 %r<4>;\n"
                      "  .reg .b64 %d;\n  ld.param.u64 %d, [out];\n"
                      "  ld.global.u32 %r0, [a];\n  ld.global.u32 %r1, [a+50000000000];\n"
                      "  st.global.u32 [a+99999999996], 9;\n"
                      "  ld.global.u32 %r2, [a+99999999996];\n"
                      "  st.global.v2.u32 [%d], {%r0, %r1};\n  st.global.u32 [%d+8], %r2;\n"
                      "  ret;\n}\n"),
               &loaded));
  TWIN_OK(cuModuleGetFunction(&function, loaded, "k"));
  CUdeviceptr variable = 0;
  std::size_t bytes = 0;
  TWIN_OK(cuModuleGetGlobal(&variable, &bytes, loaded, "a"));
  EXPECT_EQ(bytes, 100000000000u);
  {
    const twin_test::Buffer<std::uint32_t> out(3, 1u);
    std::uint64_t address = out.address;
    void* arguments[] = {&address};
    TWIN_OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
    EXPECT_EQ(out.read(), (std::vector<std::uint32_t>{0x00070605, 0, 9}));
  }
  std::uint8_t copied[4] = {1, 1, 1, 1};
  TWIN_OK(cuMemcpyDtoH(copied, variable + bytes - 4, 4));
  EXPECT_EQ(copied[0] + copied[1] + copied[2] + copied[3], 9);
  EXPECT_LT(resident_bytes(), before + (std::size_t{256} << 20));
  TWIN_OK(cuModuleUnload(loaded));
}

}  // namespace
}  // namespace ptx_test
