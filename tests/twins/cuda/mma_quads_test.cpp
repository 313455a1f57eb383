// mma.m8n8k4 of f16: four products at once. Places of elements are those of the PTX document's
// section on its fragments.
#include <array>
#include <bit>

#include "numbers.h"
#include "support.h"

namespace mma_quads_test {
namespace {

using namespace twin_test;
using Words = std::vector<std::uint32_t>;
using Matrix = std::vector<std::int32_t>;  // four of them, one after the other, by rows

struct Form {
  std::string a_layout, b_layout, d_type, c_type;
  std::string name() const {
    return "mma.sync.aligned.m8n8k4." + a_layout + "." + b_layout + "." + d_type + ".f16.f16." +
           c_type;
  }
};
std::vector<Form> all_forms() {
  std::vector<Form> forms;
  for (const char* a : {"row", "col"}) {
    for (const char* b : {"row", "col"}) {
      forms.push_back({a, b, "f16", "f16"});
      forms.push_back({a, b, "f32", "f16"});
      forms.push_back({a, b, "f32", "f32"});
    }
  }
  return forms;
}

using Place = std::pair<int, int>;  // row, column
Place place_of_a(const std::string& layout, int lane, int i) {
  if (layout == "row") return {lane < 16 ? lane % 4 : lane % 4 + 4, i};
  return {lane < 16 ? i % 4 : i % 4 + 4, lane % 4};
}
Place place_of_b(const std::string& layout, int lane, int i) {
  if (layout == "row") return {lane % 4, lane < 16 ? i : i + 4};
  return {i, lane < 16 ? lane % 4 : lane % 4 + 4};
}
Place place_of_result(const std::string& type, int lane, int i) {
  if (type == "f16") return {lane < 16 ? lane % 4 : lane % 4 + 4, i};
  const int x = (lane & 1) + (i & 2);
  return {lane < 16 ? x : x + 4, (i & 4) + (lane & 2) + (i & 1)};
}
/// Lanes 0-3 and 16-19 compute the first product, 4-7 and 20-23 the second.
int product_of(int lane) {
  return lane % 16 / 4;
}

int registers_of(const std::string& type) {
  return type == "f16" ? 4 : 8;
}

/// Registers of all lanes, register r of lane l at [32 r + l].
template <class PlaceOf>
Words fragments(const Matrix& matrices, int elements, int columns, int rows, bool half,
                PlaceOf place_of) {
  const int to_a_register = half ? 2 : 1;
  Words words(static_cast<std::size_t>(elements / to_a_register * 32));
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < elements; ++i) {
      const auto [row, column] = place_of(lane, i);
      const auto at = static_cast<std::size_t>((product_of(lane) * rows + row) * columns + column);
      const auto value = static_cast<float>(matrices[at]);
      const std::uint32_t bits =
          half ? std::uint32_t{f16_bits(value)} << i % 2 * 16 : std::bit_cast<std::uint32_t>(value);
      words[static_cast<std::size_t>(i / to_a_register * 32 + lane)] |= bits;
    }
  }
  return words;
}

