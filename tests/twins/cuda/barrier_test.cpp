// Block barriers, their reductions, and errors in their use.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support.h"

namespace barrier_test {

using twin_test::Buffer;
using twin_test::Dim;
using twin_test::Gpu;
using twin_test::launch;
using twin_test::module;

using Words = std::vector<std::uint32_t>;

std::string kernel(const std::string& code) {
  return module(
      ".visible .entry k(.param .u64 p) {\n"
      "  .reg .pred %p<8>;\n  .reg .b32 %r<32>, %t, %s, %w;\n  .reg .b64 %l<16>, %out, %mine;\n"
      "  .shared .align 4 .b8 area[4096];\n  ld.param.u64 %out, [p];\n  mov.u32 %t, %tid.x;\n"
      "  mad.wide.u32 %mine, %t, 4, %out;\n  mov.u32 %s, area;\n  mad.lo.u32 %s, %t, 4, %s;\n"
      "  shr.u32 %w, %t, 5;\n" +
      code + "\n}\n");
}

Words run(const std::string& code, unsigned threads, std::size_t words) {
  Gpu gpu;
  Buffer<std::uint32_t> out(words, 0);
  std::string log;
  EXPECT_EQ(launch(kernel(code), "k", Dim(1), Dim(threads), {&out.address}, 0, &log), CUDA_SUCCESS)
      << log << cuda_twin_last_fault();
  return out.read();
}

/// The reason of a launch that fails with `code`.
std::string failure(const std::string& code, unsigned threads,
                    CUresult expected = CUDA_ERROR_LAUNCH_FAILED) {
  Gpu gpu;
  Buffer<std::uint32_t> out(1024, 0);
  std::string log;
  EXPECT_EQ(launch(kernel(code), "k", Dim(1), Dim(threads), {&out.address}, 0, &log), expected)
      << log << cuda_twin_last_message();
  return cuda_twin_last_fault();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string load_log(const std::string& code) {
  Gpu gpu;
  std::string log;
  CUmodule loaded = nullptr;
  EXPECT_EQ(twin_test::load(kernel(code), &loaded, &log), CUDA_ERROR_INVALID_PTX) << code;
  return log;
}

TEST(Barrier, LanesSeeWhatOthersStoredBefore) {
  // Each thread stores its number and reads that of the thread at the other end of the block.
  for (const unsigned threads : {32u, 100u, 256u, 1024u}) {
    const Words out =
        run("st.shared.u32 [%s], %t;\nbar.sync 0;\nmov.u32 %r0, %ntid.x;\n"
            "sub.u32 %r0, %r0, 1;\nsub.u32 %r0, %r0, %t;\nmov.u32 %r1, area;\n"
            "mad.lo.u32 %r1, %r0, 4, %r1;\nld.shared.u32 %r2, [%r1];\n"
            "st.global.u32 [%mine], %r2;\nret;",
            threads, threads);
    for (unsigned i = 0; i < threads; ++i) EXPECT_EQ(out[i], threads - 1 - i) << threads;
  }
}

TEST(Barrier, ManyBarriersInALoop) {
  // A ring: in each of 50 rounds a thread adds the value of its neighbour.
  const unsigned threads = 96;
  const Words out =
      run("mov.u32 %r0, %t;\nmov.u32 %r5, 0;\nadd.u32 %r1, %t, 1;\nsetp.eq.u32 %p0, %r1, 96;\n"
          "@%p0 mov.u32 %r1, 0;\nmov.u32 %r2, area;\nmad.lo.u32 %r1, %r1, 4, %r2;\n"
          "LOOP: st.shared.u32 [%s], %r0;\nbarrier.sync 3;\nld.shared.u32 %r3, [%r1];\n"
          "barrier.sync 3;\nadd.u32 %r0, %r0, %r3;\nadd.u32 %r5, %r5, 1;\n"
          "setp.lt.u32 %p1, %r5, 50;\n@%p1 bra LOOP;\nst.global.u32 [%mine], %r0;\nret;",
          threads, threads);
  Words expected(threads);
  for (unsigned i = 0; i < threads; ++i) expected[i] = i;
  for (int round = 0; round < 50; ++round) {
    Words next(threads);
    for (unsigned i = 0; i < threads; ++i) next[i] = expected[i] + expected[(i + 1) % threads];
    expected = next;
  }
  EXPECT_EQ(out, expected);
}

TEST(Barrier, ProducersArriveAndConsumersWait) {
  // Warps 0 and 1 store and go on; warp 2 waits for the 96 threads of barrier 1.
  for (const std::string form : {"bar.", "bar.cta.", "barrier.", "barrier.cta."}) {
    for (const std::string aligned : {"", ".aligned"}) {
      if (form[3] == '.' && !aligned.empty()) continue;  // bar always is
      const Words out =
          run("setp.eq.u32 %p0, %w, 2;\n@%p0 bra WAIT;\nst.shared.u32 [%s], %t;\n" + form +
                  "arrive" + aligned + " 1, 96;\nret;\nWAIT: " + form + "sync" + aligned +
                  " 1, 96;\nsub.u32 %r0, %s, 256;\nld.shared.u32 %r1, [%r0];\n"
                  "ld.shared.u32 %r2, [%r0+128];\nadd.u32 %r1, %r1, %r2;\n"
                  "st.global.u32 [%mine+-256], %r1;\nret;",
              96, 32);
      for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(out[i], i + i + 32) << form << aligned << i;
    }
  }
}

TEST(Barrier, NumberAndCountInRegisters) {
  // The warps 0,1 and 2,3 meet at barriers of their own.
  for (const std::string form : {"bar.sync", "bar.cta.sync", "barrier.sync", "barrier.cta.sync",
                                 "barrier.sync.aligned", "barrier.cta.sync.aligned"}) {
    const Words out = run(
        "shr.u32 %r0, %t, 6;\nadd.u32 %r0, %r0, 4;\nmov.u32 %r1, 64;\nst.shared.u32 [%s], %t;\n" +
            form +
            " %r0, %r1;\nxor.b32 %r2, %t, 32;\nmov.u32 %r3, area;\n"
            "mad.lo.u32 %r3, %r2, 4, %r3;\nld.shared.u32 %r4, [%r3];\n"
            "st.global.u32 [%mine], %r4;\nret;",
        128, 128);
    for (unsigned i = 0; i < 128; ++i) EXPECT_EQ(out[i], i ^ 32) << form << i;
  }
}

TEST(Barrier, AWarpWithFewerLanesCountsAsAWholeOne) {
  // 40 threads are two warps: 64 at the barrier.
  const Words out = run("bar.sync 2, 64;\nst.global.u32 [%mine], %t;\nret;", 40, 40);
  for (unsigned i = 0; i < 40; ++i) EXPECT_EQ(out[i], i);
}

TEST(Barrier, ReductionsCountAndCombinePredicates) {
  const Words out = run(
      "setp.lt.u32 %p0, %t, 37;\nbar.red.popc.u32 %r0, 0, %p0;\nbar.red.popc.u32 %r1, 0, !%p0;\n"
      "setp.lt.u32 %p1, %t, 70;\nbar.red.and.pred %p2, 0, %p1;\nbar.red.and.pred %p3, 0, %p0;\n"
      "setp.gt.u32 %p4, %t, 69;\nbar.red.or.pred %p5, 0, %p4;\nbar.red.or.pred %p6, 0, !%p0;\n"
      "selp.u32 %r2, 1, 0, %p2;\nselp.u32 %r3, 2, 0, %p3;\nselp.u32 %r4, 4, 0, %p5;\n"
      "selp.u32 %r5, 8, 0, %p6;\nor.b32 %r2, %r2, %r3;\nor.b32 %r4, %r4, %r5;\n"
      "or.b32 %r2, %r2, %r4;\nmad.lo.u32 %r0, %r0, 1000, %r1;\nmad.lo.u32 %r0, %r0, 100, %r2;\n"
      "st.global.u32 [%mine], %r0;\nret;",
      70, 70);
  // All of 70 threads hold for `and`, none for the first `or`.
  for (unsigned i = 0; i < 70; ++i) EXPECT_EQ(out[i], (37 * 1000 + 33) * 100 + 1 + 8) << i;
}

TEST(Barrier, ReductionOfSomeWarps) {
  const Words out =
      run("setp.ge.u32 %p0, %t, 64;\n@%p0 ret;\nand.b32 %r1, %t, 3;\nsetp.eq.u32 %p1, %r1, 0;\n"
          "barrier.red.popc.aligned.u32 %r0, 5, 64, %p1;\nst.global.u32 [%mine], %r0;\nret;",
          96, 96);
  for (unsigned i = 0; i < 96; ++i) EXPECT_EQ(out[i], i < 64 ? 16u : 0u) << i;
}

TEST(Barrier, ReductionsOfEveryForm) {
  for (const char* form : {"bar.cta.red", "barrier.red", "barrier.cta.red", "barrier.red.aligned",
                           "barrier.cta.red.aligned"}) {
    const std::string red = form;
    const Words out =
        run("setp.lt.u32 %p0, %t, 37;\nsetp.lt.u32 %p1, %t, 70;\n" + red +
                ".popc.u32 %r0, 0, %p0;\n" + red + ".and.pred %p2, 0, %p0;\n" + red +
                ".and.pred %p3, 0, %p1;\n" + red + ".or.pred %p4, 0, !%p1;\n" + red +
                ".or.pred %p5, 0, %p0;\nshl.b32 %r0, %r0, 4;\n@%p2 or.b32 %r0, %r0, 1;\n"
                "@%p3 or.b32 %r0, %r0, 2;\n@%p4 or.b32 %r0, %r0, 4;\n"
                "@%p5 or.b32 %r0, %r0, 8;\nst.global.u32 [%mine], %r0;\nret;",
            70, 70);
    EXPECT_EQ(out, Words(70, 37 << 4 | 2 | 8)) << form;
  }
}

TEST(Barrier, DivergentLanesMayMeetAtBarrierSync) {
  const Words out = run(
      "st.shared.u32 [%s], %t;\nsetp.lt.u32 %p0, %t, 16;\n@%p0 bra LOW;\nbarrier.sync 0;\n"
      "bra JOIN;\nLOW: barrier.sync 0;\nJOIN: xor.b32 %r0, %t, 63;\nmov.u32 %r1, area;\n"
      "mad.lo.u32 %r1, %r0, 4, %r1;\nld.shared.u32 %r2, [%r1];\nst.global.u32 [%mine], %r2;\nret;",
      64, 64);
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(out[i], i ^ 63) << i;
}

TEST(Barrier, WarpsThatEndedAreNotWaitedFor) {
  const Words out =
      run("setp.ge.u32 %p0, %t, 64;\n@%p0 ret;\nbar.sync 0;\nst.global.u32 [%mine], 5;\nret;", 128,
          128);
  for (unsigned i = 0; i < 128; ++i) EXPECT_EQ(out[i], i < 64 ? 5u : 0u) << i;
}

TEST(Barrier, LanesOfALaterPathReachAnAlignedBarrierTogether) {
  const Words out =
      run("mov.u32 %r0, 0;\nsetp.lt.u32 %p0, %t, 16;\n@%p0 bra L;\nmov.u32 %r0, 7;\n"
          "L: bar.sync 0;\nst.global.u32 [%mine], %r0;\nret;",
          32, 32);
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(out[i], i < 16 ? 0u : 7u) << i;
}

TEST(Barrier, ClusterOfOneBlock) {
  const Words out = run(
      "st.shared.u32 [%s], %t;\nbarrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;\nxor.b32 %r0, %t, 63;\nmov.u32 %r1, area;\n"
      "mad.lo.u32 %r1, %r0, 4, %r1;\nld.shared.u32 %r2, [%r1];\nst.global.u32 [%mine], %r2;\nret;",
      64, 64);
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(out[i], i ^ 63) << i;
}

TEST(Barrier, LanesSeeWhatOthersStoredBeforeInEveryForm) {
  for (const char* code :
       {"bar.cta.sync 0;", "barrier.cta.sync 0;", "barrier.cta.sync.aligned 0, 64;",
        "barrier.sync.aligned 0;", "barrier.cluster.arrive; barrier.cluster.wait;",
        "fence.acq_rel.cluster; barrier.cluster.arrive.relaxed; barrier.cluster.wait.acquire;"}) {
    const Words out = run(std::string("st.shared.u32 [%s], %t;\n") + code +
                              "\nxor.b32 %r0, %t, 63;\nmov.u32 %r1, area;\n"
                              "mad.lo.u32 %r1, %r0, 4, %r1;\nld.shared.u32 %r2, [%r1];\n"
                              "st.global.u32 [%mine], %r2;\nret;",
                          64, 64);
    for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(out[i], i ^ 63) << code << i;
  }
}

TEST(Barrier, FencesOfEveryForm) {
  for (const char* fence : {"membar.cta",
                            "membar.gl",
                            "membar.sys",
                            "fence.sc.cta",
                            "fence.sc.gpu",
                            "fence.sc.sys",
                            "fence.sc.cluster",
                            "membar.proxy.alias",
                            "fence.proxy.tensormap::generic.acquire.sys [%out], 128",
                            "fence.proxy.tensormap::generic.acquire.cluster [%out], 128",
                            "fence.acq_rel.cta",
                            "fence.acq_rel.cluster",
                            "fence.acq_rel.gpu",
                            "fence.acq_rel.sys",
                            "fence.cta",
                            "fence.gpu",
                            "fence.proxy.alias",
                            "fence.proxy.async",
                            "fence.proxy.async.global",
                            "fence.proxy.async.shared::cta",
                            "fence.mbarrier_init.release.cluster",
                            "fence.proxy.tensormap::generic.release.gpu"}) {
    const Words out = run(std::string(fence) + ";\nst.global.u32 [%mine], 1;\nret;", 32, 32);
    EXPECT_EQ(out[31], 1u) << fence;
  }
}

TEST(Barrier, FencesOfSharedMemoryOnly) {
  Gpu gpu;
  const auto code_of = [](const std::string& form, const char* version) {
    CUmodule loaded = nullptr;
    const CUresult code = twin_test::load(
        module(".visible .entry k() {\n  " + form + ";\n  ret;\n}\n", version), &loaded);
    if (code == CUDA_SUCCESS) (void)cuModuleUnload(loaded);
    return code;
  };
  for (const std::string proxy : {"fence.", "fence.proxy.async::generic."}) {
    for (const std::string form : {"acquire.sync_restrict::shared::cluster.cluster",
                                   "release.sync_restrict::shared::cta.cluster"}) {
      EXPECT_EQ(code_of(proxy + form, "8.6"), CUDA_SUCCESS) << proxy << form;
      EXPECT_EQ(code_of(proxy + form, "8.5"), CUDA_ERROR_INVALID_PTX) << proxy << form;
    }
    for (const std::string form :
         {"release.sync_restrict::shared::cluster.cluster",
          "acquire.sync_restrict::shared::cta.cluster",
          "acquire.sync_restrict::shared::cluster.gpu", "acquire.sync_restrict::shared::cluster"}) {
      EXPECT_EQ(code_of(proxy + form, "8.6"), CUDA_ERROR_INVALID_PTX) << proxy << form;
    }
  }
}

TEST(Barrier, ClusterWaitNeedsAnArrival) {
  const std::string wait = "barrier.cluster.wait;\n";
  const std::string phase = "barrier.cluster.arrive;\n" + wait;
  EXPECT_TRUE(has(failure(wait + "ret;", 64), "have not arrived"));
  EXPECT_TRUE(has(failure(phase + wait + "ret;", 64), "have not arrived"));
  const std::string some =
      failure("setp.lt.u32 %p0, %t, 40;\n@%p0 barrier.cluster.arrive;\n" + wait + "ret;", 64);
  EXPECT_TRUE(has(some, "thread (40,0,0)")) << some;
  EXPECT_EQ(run(phase + phase + "st.global.u32 [%mine], 1;\nret;", 64, 64), Words(64, 1));
}

// --- Errors of the text

TEST(Barrier, NumbersAndCountsOutOfRangeDoNotLoad) {
  EXPECT_TRUE(has(load_log("bar.sync 16;\nret;"), "0 to 15"));
  EXPECT_TRUE(has(load_log("bar.sync 1, 33;\nret;"), "multiple of 32"));
  EXPECT_TRUE(has(load_log("bar.arrive 1;\nret;"), "bar.arrive"));
  EXPECT_TRUE(has(load_log("bar.red.xor.pred %p0, 0, %p1;\nret;"), ".popc, .and or .or"));
  EXPECT_TRUE(has(load_log("fence.acq_rel;\nret;"), "scope"));
  EXPECT_TRUE(has(load_log("membar.gpu;\nret;"), ".cta, .gl or .sys"));
}

// --- Errors of the program

TEST(Barrier, NumberInARegisterOutOfRangeIsAnError) {
  EXPECT_TRUE(has(failure("mov.u32 %r0, 16;\nbar.sync %r0;\nret;", 32), "barrier 16"));
  EXPECT_TRUE(has(failure("mov.u32 %r0, 20;\nbar.sync 0, %r0;\nret;", 32), "no multiple of 32"));
}

TEST(Barrier, AlignedBarrierInDivergentCodeIsReported) {
  const std::string reason = failure(
      "setp.lt.u32 %p0, %t, 16;\n@%p0 bra LOW;\nbar.sync 0;\nbra JOIN;\nLOW: bar.sync 0;\n"
      "JOIN: ret;",
      32);
  EXPECT_TRUE(has(reason, "aligned: kernel k")) << reason;
}

TEST(Barrier, AlignedBarrierThatSomeLanesSkipIsReported) {
  const std::string reason =
      failure("setp.ge.u32 %p0, %t, 16;\n@%p0 bra L;\nbar.sync 0;\nL: ret;", 32);
  EXPECT_TRUE(has(reason, "aligned: kernel k")) << reason;
  EXPECT_TRUE(has(reason, "lanes 16-31 of its warp have ended")) << reason;
}

TEST(Barrier, AlignedBarrierIsLetThroughWhereFindingsAreRecorded) {
  Gpu gpu;
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FINDINGS", "record"), 1);
  Buffer<std::uint32_t> out(32, 0);
  TWIN_OK(launch(kernel("setp.lt.u32 %p0, %t, 16;\n@%p0 bra LOW;\nbar.sync 0;\nbra JOIN;\n"
                        "LOW: bar.sync 0;\nJOIN: st.global.u32 [%mine], 3;\nret;"),
                 "k", Dim(1), Dim(32), {&out.address}));
  EXPECT_EQ(out.read(), Words(32, 3));
  ASSERT_GE(cuda_twin_findings(), 1u);
  const char* check = nullptr;
  const char* text = nullptr;
  ASSERT_EQ(cuda_twin_finding(0, &check, &text), 1);
  EXPECT_STREQ(check, "aligned");
}

TEST(Barrier, TwoBarriersThatWaitForEachOtherAreADeadlock) {
  const std::string reason = failure(
      "setp.lt.u32 %p0, %t, 32;\n@%p0 bra LOW;\nbar.sync 1;\nret;\nLOW: bar.sync 2;\nret;", 64);
  EXPECT_TRUE(has(reason, "deadlock")) << reason;
  EXPECT_TRUE(has(reason, "warp 0 lanes 0-31 wait at line")) << reason;
  EXPECT_TRUE(has(reason, "for barrier 2")) << reason;
  EXPECT_TRUE(has(reason, "for barrier 1")) << reason;
}

TEST(Barrier, MoreArrivalsThanEverComeAreADeadlock) {
  const std::string reason =
      failure("setp.ge.u32 %p0, %t, 32;\n@%p0 ret;\nbar.sync 1, 64;\nret;", 64);
  EXPECT_TRUE(has(reason, "deadlock")) << reason;
  EXPECT_TRUE(has(reason, "warp 1 lanes 0-31 have ended")) << reason;
}

TEST(Barrier, DifferentCountsOfArrivalsAreAnError) {
  const std::string reason = failure(
      "setp.lt.u32 %p0, %t, 32;\n@%p0 bra LOW;\nbar.sync 1, 64;\nret;\nLOW: bar.sync 1, 96;\nret;",
      96);
  EXPECT_TRUE(has(reason, "barrier 1 with")) << reason;
}

TEST(Barrier, ASecondArrivalIsAnError) {
  const std::string reason = failure("bar.arrive 1, 64;\nbar.arrive 1, 64;\nret;", 32);
  EXPECT_TRUE(has(reason, "second arrival")) << reason;
}

}  // namespace barrier_test
