// Failures on request, strict mode, counts, and many threads.
#include <thread>

#include "support.h"

namespace {

using namespace zdnn_test;

class ZdnnTwinFaults : public TwinTest {};
class ZdnnTwinStrict : public TwinTest {};
class ZdnnTwinCounts : public TwinTest {};
class ZdnnTwinThreads : public TwinTest {};

TEST_F(ZdnnTwinFaults, FailTheNthAllocation) {
  zdnn_tensor_desc pre{};
  zdnn_tensor_desc desc{};
  zdnn_init_pre_transformed_desc(ZDNN_1D, FP32, &pre, 3u);
  zdnn_generate_transformed_desc(&pre, &desc);
  const auto allocate = [&] {
    zdnn_ztensor t{};
    const zdnn_status status = zdnn_init_ztensor_with_malloc(&pre, &desc, &t);
    EXPECT_EQ(t.buffer == nullptr, status != ZDNN_OK);
    if (t.buffer != nullptr) zdnn_free_ztensor_buffer(&t);
    return status;
  };
  set("ZDNN_TWIN_FAIL_ALLOCATION", "2");
  EXPECT_EQ(allocate(), ZDNN_OK);
  EXPECT_EQ(allocate(), ZDNN_ALLOCATION_FAILURE);
  EXPECT_EQ(allocate(), ZDNN_OK);
  set("ZDNN_TWIN_FAIL_ALLOCATION", "2+");
  EXPECT_EQ(allocate(), ZDNN_OK);
  EXPECT_EQ(allocate(), ZDNN_ALLOCATION_FAILURE);
  EXPECT_EQ(allocate(), ZDNN_ALLOCATION_FAILURE);
  set("ZDNN_TWIN_FAIL_ALLOCATION", "0");
  EXPECT_EQ(allocate(), ZDNN_OK);
}

TEST_F(ZdnnTwinFaults, FailTheScratchAllocationOfAnOperation) {
  Tensor x(ZDNN_3DS, {1, 1, 3}, {1, 2, 3});
  Tensor out(ZDNN_3DS, {1, 1, 3});
  Tensor one(ZDNN_3DS, {1, 1, 1});
  set("ZDNN_TWIN_FAIL_ALLOCATION", "1+");
  EXPECT_EQ(zdnn_softmax(x, nullptr, SOFTMAX_ACT_NONE, out), ZDNN_ALLOCATION_FAILURE);
  EXPECT_EQ(zdnn_softmax_mask(x, nullptr, SOFTMAX_ACT_NONE, 1, out), ZDNN_ALLOCATION_FAILURE);
  EXPECT_EQ(zdnn_reduce(x, nullptr, REDUCE_OP_MAXIMUM, one), ZDNN_ALLOCATION_FAILURE);
  EXPECT_FALSE(out.tensor.is_transformed);
  EXPECT_EQ(zdnn_exp(x, out), ZDNN_OK);  // needs none
}

TEST_F(ZdnnTwinFaults, FailTheNthConversion) {
  const float x[] = {1, 2, 3};
  float host[3];
  Tensor t(ZDNN_1D, {3});
  set("ZDNN_TWIN_FAIL_CONVERSION", "2");
  EXPECT_EQ(zdnn_transform_ztensor(t, x), ZDNN_OK);
  EXPECT_EQ(zdnn_transform_origtensor(t, host), ZDNN_CONVERT_FAILURE);
  EXPECT_EQ(zdnn_transform_origtensor(t, host), ZDNN_OK);
  set("ZDNN_TWIN_FAIL_CONVERSION", "1+");
  zdnn_reset_ztensor(t);
  EXPECT_EQ(zdnn_transform_ztensor(t, x), ZDNN_CONVERT_FAILURE);
  EXPECT_FALSE(t.tensor.is_transformed);
  EXPECT_EQ(zdnn_transform_ztensor_with_saturation(t, x), ZDNN_CONVERT_FAILURE);
  Tensor q = Tensor::quantized(ZDNN_1D, FP32, {3}, QUANTIZED_INT8, 1, 0);
  EXPECT_EQ(zdnn_transform_quantized_ztensor(q, false, -9, 9, x), ZDNN_CONVERT_FAILURE);
  EXPECT_FALSE(q.tensor.is_transformed);
}

TEST_F(ZdnnTwinFaults, RaiseTheNthRangeViolation) {
  Tensor x(ZDNN_1D, {3}, {1, 2, 3});
  Tensor out(ZDNN_1D, {3});
  set("ZDNN_TWIN_FAIL_RANGE", "2");
  EXPECT_EQ(zdnn_exp(x, out), ZDNN_OK);
  EXPECT_EQ(zdnn_exp(x, out), ZDNN_ELEMENT_RANGE_VIOLATION);
  EXPECT_TRUE(out.tensor.is_transformed);
  EXPECT_EQ(out.cell(0), kNinf);
  EXPECT_NE(out.cell(2), kNinf);
  EXPECT_EQ(zdnn_exp(x, out), ZDNN_OK);
}

TEST_F(ZdnnTwinFaults, FailTheNthHardwareCall) {
  Tensor x(ZDNN_1D, {3}, {1, 2, 3});
  Tensor out(ZDNN_1D, {3});
  set("ZDNN_TWIN_FAIL_HARDWARE", "2");
  set("ZDNN_TWIN_HARDWARE_CODE", "0x12");
  EXPECT_EQ(zdnn_exp(x, out), ZDNN_OK);
  zdnn_reset_ztensor(out);
  out.set_cell(0, 0x1234);
  EXPECT_EQ(zdnn_exp(x, out), ZDNN_EXCEEDS_MDIS);
  EXPECT_FALSE(out.tensor.is_transformed);
  EXPECT_EQ(out.cell(0), 0x1234);  // untouched
  EXPECT_EQ(zdnn_exp(x, out), ZDNN_OK);
  set("ZDNN_TWIN_HARDWARE_CODE", "0x00100005");  // a whole status
  set("ZDNN_TWIN_FAIL_HARDWARE", "1+");
  EXPECT_EQ(zdnn_exp(x, out), ZDNN_UNSUPPORTED_AIU_EXCEPTION);
  EXPECT_EQ(zdnn_add(x, x, out), ZDNN_UNSUPPORTED_AIU_EXCEPTION);
  // Transforms by the machine are calls to it, those by software are not.
  const std::vector<float> values(33 * 64, 1);
  Tensor large(ZDNN_2D, {33, 64});
  EXPECT_EQ(zdnn_transform_ztensor(large, values.data()), ZDNN_UNSUPPORTED_AIU_EXCEPTION);
  EXPECT_FALSE(large.tensor.is_transformed);
  zdnn_reset_ztensor(x);
  EXPECT_EQ(zdnn_transform_ztensor(x, values.data()), ZDNN_OK);
  zdnn_twin_reset_settings();
  EXPECT_EQ(zdnn_transform_ztensor(large, values.data()), ZDNN_OK);
}

TEST_F(ZdnnTwinStrict, OffAcceptsUntransformedInputs) {
  Tensor x(ZDNN_1D, {3}, {1, 2, 3});
  Tensor out(ZDNN_1D, {3});
  zdnn_reset_ztensor(x);
  EXPECT_EQ(zdnn_exp(x, out), ZDNN_OK);
  EXPECT_EQ(zdnn_exp(out, out), ZDNN_OK);
}

TEST_F(ZdnnTwinStrict, RejectsUntransformedOrStaleInputs) {
  set("ZDNN_TWIN_STRICT", "status");
  Tensor x(ZDNN_2D, {40, 70}, some_numbers(2800));
  Tensor fresh(ZDNN_2D, {40, 70});
  Tensor out(ZDNN_2D, {40, 70});
  EXPECT_EQ(zdnn_exp(x, out), ZDNN_OK);
  EXPECT_EQ(zdnn_tanh(out, fresh), ZDNN_OK);  // chains are fine
  zdnn_reset_ztensor(fresh);
  zdnn_twin_reset_counts();
  EXPECT_EQ(zdnn_add(x, fresh, out), ZDNN_INVALID_STATE);
  EXPECT_EQ(zdnn_twin_count(ZDNN_TWIN_OBJECTIONS), 1u);
  EXPECT_NE(std::string(zdnn_twin_last_message()).find("zdnn_add"), std::string::npos);
  // Marked, but no data was brought in.
  Tensor empty(ZDNN_2D, {40, 70});
  empty.tensor.is_transformed = true;
  EXPECT_EQ(zdnn_add(x, empty, out), ZDNN_INVALID_STATE);
  // A partial write after use: a single cell.
  x.set_cell(8192 + 128, 0x1234);
  EXPECT_EQ(zdnn_exp(x, out), ZDNN_INVALID_STATE);
  std::vector<float> host(2800);
  EXPECT_EQ(zdnn_transform_origtensor(x, host.data()), ZDNN_INVALID_STATE);
  zdnn_twin_adopt(x);
  EXPECT_EQ(zdnn_exp(x, out), ZDNN_OK);
  x.set_cell(0, 0x1234);
  x.put(some_numbers(2800));
  EXPECT_EQ(zdnn_exp(x, out), ZDNN_OK);
}

TEST_F(ZdnnTwinStrict, RejectsReusedFreedMemory) {
  set("ZDNN_TWIN_STRICT", "status");
  zdnn_ztensor again{};
  zdnn_tensor_desc pre{};
  zdnn_tensor_desc desc{};
  void* old = nullptr;
  {
    Tensor t(ZDNN_1D, {3}, {1, 2, 3});
    pre = t.pre;
    desc = t.desc;
    old = t.tensor.buffer;
  }
  ASSERT_EQ(zdnn_init_ztensor_with_malloc(&pre, &desc, &again), ZDNN_OK);
  again.is_transformed = true;
  Tensor out(ZDNN_1D, {3});
  EXPECT_EQ(zdnn_exp(&again, out), ZDNN_INVALID_STATE) << (old == again.buffer);
  zdnn_free_ztensor_buffer(&again);
}

TEST_F(ZdnnTwinStrict, AcceptsPartsOfATransformedTensor) {
  set("ZDNN_TWIN_STRICT", "status");
  Tensor x(ZDNN_4D, {3, 1, 2, 4}, some_numbers(24));
  Tensor out(ZDNN_4D, {1, 1, 2, 4});
  zdnn_ztensor part = x.tensor;
  zdnn_tensor_desc desc = x.desc;
  desc.dim4 = 1;
  part.transformed_desc = &desc;
  part.buffer = static_cast<char*>(part.buffer) + 4096;
  part.buffer_size = 4096;
  EXPECT_EQ(zdnn_exp(&part, out), ZDNN_OK);
}

TEST_F(ZdnnTwinStrict, RejectsOutputsThatShareMemoryWithInputs) {
  Tensor x(ZDNN_1D, {3}, {1, 2, 3});
  EXPECT_EQ(zdnn_exp(x, x), ZDNN_OK);  // element by element, it works on the twin
  set("ZDNN_TWIN_STRICT", "status");
  x.put({1, 2, 3});
  EXPECT_EQ(zdnn_exp(x, x), ZDNN_INVALID_BUFFER);
}

TEST_F(ZdnnTwinStrict, AcceptsTheUnmarkedVarianceOfMoments) {
  set("ZDNN_TWIN_STRICT", "status");
  Tensor x(ZDNN_NHWC, {2, 1, 1, 70}, some_numbers(140));
  Tensor mean(ZDNN_NHWC, {2, 1, 1, 1});
  Tensor variance(ZDNN_NHWC, {2, 1, 1, 1});
  Tensor out(ZDNN_NHWC, {2, 1, 1, 70});
  ASSERT_EQ(zdnn_moments(x, MOMENTS_BESSEL_POPULATION, mean, variance), ZDNN_OK);
  EXPECT_EQ(zdnn_layernorm(x, mean, variance, 0, 1, 0.001f, out), ZDNN_OK);
  zdnn_reset_ztensor(mean);
  EXPECT_EQ(zdnn_layernorm(x, mean, variance, 0, 1, 0.001f, out), ZDNN_INVALID_STATE);
}

TEST_F(ZdnnTwinStrict, RejectsQuantizedComparisonsWithAnOffset) {
  const std::int8_t one = 1;
  Tensor a = Tensor::quantized(ZDNN_2D, INT8, {1, 1}, QUANTIZED_INT8, 1, 0);
  Tensor b = Tensor::quantized(ZDNN_2D, INT8, {1, 1}, QUANTIZED_WEIGHTS_INT8, 1, 3);
  Tensor c = Tensor::quantized(ZDNN_1D, INT8, {1}, QUANTIZED_INT8, 1, 0);
  Tensor out = Tensor::quantized(ZDNN_2D, FP32, {1, 1}, QUANTIZED_DLFLOAT16, 1, 0);
  set("ZDNN_TWIN_STRICT", "status");
  for (Tensor* t : {&a, &b, &c})
    ASSERT_EQ(zdnn_transform_quantized_ztensor(*t, false, -9, 9, &one), ZDNN_OK);
  const auto run = [&](zdnn_matmul_ops op) {
    return zdnn_quantized_matmul_op(a, b, c, op, -128, 127, true, false, false, nullptr, out);
  };
  EXPECT_EQ(run(MATMUL_OP_ADDITION), ZDNN_OK);
  EXPECT_EQ(run(MATMUL_OP_EQUAL), ZDNN_INVALID_OFFSET);
}

TEST_F(ZdnnTwinStrict, RejectsHostDataSmallerThanTheTensor) {
  const float x[] = {1, 2};
  Tensor t(ZDNN_1D, {3});
  t.pre.dim1 = 2;
  EXPECT_EQ(zdnn_transform_ztensor(t, x), ZDNN_OK);
  EXPECT_EQ(t.cell(4), kNinf);  // never written
  zdnn_reset_ztensor(t);
  set("ZDNN_TWIN_STRICT", "status");
  EXPECT_EQ(zdnn_transform_ztensor(t, x), ZDNN_INVALID_SHAPE);
}

using ZdnnTwinStrictDeathTest = ZdnnTwinStrict;

TEST_F(ZdnnTwinStrictDeathTest, AbortEndsTheProcess) {
  Tensor x(ZDNN_1D, {3}, {1, 2, 3});
  Tensor y(ZDNN_1D, {2}, {1, 2});
  Tensor out(ZDNN_1D, {3});
  const float negative = -1;
  set("ZDNN_TWIN_STRICT", "abort");
  EXPECT_DEATH(zdnn_exp(x, out), "zdnn_exp.*nothing that the library wrote");
  x.put({1, 2, 3});
  EXPECT_DEATH(zdnn_exp(x, y), "dimensions differ");
  // An error that the library itself finds is a status still.
  EXPECT_EQ(zdnn_relu(x, &negative, out), ZDNN_INVALID_CLIPPING_VALUE);
  EXPECT_EQ(zdnn_transform_ztensor(x, &negative), ZDNN_INVALID_STATE);
  EXPECT_EQ(zdnn_exp(x, out), ZDNN_OK);
}

TEST_F(ZdnnTwinCounts, CountTransformsOperationsAndAllocations) {
  Tensor x(ZDNN_1D, {3}, {1, 2, 3});
  Tensor y(ZDNN_1D, {3});
  EXPECT_EQ(zdnn_twin_count(ZDNN_TWIN_TRANSFORMS_IN), 1u);
  EXPECT_EQ(zdnn_twin_count(ZDNN_TWIN_ALLOCATIONS), 2u);
  zdnn_exp(x, y);
  zdnn_exp(x, y);
  zdnn_add(x, y, y);
  zdnn_add(x, y, nullptr);  // refused: not counted
  x.set_cell(0, kNinf);
  zdnn_add(x, y, y);
  y.get(3);
  EXPECT_EQ(zdnn_twin_count(ZDNN_TWIN_OPERATIONS), 4u);
  EXPECT_EQ(zdnn_twin_calls(NNPA_EXP), 2u);
  EXPECT_EQ(zdnn_twin_calls(NNPA_ADD), 2u);
  EXPECT_EQ(zdnn_twin_count(ZDNN_TWIN_RANGE_VIOLATIONS), 1u);
  EXPECT_EQ(zdnn_twin_count(ZDNN_TWIN_TRANSFORMS_OUT), 1u);
  EXPECT_EQ(zdnn_twin_count(static_cast<zdnn_twin_counter>(99)), 0u);
  EXPECT_EQ(zdnn_twin_calls(1000), 0u);
  zdnn_twin_reset_counts();
  EXPECT_EQ(zdnn_twin_count(ZDNN_TWIN_OPERATIONS), 0u);
  EXPECT_EQ(zdnn_twin_calls(NNPA_EXP), 0u);
}

TEST_F(ZdnnTwinThreads, ConcurrentCallsOnDifferentTensorsAreRight) {
  for (const char* strict : {"off", "status"}) {
    set("ZDNN_TWIN_STRICT", strict);
    zdnn_twin_reset_counts();
    Tensor weights(ZDNN_2D, {70, 90}, some_numbers(6300, 2));  // shared, only read
    Tensor bias(ZDNN_1D, {90}, some_numbers(90, 3));
    std::vector<std::vector<float>> results(4);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < results.size(); ++i)
      threads.emplace_back([&, i] {
        for (int round = 0; round < 5; ++round) {
          Tensor x(ZDNN_2D, {4, 70}, some_numbers(280, 1));
          Tensor y(ZDNN_2D, {4, 90});
          Tensor z(ZDNN_2D, {4, 90});
          EXPECT_EQ(zdnn_matmul_op(x, weights, bias, MATMUL_OP_ADDITION, y), ZDNN_OK);
          EXPECT_EQ(zdnn_tanh(y, z), ZDNN_OK) << zdnn_twin_last_message();
          results[i] = z.get(360);
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const auto& result : results) EXPECT_EQ(result, results[0]);
    EXPECT_EQ(zdnn_twin_count(ZDNN_TWIN_OPERATIONS), 40u);
  }
}

TEST_F(ZdnnTwinThreads, EachThreadHasItsOwnMessage) {
  Tensor x(ZDNN_1D, {1}, {1});
  const float bad = -1;
  EXPECT_NE(zdnn_relu(x, &bad, x), ZDNN_OK);
  std::string other = "?";
  std::thread([&] { other = zdnn_twin_last_message(); }).join();
  EXPECT_EQ(other, "");
  EXPECT_NE(std::string(zdnn_twin_last_message()).find("zdnn_relu"), std::string::npos);
}

}  // namespace