std::string list(const char* prefix, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + (prefix + std::to_string(i));
  return text + "}";
}
/// `d` names D's registers: %d, or %c where they are those of C.
std::string text_of(const Form& form, const char* d) {
  const int c_count = registers_of(form.c_type), d_count = registers_of(form.d_type);
  std::string text =
      ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {\n"
      "  .reg .b32 %lane, %a<2>, %b<2>, %c<8>, %d<8>;\n  .reg .b64 %at;\n"
      "  mov.u32 %lane, %laneid;\n";
  const auto move = [&](const std::string& parameter, const std::string& prefix, int count,
                        bool is_load) {
    text += "  ld.param.u64 %at, [" + parameter + "];\n  mad.wide.u32 %at, %lane, 4, %at;\n";
    for (int i = 0; i < count; ++i) {
      const std::string at = "[%at+" + std::to_string(128 * i) + "]";
      const std::string name = prefix + std::to_string(i);
      text += is_load ? "  ld.global.b32 " + name + ", " + at + ";\n"
                      : "  st.global.b32 " + at + ", " + name + ";\n";
    }
  };
  move("a", "%a", 2, true);
  move("b", "%b", 2, true);
  move("c", "%c", c_count, true);
  text += "  " + form.name() + " " + list(d, d_count) + ", {%a0, %a1}, {%b0, %b1}, " +
          list("%c", c_count) + ";\n";
  move("d", d, d_count, false);
  return module(text + "  ret;\n}\n", "6.4", "sm_70");
}

Words execute(const Form& form, const char* d, const Words& a, const Words& b, const Words& c) {
  Buffer<std::uint32_t> device_a(a), device_b(b), device_c(c);
  auto device_d =
      Buffer<std::uint32_t>::unwritten(static_cast<std::size_t>(registers_of(form.d_type)) * 32);
  std::string log;
  const CUresult code =
      launch(text_of(form, d), "k", Dim(1), Dim(32),
             {&device_a.address, &device_b.address, &device_c.address, &device_d.address}, 0, &log);
  EXPECT_EQ(code, CUDA_SUCCESS) << form.name() << log << cuda_twin_last_fault();
  return code == CUDA_SUCCESS ? device_d.read() : Words(device_d.size);
}

class MmaQuads : public testing::TestWithParam<const char*> {
 protected:
  MmaQuads() { EXPECT_EQ(cuda_twin_set("CUDA_TWIN_MMA_SUM", GetParam()), 1); }
  Gpu gpu_;
};
INSTANTIATE_TEST_SUITE_P(Settings, MmaQuads, testing::Values("single", "double", "truncated"));

/// Small integers, whose sums are exact in f16. The four products have other matrices.
TEST_P(MmaQuads, ExactSumsInAllForms) {
  Numbers numbers(3);
  const Matrix a = numbers.integers(4 * 8 * 4, -9, 9), b = numbers.integers(4 * 4 * 8, -9, 9);
  const Matrix c = numbers.integers(4 * 8 * 8, -99, 99);
  Matrix expected = c;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::size_t product = i / 64, row = i / 8 % 8, column = i % 8;
    for (std::size_t k = 0; k < 4; ++k) {
      expected[i] += a[(product * 8 + row) * 4 + k] * b[(product * 4 + k) * 8 + column];
    }
  }
  for (const Form& form : all_forms()) {
    const auto results = [](const Matrix& matrix, const std::string& type) {
      return fragments(matrix, 8, 8, 8, type == "f16",
                       [&](int lane, int i) { return place_of_result(type, lane, i); });
    };
    const Words words_a = fragments(
        a, 4, 4, 8, true, [&](int lane, int i) { return place_of_a(form.a_layout, lane, i); });
    const Words words_b = fragments(
        b, 4, 8, 4, true, [&](int lane, int i) { return place_of_b(form.b_layout, lane, i); });
    const Words words_c = results(c, form.c_type), words_d = results(expected, form.d_type);
    EXPECT_EQ(execute(form, "%d", words_a, words_b, words_c), words_d) << form.name();
    EXPECT_EQ(execute(form, "%c", words_a, words_b, words_c), words_d) << form.name() << " in C";
  }
}

/// 1 + 2^-11 + 2^-13 is above a tie of f16; each addend alone would be rounded away.
TEST_P(MmaQuads, HalfResultsAreRoundedOnce) {
  Words a(64), b(64), c(128);
  a[0] = 0x3C003C00;   // A[0][0] and A[0][1] of the first product
  b[0] = 0x08001000;   // B[0][0] and B[1][0]
  c[0] = 0x00003C00;   // C[0][0]
  a[32 + 5] = 0x7E01;  // A[1][2] of the second one: NaN
  const Words d = execute({"row", "col", "f16", "f16"}, "%d", a, b, c);
  EXPECT_EQ(d[0], 0x3C01u);
  EXPECT_EQ(d[4], 0u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(d[32 * i + 5], 0x7FFF7FFFu);
}

TEST(MmaQuadsForms, OthersAreRefusedWhenTheModuleIsLoaded) {
  Gpu gpu;
  const std::string inputs = ", {%r0, %r1}, {%r2, %r3}, ";
  const std::string floats = list("%f", 8), halves = "{%r4, %r5, %r6, %r7}";
  const struct {
    std::string name, d, c, version, target, reason;
  } rows[] = {
      {"row.col.f32.f16.f16.f32", floats, floats, "6.4", "sm_70", ""},
      {"row.col.f16.f16.f16.f32", halves, floats, "6.4", "sm_70", "results"},
      {"row.f32.f16.f16.f32", floats, floats, "6.4", "sm_70", ".row or .col"},
      {"row.col.f32.f16.f16", floats, floats, "6.4", "sm_70", "type of C"},
      {"row.col.f32.f16.f32.f32", floats, floats, "6.4", "sm_70", "type of C"},
      {"row.col.satfinite.f16.f16.f16.f16", halves, halves, "6.5", "sm_75", "satfinite"},
      {"row.col.f32.f16.f16.f32", floats, halves, "6.4", "sm_70", ""},
      {"row.col.f32.f16.f16.f32", floats, floats, "6.3", "sm_70", "6.4"},
      {"row.col.f32.f16.f16.f32", floats, floats, "6.4", "sm_61", "sm_70"},
      {"row.col.f32.tf32.tf32.f32", floats, floats, "8.5", "sm_90", "m8n8k4"},
  };
  for (const auto& row : rows) {
    const std::string code =
        "mma.sync.aligned.m8n8k4." + row.name + " " + row.d + inputs + row.c + ";";
    const bool is_right = row.reason.empty() && row.c == row.d;
    CUmodule loaded = nullptr;
    std::string log;
    EXPECT_EQ(
        load(frame<std::uint32_t>(code, row.version.c_str(), row.target.c_str()), &loaded, &log),
        is_right ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX)
        << code << log;
    EXPECT_NE(log.find(row.reason), std::string::npos) << code << ": " << log;
    if (loaded != nullptr) TWIN_OK(cuModuleUnload(loaded));
  }
}

}  // namespace
}  // namespace mma_quads_test
