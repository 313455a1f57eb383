// Two instructions with accesses of all widths and shapes: a race is reported if and only if bytes
// that a model finds in both are written by one of them.
#include <algorithm>
#include <random>

#include "support.h"

namespace race_patterns_test {
namespace {

using twin_test::Buffer;
using twin_test::Gpu;

constexpr unsigned kLanes = 32;
constexpr unsigned kBegin = 768, kEnd = 1280;  // bytes, of two pages of the check's cells
constexpr unsigned kBytes = 2048;

/// Who executes the two instructions, without anything that orders them.
enum class Scope { kWarp, kBlock, kLaunch };

struct Access {
  unsigned width = 4;  ///< bytes of a lane
  bool write = false;
  unsigned active = kLanes;  ///< lanes below this access
  std::vector<std::uint32_t> at = std::vector<std::uint32_t>(kLanes);
};

/// The instruction, of an address.
std::string text_of(const Access& access, const std::string& space, const std::string& address) {
  static const struct {
    unsigned width;
    const char *type, *from, *to;
  } kForms[] = {{1, "u8", "%h0", "%h1"},
                {2, "u16", "%h0", "%h1"},
                {4, "u32", "%r9", "%r10"},
                {8, "v2.u32", "{%r9, %r9}", "{%r10, %r11}"},
                {16, "v4.u32", "{%r9, %r9, %r9, %r9}", "{%r10, %r11, %r12, %r13}"}};
  for (const auto& form : kForms) {
    if (form.width != access.width) continue;
    const std::string type = "." + space + "." + form.type + " ", place = "[" + address + "]";
    return access.write ? "st" + type + place + ", " + form.from + ";\n"
                        : "ld" + type + form.to + ", " + place + ";\n";
  }
  return "";
}

std::string kernel(Scope scope, const Access& first, const Access& second) {
  const bool global = scope == Scope::kLaunch;
  const std::string space = global ? "global" : "shared";
  const char* const who = scope == Scope::kLaunch ? "%ctaid.x" : "%r2";
  // %r3: 0 or 1, the instruction of the thread; 2: both.
  const std::string part =
      scope == Scope::kWarp ? "  mov.u32 %r3, 2;\n" : std::string("  mov.u32 %r3, ") + who + ";\n";
  std::string text = R"(.visible .entry k(.param .u64 data, .param .u64 table, .param .u32 first,
    .param .u32 second)
{
  .reg .b64 %rd<8>;  .reg .b32 %r<16>;  .reg .b16 %h<4>;  .reg .pred %p<4>;
  .shared .align 16 .b8 tile[2048];
  ld.param.u64 %rd0, [data];
  ld.param.u64 %rd1, [table];
  mov.u32 %r0, %tid.x;
  and.b32 %r1, %r0, 31;
  shr.u32 %r2, %r0, 5;
  mov.u32 %r9, 5;
  mov.u16 %h0, 5;
  mov.u32 %r4, tile;
  mad.lo.u32 %r5, %r0, 32, %r4;
  setp.lt.u32 %p1, %r0, 32;
  @%p1 st.shared.v4.u32 [%r5], {%r9, %r9, %r9, %r9};
  @%p1 st.shared.v4.u32 [%r5+16], {%r9, %r9, %r9, %r9};
  @%p1 st.shared.v4.u32 [%r5+1024], {%r9, %r9, %r9, %r9};
  @%p1 st.shared.v4.u32 [%r5+1040], {%r9, %r9, %r9, %r9};
  bar.sync 0;
)" + part;
  for (const Access* access : {&first, &second}) {
    text += "  mad.wide.u32 %rd2, %r1, 4, %rd1;\n  ld.global.u32 %r6, [%rd2+" +
            std::string(access == &first ? "0" : "128") + "];\n  ld.param.u32 %r7, [" +
            (access == &first ? "first" : "second") + "];\n  add.u32 %r8, %r4, %r6;\n" +
            "  cvt.u64.u32 %rd3, %r6;\n  add.u64 %rd3, %rd3, %rd0;\n" +
            "  setp.lt.u32 %p0, %r1, %r7;\n  setp.ne.and.u32 %p0, %r3, " +
            (access == &first ? "1" : "0") + ", %p0;\n  @%p0 " +
            text_of(*access, space, global ? "%rd3" : "%r8");
  }
  return twin_test::module(text + "  ret;\n}\n");
}

bool overlap(const Access& a, unsigned i, const Access& b, unsigned k) {
  return a.at[i] < b.at[k] + b.width && b.at[k] < a.at[i] + a.width;
}

/// Whether no lane after this one stores to the same place: of those that do at once, the twin
/// keeps one for the comparison with other lanes of the warp.
bool is_last(const Access& access, unsigned lane) {
  const auto end = access.at.begin() + access.active;
  return !access.write || std::find(access.at.begin() + lane + 1, end, access.at[lane]) == end;
}

bool model(Scope scope, const Access& first, const Access& second) {
  if (!first.write && !second.write) return false;
  for (unsigned i = 0; i < first.active; ++i) {
    for (unsigned k = 0; k < second.active; ++k) {
      const bool ordered = scope == Scope::kWarp && (i == k || !is_last(first, i));
      if (!ordered && overlap(first, i, second, k)) return true;
    }
  }
  return false;
}

class Shapes {
 public:
  /// Lanes in a row, in steps, at random, or in one place; all of them or some.
  void fill(Access& access) {
    const unsigned width = access.width;
    const unsigned shape = below(4);
    const unsigned step = shape == 0 ? width : shape == 3 ? 0 : width << below(3);
    const unsigned most = kEnd - kBegin - width;
    const unsigned first = below(most / width + 1) * width;
    for (std::uint32_t& at : access.at) {
      const auto lane = static_cast<unsigned>(&at - access.at.data());
      const unsigned byte = shape == 2 ? below(most / width + 1) * width : first + lane * step;
      at = kBegin + byte % (kEnd - kBegin);
    }
    access.active = below(2) == 0 ? kLanes : 1 + below(kLanes);
  }

