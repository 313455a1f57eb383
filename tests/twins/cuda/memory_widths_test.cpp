// ld and st of every width and vector in each space of memory.
#include <cstring>

#include "support.h"

namespace memory_widths_test {
namespace {

using namespace twin_test;

/// Of the 32 bytes of `in` and the 32 words of `out`, at %in and %out.
std::string kernel(const std::string& before, const std::string& body) {
  return module(before + R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .b64 %in, %out, %x, %y, %l<4>;
  .reg .b32 %r<8>;
  .reg .b16 %h<8>;
  .reg .b128 %q<3>;
  ld.param.u64 %in, [in];
  ld.param::entry.u64 %out, [out];
)" + body + R"(
  ret;
}
)");
}

/// A space with a variable of 32 bytes that has the bytes of `in`.
struct Space {
  const char* name;
  std::string module;  ///< declarations
  std::string copy;    ///< makes %x the variable's address, after it was filled
  bool is_writable;
};
const char* const kBytes =
    "{0x80, 0xFF, 0x7F, 0x81, 0x00, 0x90, 0xFF, 0xFF, 1, 2, 3, 4, 5, 6, 7, 8,"
    " 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 9, 10, 11, 12, 13, 14, 15, 16}";
const std::vector<std::uint8_t> kContent = {
    0x80, 0xFF, 0x7F, 0x81, 0x00, 0x90, 0xFF, 0xFF, 1, 2,  3,  4,  5,  6,  7,  8,
    0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 9, 10, 11, 12, 13, 14, 15, 16};

std::string filled(const std::string& space) {
  return "  ." + space + " .align 32 .b8 bytes[32];\n  mov.u64 %x, bytes;\n" +
         "  ld.global.v2.b64 {%l0, %l1}, [%in];\n  ld.global.v2.b64 {%l2, %l3}, [%in+16];\n  st." +
         space + ".v2.b64 [%x], {%l0, %l1};\n  st." + space + ".v2.b64 [%x+16], {%l2, %l3};\n";
}
std::vector<Space> spaces() {
  return {{"global", "", "  mov.b64 %x, %in;\n", true},
          {"shared", "", filled("shared"), true},
          {"local", "", filled("local"), true},
          {"const", std::string(".const .align 32 .b8 bytes[32] = ") + kBytes + ";\n",
           "  mov.u64 %x, bytes;\n", false}};
}

struct Content {
  std::vector<std::uint8_t> in;
  std::vector<std::uint64_t> out;
};
Content run(const Space& space, const std::string& body) {
  const Buffer<std::uint8_t> in(kContent);
  const Buffer<std::uint64_t> out(32, 0);
  CUdeviceptr at[] = {in.address, out.address};
  std::string log;
  EXPECT_EQ(launch(kernel(space.module, space.copy + body), "k", Dim(1), Dim(1), {&at[0], &at[1]},
                   0, &log),
            CUDA_SUCCESS)
      << space.name << ": " << log << cuda_twin_last_fault();
  return {in.read(), out.read()};
}

/// Replaces each "SPACE".
std::string in_space(const Space& space, std::string text) {
  for (std::size_t at = text.find("SPACE"); at != std::string::npos; at = text.find("SPACE")) {
    text.replace(at, 5, space.name);
  }
  return text;
}

TEST(CudaMemoryWidths, NarrowLoadsExtendToTheRegister) {
  Gpu gpu;
  const struct {
    const char* load;
    std::uint64_t expected;
  } rows[] = {{"ld.SPACE.s8 %y, [%x];", 0xFFFFFFFFFFFFFF80},
              {"ld.SPACE.u8 %y, [%x];", 0x80},
              {"ld.SPACE.s8 %r0, [%x+3]; cvt.u64.u32 %y, %r0;", 0xFFFFFF81},
              {"ld.SPACE.s8 %h0, [%x+3]; cvt.u64.u16 %y, %h0;", 0xFF81},
              {"ld.SPACE.b8 %h0, [%x+3]; cvt.u64.u16 %y, %h0;", 0x81},
              {"ld.SPACE.s16 %y, [%x+4];", 0xFFFFFFFFFFFF9000},
              {"ld.SPACE.u16 %r0, [%x+4]; cvt.u64.u32 %y, %r0;", 0x9000},
              {"ld.SPACE.s16 %r0, [%x+4]; cvt.u64.u32 %y, %r0;", 0xFFFF9000},
              {"ld.SPACE.b16 %h0, [%x+4]; cvt.u64.u16 %y, %h0;", 0x9000},
              {"ld.SPACE.s32 %y, [%x+4];", 0xFFFFFFFFFFFF9000},
              {"ld.SPACE.b32 %y, [%x+4];", 0xFFFF9000},
              {"ld.SPACE.u64 %y, [%x+8];", 0x0807060504030201}};
  std::string code;
  std::size_t at = 0;
  for (const auto& row : rows) {
    code += std::string(row.load) + " st.global.u64 [%out+" + std::to_string(8 * at++) + "], %y;\n";
  }
  for (const Space& space : spaces()) {
    const auto out = run(space, in_space(space, code)).out;
    for (std::size_t i = 0; i < at; ++i) {
      EXPECT_EQ(out[i], rows[i].expected) << space.name << " " << rows[i].load;
    }
  }
}

TEST(CudaMemoryWidths, VolatileAccesses) {
  Gpu gpu;
  const std::string code =
      "ld.volatile.SPACE.s8 %y, [%x]; st.volatile.global.b64 [%out], %y;\n"
      "ld.volatile.SPACE.u8 %y, [%x]; st.volatile.global.b64 [%out+8], %y;\n"
      "ld.volatile.SPACE.b8 %h0, [%x+3]; st.volatile.SPACE.b8 [%x+2], %h0;\n"
      "ld.volatile.SPACE.b32 %r0, [%x]; st.volatile.SPACE.b32 [%x+8], %r0;\n"
      "ld.volatile.SPACE.b64 %y, [%x+8]; st.volatile.global.b64 [%out+16], %y;\n";
  for (const Space& space : {spaces()[0], spaces()[1]}) {
    const auto out = run(space, in_space(space, code)).out;
    const std::vector<std::uint64_t> expected = {0xFFFFFFFFFFFFFF80, 0x80, 0x080706058181FF80};
    EXPECT_EQ(std::vector<std::uint64_t>(out.begin(), out.begin() + 3), expected) << space.name;
  }
}

TEST(CudaMemoryWidths, VectorsOfNarrowElementsAndOf128Bits) {
  Gpu gpu;
  const struct {
    const char* load;
    std::uint64_t expected;
  } rows[] = {
      {"ld.SPACE.v2.b8 {%h0, %h1}, [%x]; mov.b32 %r0, {%h0, %h1}; cvt.u64.u32 %y, %r0;",
       0x00FF0080},
      {"ld.SPACE.v4.u8 {%h0, %h1, %h2, %h3}, [%x]; mov.b64 %y, {%h0, %h1, %h2, %h3};",
       0x0081007F00FF0080},
      {"ld.SPACE.v2.s8 {%r0, %r1}, [%x]; mov.b64 %y, {%r0, %r1};", 0xFFFFFFFFFFFFFF80},
      {"ld.SPACE.v4.b16 {%h0, %h1, %h2, %h3}, [%x+8]; mov.b64 %y, {%h3, %h2, %h1, %h0};",
       0x0201040306050807},
      {"ld.SPACE.v2.f32 {%r0, %r1}, [%x+8]; mov.b64 %y, {%r1, %r0};", 0x0403020108070605},
      {"ld.SPACE.v2.b64 {_, %y}, [%x+16];", 0x100F0E0D0C0B0A09},
      {"ld.SPACE.b128 %q0, [%x]; mov.b128 {_, %y}, %q0;", 0x0807060504030201},
      {"ld.SPACE.b128 %q0, [%x+16]; mov.b128 {%y, _}, %q0;", 0x1817161514131211},
  };
  std::string code;
  std::size_t at = 0;
  for (const auto& row : rows) {
    code += std::string(row.load) + " st.global.u64 [%out+" + std::to_string(8 * at++) + "], %y;\n";
  }
  for (const Space& space : spaces()) {
    const auto out = run(space, in_space(space, code)).out;
    for (std::size_t i = 0; i < at; ++i) {
      EXPECT_EQ(out[i], rows[i].expected) << space.name << " " << rows[i].load;
    }
  }
  const auto out = run(spaces()[0], "ld.global.nc.b128 %q0, [%x]; st.global.b128 [%out], %q0;").out;
  EXPECT_EQ(out[0], 0xFFFF9000817FFF80u);
  EXPECT_EQ(out[1], 0x0807060504030201u);
}

TEST(CudaMemoryWidths, StoresWriteTheirWidthOnly) {
  Gpu gpu;
  const std::string code =
      "mov.b64 %y, 0x1122334455667788; mov.b32 %r0, 0x12345678; mov.b16 %h0, 0x9ABC;\n"
      "st.SPACE.u8 [%x], %r0; st.SPACE.b16 [%x+2], %r0; st.SPACE.u8 [%x+5], %h0;\n"
      "st.SPACE.b32 [%x+8], %y; st.SPACE.v2.b8 [%x+12], {%h0, %h0};\n"
      "mov.b128 %q0, {%y, %y}; st.SPACE.b128 [%x+16], %q0;\n"
      "ld.SPACE.v2.b64 {%l0, %l1}, [%x]; st.global.v2.b64 [%out], {%l0, %l1};\n"
      "ld.SPACE.v2.b64 {%l0, %l1}, [%x+16]; st.global.v2.b64 [%out+16], {%l0, %l1};\n";
  for (const Space& space : spaces()) {
    if (!space.is_writable) continue;
    const auto out = run(space, in_space(space, code)).out;
    const std::vector<std::uint64_t> expected = {0xFFFFBC005678FF78, 0x0807BCBC55667788,
                                                 0x1122334455667788, 0x1122334455667788};
    EXPECT_EQ(std::vector<std::uint64_t>(out.begin(), out.begin() + 4), expected) << space.name;
  }
}

// --- 256 bits

struct Wide {
  const char* name;
  std::string load, store;  ///< of eight words at %a, in reverse
};
std::vector<Wide> wide_forms() {
  const std::string words = "{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}";
  const std::string backwards = "{%r7, %r6, %r5, %r4, %r3, %r2, %r1, %r0}";
  const std::string longs = "{%l0, %l1, %l2, %l3}";
  // A long has two words: their order changes by mov.
  std::string swap;
  for (const std::string k : {"0", "1", "2", "3"}) {
    swap += " mov.b64 {%r0, %r1}, %l" + k + "; mov.b64 %l" + k + ", {%r1, %r0};";
  }
  const auto store_longs = [&](const std::string& type) {
    return swap + " st.global" + type + " [%a], {%l3, %l2, %l1, %l0};";
  };
  return {{"words", "ld.global.v8.b32 " + words + ", [%a];",
           "st.global.v8.b32 [%a], " + backwards + ";"},
          {"floats", "ld.v8.f32 " + words + ", [%a];", "st.v8.f32 [%a], " + backwards + ";"},
          {"volatile", "ld.volatile.global.v8.s32 " + words + ", [%a];",
           "st.volatile.global.v8.u32 [%a], " + backwards + ";"},
          {"longs", "ld.global.v4.b64 " + longs + ", [%a];", store_longs(".v4.b64")},
          {"nc", "ld.global.nc.v4.f64 " + longs + ", [%a];", store_longs(".v4.s64")},
          {"relaxed", "ld.relaxed.gpu.global.v4.u64 " + longs + ", [%a];",
           swap + " st.relaxed.gpu.global.v4.u64 [%a], {%l3, %l2, %l1, %l0};"}};
}

std::string wide_kernel(const std::string& code) {
  return module(
      ".visible .entry k(.param .u64 p) {\n  .reg .b64 %a, %l<4>;\n  .reg .b32 %t, %r<8>;\n"
      "  .reg .b16 %h<8>;\n  .shared .align 32 .b8 s[256];\n"
      "  ld.param.u64 %a, [p];\n  mov.u32 %t, %tid.x;\n  mad.wide.u32 %a, %t, 32, %a;\n  " +
          code + "\n  ret;\n}\n",
      "8.8", "sm_100");
}

TEST(CudaMemoryWidths, VectorsOf256Bits) {
  Gpu gpu("b200");
  for (const Wide& form : wide_forms()) {
    for (const unsigned threads : {32u, 5u}) {
      std::vector<std::uint32_t> words(256);
      for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = i * 0x01010101u;
      Buffer<std::uint32_t> data(words);
      ASSERT_EQ(
          launch(wide_kernel(form.load + form.store), "k", Dim(1), Dim(threads), {&data.address}),
          CUDA_SUCCESS)
          << form.name << cuda_twin_last_message() << cuda_twin_last_fault();
      for (std::uint32_t i = 0; i < 8 * threads; ++i) words[i] = (i ^ 7) * 0x01010101u;
      EXPECT_EQ(data.read(), words) << form.name;
    }
  }
}

TEST(CudaMemoryWidths, VectorsOf256BitsAreAligned) {
  Gpu gpu("b200");
  Buffer<std::uint32_t> data(64, 0);
  const std::string load = "ld.global.v4.b64 {%l0, _, _, %l3}, [%a+16];";
  EXPECT_EQ(launch(wide_kernel(load), "k", Dim(1), Dim(1), {&data.address}),
            CUDA_ERROR_MISALIGNED_ADDRESS);
}

TEST(CudaMemoryWidths, VectorsThatAreTooWide) {
  Gpu gpu("b200");
  const std::string words = " {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, ";
  const struct {
    std::string code;
    const char* reason;
  } rows[] = {{"ld.shared.v8.b32" + words + "[s];", "are for .global"},
              {"ld.global.v8.b16 {%h0, %h1, %h2, %h3, %h4, %h5, %h6, %h7}, [%a];", "at most 128"},
              {"ld.global.v8.b64 {%l0, %l1, %l2, %l3, %l0, %l1, %l2, %l3}, [%a];", "at most 128"},
              {"ldu.global.v8.b32" + words + "[%a];", "at most 128"},
              {"ld.global.v3.b32 {%r0, %r1, %r2}, [%a];", "2, 4 or 8 elements"},
              {"ld.global.L2::evict_last.v4.b32 {%r0, %r1, %r2, %r3}, [%a];", "L2 cache"},
              {"st.global.L2::evict_first.b64 [%a], %l0;", "L2 cache"},
              {"ld.global.v4.b32 {_, _, _, _}, [%a];", "without a register"}};
  std::string log;
  CUmodule loaded = nullptr;
  for (const auto& row : rows) {
    EXPECT_EQ(load(wide_kernel(row.code), &loaded, &log), CUDA_ERROR_INVALID_PTX) << row.code;
    EXPECT_NE(log.find(row.reason), std::string::npos) << row.code << ": " << log;
  }
  const std::string good = "ld.global.v8.b32" + words + "[%l0];";
  for (const Isa& isa : {Isa{"8.7", "sm_100"}, Isa{"8.8", "sm_90"}}) {
    EXPECT_EQ(load(frame<std::uint32_t>(good, isa.version, isa.target), &loaded),
              CUDA_ERROR_INVALID_PTX);
  }
}

TEST(CudaMemoryWidths, UnifiedLoadsReadAsOthersDo) {
  Gpu gpu;
  Buffer<std::uint32_t> data({1, 2, 3, 4, 5, 6, 7, 8});
  const auto loads = [](const std::string& code, const char* version, const char* target) {
    return module(
        ".visible .entry k(.param .u64 p) {\n  .reg .b64 %a, %policy;\n"
        "  .reg .b32 %v, %w;\n  ld.param.u64 %a, [p];\n  mov.b64 %policy, 0;\n  " +
            code + "\n  st.global.u32 [%a], %v;\n  ret;\n}\n",
        version, target);
  };
  struct Row {
    const char* load;
    std::uint32_t value;
  };
  for (const Row& row : {Row{"ld.global.u32 %v, [%a+8].unified;", 3},
                         Row{"ld.weak.v2.u32 {%w, %v}, [%a+8].unified;", 4},
                         Row{"ld.L2::cache_hint.u32 %v, [%a+16].unified, %policy;", 5}}) {
    ASSERT_EQ(launch(loads(row.load, "8.0", "sm_90"), "k", Dim(1), Dim(1), {&data.address}),
              CUDA_SUCCESS)
        << row.load;
    EXPECT_EQ(data.read()[0], row.value);
    CUmodule loaded = nullptr;
    std::string log;
    EXPECT_EQ(load(loads(row.load, "7.8", "sm_90"), &loaded, &log), CUDA_ERROR_INVALID_PTX);
    EXPECT_EQ(load(loads(row.load, "8.0", "sm_80"), &loaded, &log), CUDA_ERROR_INVALID_PTX);
  }
  for (const char* wrong :
       {"ld.volatile.global.u32 %v, [%a].unified;", "ld.relaxed.gpu.global.u32 %v, [%a].unified;",
        "ld.global.nc.u32 %v, [%a].unified;", "ld.global.unified.u32 %v, [%a];",
        "st.global.u32 [%a].unified, %v;", "atom.global.add.u32 %v, [%a].unified, 1;"}) {
    CUmodule loaded = nullptr;
    std::string log;
    EXPECT_EQ(load(loads(wrong, "8.0", "sm_90"), &loaded, &log), CUDA_ERROR_INVALID_PTX) << wrong;
  }
}

}  // namespace
}  // namespace memory_widths_test
