// ldmatrix, stmatrix and movmatrix.
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "support.h"

namespace matrices_test {

using namespace twin_test;

class MatrixTransfers : public ::testing::Test {
 protected:
  Gpu gpu_;
};

constexpr unsigned kMatrices = 4;

/// 16-bit element [row][column] of matrix m.
std::uint16_t element(unsigned m, unsigned row, unsigned column) {
  return static_cast<std::uint16_t>(m * 4096 + row * 64 + column + 1);
}

/// Row r of matrix m is at byte 32 * (31 - (8 m + r)): rows are apart, and in reverse order.
std::string shared_frame(const std::string& code, unsigned count) {
  std::string text =
      ".visible .entry transfer(.param .u64 in, .param .u64 out) {\n"
      "  .shared .align 16 .b8 memory[1024];\n"
      "  .reg .u32 %lane, %row, %base, %v<4>, %r<4>;\n  .reg .u64 %in, %out, %wide;\n"
      "  mov.u32 %lane, %laneid;\n  ld.param.u64 %in, [in];\n  ld.param.u64 %out, [out];\n"
      "  mad.wide.u32 %in, %lane, 16, %in;\n  mad.wide.u32 %out, %lane, 4, %out;\n"
      "  mov.u32 %base, memory;\n  sub.u32 %row, 31, %lane;\n  mad.lo.u32 %row, %row, 32, %base;\n"
      "  cvt.u64.u32 %wide, %row;\n  cvta.shared.u64 %wide, %wide;\n" +
      code;
  for (unsigned m = 0; m < count; ++m) {
    const std::string number = std::to_string(m);
    text += "  st.global.b32 [%out+" + std::to_string(128 * m) + "], %r" + number + ";\n";
  }
  return module(text + "  ret;\n}\n");
}

const std::string kFill =
    "  ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%in];\n"
    "  st.shared.v4.b32 [%row], {%v0, %v1, %v2, %v3};\n  bar.warp.sync 0xffffffff;\n";

std::vector<std::uint16_t> all_rows() {
  std::vector<std::uint16_t> rows;
  for (unsigned m = 0; m < kMatrices; ++m) {
    for (unsigned i = 0; i < 64; ++i) rows.push_back(element(m, i / 8, i % 8));
  }
  return rows;
}

std::vector<std::uint32_t> transfer(const std::string& code, unsigned count) {
  const Buffer<std::uint16_t> in(all_rows());
  const auto out = Buffer<std::uint32_t>::unwritten(std::size_t{32} * count);
  CUdeviceptr at[] = {in.address, out.address};
  std::string log;
  const CUresult result =
      launch(shared_frame(code, count), "transfer", Dim(1), Dim(32), {&at[0], &at[1]}, 0, &log);
  EXPECT_EQ(result, CUDA_SUCCESS) << code << log << cuda_twin_last_fault();
  return result == CUDA_SUCCESS ? out.read() : std::vector<std::uint32_t>(out.size);
}

/// Lane 4 g + t has elements 2 t and 2 t + 1 of row g; of column g if transposed.
std::vector<std::uint32_t> fragments(unsigned count, bool transposed) {
  std::vector<std::uint32_t> words;
  for (unsigned m = 0; m < count; ++m) {
    for (unsigned lane = 0; lane < 32; ++lane) {
      const unsigned g = lane / 4, t = lane % 4;
      const std::uint32_t low = transposed ? element(m, 2 * t, g) : element(m, g, 2 * t);
      const std::uint32_t high = transposed ? element(m, 2 * t + 1, g) : element(m, g, 2 * t + 1);
      words.push_back(high << 16 | low);
    }
  }
  return words;
}

const char* const kLists[] = {"{%r0}", "{%r0, %r1}", "", "{%r0, %r1, %r2, %r3}"};

TEST_F(MatrixTransfers, LoadsAsTheFigureHasIt) {
  for (const unsigned count : {1u, 2u, 4u}) {
    for (const bool transposed : {false, true}) {
      for (const bool generic : {false, true}) {
        const std::string code = kFill + "  ldmatrix.sync.aligned.m8n8.x" + std::to_string(count) +
                                 (transposed ? ".trans" : "") + (generic ? "" : ".shared") +
                                 ".b16 " + kLists[count - 1] + ", [" +
                                 (generic ? "%wide" : "%row") + "];\n";
        EXPECT_EQ(transfer(code, count), fragments(count, transposed)) << code;
      }
    }
  }
}

TEST_F(MatrixTransfers, LoadsARegisterOverItsAddress) {
  const std::string code = kFill +
                           "  mov.u32 %r1, %row;\n"
                           "  ldmatrix.sync.aligned.m8n8.x2.shared::cta.b16 {%r1, %r0}, [%r1];\n"
                           "  mov.u32 %v0, %r0; mov.u32 %r0, %r1; mov.u32 %r1, %v0;\n";
  EXPECT_EQ(transfer(code, 2), fragments(2, false));
}

TEST_F(MatrixTransfers, StoresAreTheInverse) {
  for (const unsigned count : {1u, 2u, 4u}) {
    for (const bool transposed : {false, true}) {
      const std::string number = std::to_string(count);
      // Loaded plainly, stored to the same rows (transposed), and loaded plainly again.
      const std::string load = "  ldmatrix.sync.aligned.m8n8.x" + number + ".shared.b16 " +
                               kLists[count - 1] + ", [%row];\n";
      const std::string store = "  stmatrix.sync.aligned.m8n8.x" + number +
                                (transposed ? ".trans" : "") + ".shared.b16 [%row], " +
                                kLists[count - 1] + ";\n";
      EXPECT_EQ(transfer(kFill + load + store + load, count), fragments(count, transposed));
    }
  }
}

TEST_F(MatrixTransfers, MovesTransposed) {
  const std::string code = kFill +
                           "  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%row];\n"
                           "  movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r0;\n";
  EXPECT_EQ(transfer(code, 1), fragments(1, true));
}

CUresult outcome(const std::string& code, std::string* reason) {
  const Buffer<std::uint16_t> in(all_rows());
  const Buffer<std::uint32_t> out(128, 0);
  CUdeviceptr at[] = {in.address, out.address};
  const CUresult result =
      launch(shared_frame(code, 4), "transfer", Dim(1), Dim(32), {&at[0], &at[1]});
  *reason = cuda_twin_last_fault();
  return result;
}

TEST_F(MatrixTransfers, MisalignedRows) {
  std::string reason;
  const std::string code = kFill +
                           "  add.u32 %row, %row, 8;\n  ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                           "{%r0, %r1, %r2, %r3}, [%row];\n";
  EXPECT_EQ(outcome(code, &reason), CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_NE(reason.find("misaligned"), std::string::npos) << reason;
}

TEST_F(MatrixTransfers, RowsThatNothingWasWrittenTo) {
  std::string reason;
  const std::string code =
      "  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%row];\n";
  EXPECT_EQ(outcome(code, &reason), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(reason.find("never written"), std::string::npos) << reason;
}

TEST_F(MatrixTransfers, RowsOutsideOfSharedMemory) {
  std::string reason;
  const std::string code =
      kFill +
      "  add.u32 %row, %row, 1024;\n  ldmatrix.sync.aligned.m8n8.x1.shared.b16 "
      "{%r0}, [%row];\n";
  EXPECT_EQ(outcome(code, &reason), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(MatrixTransfers, AddressesOfLanesWithoutARowDoNotMatter) {
  const std::string code = kFill +
                           "  setp.gt.u32 %few, %lane, 7;\n  @%few mov.u32 %row, 0x7ffffff1;\n"
                           "  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%row];\n";
  EXPECT_EQ(transfer("  .reg .pred %few;\n" + code, 1), fragments(1, false));
}

std::uint64_t bank_conflicts(const std::string& code) {
  std::string reason;
  cuda_twin_reset_counts();
  EXPECT_EQ(outcome(kFill + code, &reason), CUDA_SUCCESS) << reason;
  cuda_twin_kernel_counts counts{};
  EXPECT_EQ(cuda_twin_count_kernel("transfer", &counts), 1);
  return counts.bank_conflicts;
}

TEST_F(MatrixTransfers, BankConflictsAreThoseOfEachMatrix) {
  const std::string load =
      "  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%row];\n";
  // 32 bytes apart, rows 0 and 4 of a matrix share banks: a pass more for each of the four.
  EXPECT_EQ(bank_conflicts(load) - bank_conflicts(""), 4u);
  // 12 words apart, the rows of a matrix have all banks among them.
  const std::string apart =
      "  sub.u32 %row, 15, %lane;\n  max.s32 %row, %row, 0;\n"
      "  mad.lo.u32 %row, %row, 48, %base;\n";
  const std::string zero = "  st.shared.v4.b32 [%row], {0, 0, 0, 0};\n";
  const std::string half =
      "  bar.warp.sync 0xffffffff;\n"
      "  ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0, %r1}, [%row];\n";
  const std::string written = "  setp.lt.u32 %few, %lane, 16;\n  @%few" + zero;
  EXPECT_EQ(bank_conflicts("  .reg .pred %few;\n" + apart + written + half) -
                bank_conflicts("  .reg .pred %few;\n" + apart + written),
            0u);
}

/// Each lane reads the row that the next one wrote, after `between`.
std::string neighbours(const std::string& between) {
  return "  ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%in];\n"
         "  st.shared.v4.b32 [%row], {%v0, %v1, %v2, %v3};\n" +
         between +
         "  sub.u32 %v0, %lane, 1;\n  and.b32 %v0, %v0, 31;\n"
         "  mad.lo.u32 %v0, %v0, 32, %base;\n  ld.shared.b32 %r3, [%v0];\n";
}

TEST_F(MatrixTransfers, OrderOfOtherAccesses) {
  std::string reason;
  EXPECT_EQ(outcome(neighbours(""), &reason), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(reason.find("is not ordered"), std::string::npos) << reason;
}
TEST_F(MatrixTransfers, OthersAreOrderedByMovmatrix) {
  std::string reason;
  const std::string move = "  movmatrix.sync.aligned.m8n8.trans.b16 %r0, %lane;\n";
  EXPECT_EQ(outcome(neighbours(move), &reason), CUDA_SUCCESS) << reason;
}
TEST_F(MatrixTransfers, OthersAreOrderedByMma) {
  std::string reason;
  const std::string multiply =
      "  mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r0, %r1}, {%lane}, {%lane}, {%lane, "
      "%lane};\n";
  EXPECT_EQ(outcome(neighbours(multiply), &reason), CUDA_SUCCESS) << reason;
}
TEST_F(MatrixTransfers, LoadsAreNotOrderedAfterStoresOfOtherLanes) {
  std::string reason;
  const std::string code =
      "  ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%in];\n"
      "  st.shared.v4.b32 [%row], {%v0, %v1, %v2, %v3};\n"
      "  sub.u32 %row, %lane, 1;\n  and.b32 %row, %row, 31;\n  mad.lo.u32 %row, %row, 32, %base;\n"
      "  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%row];\n";
  EXPECT_EQ(outcome(code, &reason), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(reason.find("is not ordered"), std::string::npos) << reason;
}

TEST_F(MatrixTransfers, FormsThatDoNotExistAreRefused) {
  for (const char* code : {"ldmatrix.sync.aligned.m8n8.x3.shared.b16 {%r0, %r1, %r2}, [%r3];",
                           "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0}, [%r3];",
                           "ldmatrix.sync.aligned.m8n8.x1.global.b16 {%r0}, [%r3];",
                           "ldmatrix.aligned.m8n8.x1.shared.b16 {%r0}, [%r3];",
                           "ldmatrix.sync.aligned.m8n8.x1.shared.b32 {%r0}, [%r3];",
                           "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%l0}, [%r3];",
                           "movmatrix.sync.aligned.m8n8.b16 %r0, %r1;",
                           "stmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r3];"}) {
    std::string log;
    EXPECT_EQ(compile_error(code, &log), CUDA_ERROR_INVALID_PTX) << code;
    EXPECT_NE(log, "") << code;
  }
  CUmodule loaded = nullptr;
  const std::string load_text =
      frame<std::uint32_t>("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r3]", "6.5", "sm_70");
  EXPECT_EQ(load(load_text, &loaded), CUDA_ERROR_INVALID_PTX);
  const std::string store_text =
      frame<std::uint32_t>("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r3], {%r0}", "8.5", "sm_80");
  EXPECT_EQ(load(store_text, &loaded), CUDA_ERROR_INVALID_PTX);
}

}  // namespace matrices_test