 private:
  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
  std::mt19937 random_{7};
};

/// Only lanes before the first one that has the place of another.
void drop_repeated(Access& access) {
  for (unsigned lane = 1; lane < access.active; ++lane) {
    const auto end = access.at.begin() + lane;
    if (std::find(access.at.begin(), end, access.at[lane]) != end) access.active = lane;
  }
}

/// Whether the twin reports a race, in several shapes of both accesses.
void compare(Scope scope, Access first, Access second, Shapes& shapes) {
  CUmodule loaded = nullptr;
  CUfunction function = nullptr;
  std::string log;
  ASSERT_EQ(twin_test::load(kernel(scope, first, second), &loaded, &log), CUDA_SUCCESS) << log;
  TWIN_OK(cuModuleGetFunction(&function, loaded, "k"));
  Buffer<std::uint32_t> table(2 * kLanes, 0);
  for (int turn = 0; turn < 6; ++turn) {
    Buffer<std::uint8_t> data(kBytes, 1);
    shapes.fill(first);
    shapes.fill(second);
    if (scope == Scope::kWarp && second.write) drop_repeated(second);
    std::vector<std::uint32_t> offsets = first.at;
    offsets.insert(offsets.end(), second.at.begin(), second.at.end());
    table.write(offsets);
    cuda_twin_drop_findings();
    std::vector<void*> args = {&data.address, &table.address, &first.active, &second.active};
    TWIN_OK(cuLaunchKernel(function, scope == Scope::kLaunch ? 2 : 1, 1, 1,
                           scope == Scope::kBlock ? 64 : 32, 1, 1, 0, nullptr, args.data(),
                           nullptr));
    TWIN_OK(cuCtxSynchronize());
    const bool found = cuda_twin_findings() != 0;
    EXPECT_EQ(found, model(scope, first, second))
        << "scope " << static_cast<int>(scope) << ": " << (first.write ? "write" : "read") << " of "
        << first.width << " bytes by " << first.active << " lanes from " << first.at[0] << ", "
        << first.at[1] << "; " << (second.write ? "write" : "read") << " of " << second.width
        << " bytes by " << second.active << " lanes from " << second.at[0] << ", " << second.at[1];
  }
  TWIN_OK(cuModuleUnload(loaded));
}

void compare_all(Scope scope) {
  Gpu gpu;
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FINDINGS", "record"), 1);
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_THREADS", "1"), 1);
  Shapes shapes;
  for (const unsigned a : {1u, 2u, 4u, 8u, 16u}) {
    for (const unsigned b : {1u, 2u, 4u, 8u, 16u}) {
      for (const bool first : {false, true}) {
        for (const bool second : {false, true}) {
          Access one, other;
          one.width = a;
          one.write = first;
          other.width = b;
          other.write = second;
          compare(scope, one, other, shapes);
        }
      }
    }
  }
}

TEST(CudaRacePatterns, LanesOfAWarp) {
  compare_all(Scope::kWarp);
}
TEST(CudaRacePatterns, WarpsOfABlock) {
  compare_all(Scope::kBlock);
}
TEST(CudaRacePatterns, BlocksOfALaunch) {
  compare_all(Scope::kLaunch);
}

}  // namespace
}  // namespace race_patterns_test
