// The kernels that single operators reach.
#include "single_op_support.h"

namespace ascend_test::indexing {
namespace {

using SingleOpKernels = TwinTest;

void set_true(const Attributes& attributes, const char* name) {
  ASSERT_EQ(aclopSetAttrBool(attributes.get(), name, 1), ACL_SUCCESS);
}

TEST_F(SingleOpKernels, MultipliesTransposedMatricesWithABias) {
  const Floats a{1, 2, 3, 4, 5, 6};
  const Floats b{1, 0, 2, 0, 1, 1};
  for (int bits = 0; bits < 4; ++bits) {
    const bool first = (bits & 1) != 0;
    const bool second = (bits & 2) != 0;
    // A is [2, 3], or [3, 2] used transposed; B the same the other way round.
    Tensor<float> x(ACL_FLOAT, {6}, a);
    Tensor<float> y(ACL_FLOAT, {6}, b);
    Tensor<float> bias(ACL_FLOAT, {2}, {100, 200});
    Tensor<float> out(ACL_FLOAT, {4}, Floats(4));
    const Port x1(ACL_FLOAT, first ? Longs{3, 2} : Longs{2, 3}, x);
    const Port x2(ACL_FLOAT, second ? Longs{2, 3} : Longs{3, 2}, y);
    const Port third(ACL_FLOAT, {2}, bias);
    const Port result(ACL_FLOAT, {2, 2}, out);
    const Attributes attributes;
    if (first) set_true(attributes, "transpose_x1");
    if (second) set_true(attributes, "transpose_x2");
    ASSERT_EQ(single_op("MatMulV2", {&x1, &x2, &third}, {&result}, attributes.get()), ACL_SUCCESS)
        << ascend_twin_last_message();
    Floats expected;
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t j = 0; j < 2; ++j) {
        float sum = j == 0 ? 100 : 200;
        for (std::size_t k = 0; k < 3; ++k) {
          sum += (first ? a[k * 2 + i] : a[i * 3 + k]) * (second ? b[j * 3 + k] : b[k * 2 + j]);
        }
        expected.push_back(sum);
      }
    }
    EXPECT_EQ(out.values(), expected) << bits;
  }
}

TEST_F(SingleOpKernels, MultipliesBatchesWithOptionalInputsLeftOut) {
  Tensor<float> x(ACL_FLOAT, {8}, {1, 2, 3, 4, 5, 6, 7, 8});
  Tensor<float> y(ACL_FLOAT, {2}, {1, 10});
  Tensor<float> out(ACL_FLOAT, {4}, Floats(4));
  const Port x1(ACL_FLOAT, {2, 2, 2}, x);
  const Port x2(ACL_FLOAT, {1, 1, 2}, y);
  const Port left_out;
  const Port result(ACL_FLOAT, {2, 2, 1}, out);
  const Attributes attributes;
  set_true(attributes, "adj_x2");
  ASSERT_EQ(
      single_op("BatchMatMulV2", {&x1, &x2, &left_out, &left_out}, {&result}, attributes.get()),
      ACL_SUCCESS)
      << ascend_twin_last_message();
  EXPECT_EQ(out.values(), (Floats{21, 43, 65, 87}));
  const Port vector(ACL_FLOAT, {2}, y);
  EXPECT_EQ(single_op("BatchMatMulV2", {&x1, &vector}, {&result}), ACL_ERROR_GE_FAILURE);
  EXPECT_EQ(single_op("BatchMatMulV2", {&x1, &x2}, {&result}), ACL_ERROR_GE_FAILURE);
  EXPECT_EQ(single_op("MatMulV2", {&x1, &left_out}, {&result}), ACL_ERROR_GE_FAILURE);
}

TEST_F(SingleOpKernels, RoundsF32ToF16WhereTheChipHasNoF32Unit) {
  // 2049 is no F16.
  const auto product_with = [](const char* chip, const char* mode) {
    restart({{"PROFILE", chip}});
    if (mode != nullptr) {
      EXPECT_EQ(aclSetCompileopt(ACL_PRECISION_MODE, mode), ACL_SUCCESS);
    }
    Tensor<float> x(ACL_FLOAT, {1}, {2049});
    Tensor<float> y(ACL_FLOAT, {1}, {1});
    Tensor<float> out(ACL_FLOAT, {1}, {0});
    const Port x1(ACL_FLOAT, {1, 1}, x);
    const Port x2(ACL_FLOAT, {1, 1}, y);
    const Port result(ACL_FLOAT, {1, 1}, out);
    const aclError code = single_op("MatMulV2", {&x1, &x2}, {&result});
    return code == ACL_SUCCESS ? out.values()[0] : static_cast<float>(-code);
  };
  EXPECT_EQ(product_with("910b", nullptr), 2049);
  EXPECT_EQ(product_with("910b", "force_fp16"), 2048);
  EXPECT_EQ(product_with("310p", nullptr), 2048);
  EXPECT_EQ(product_with("310b", nullptr), 2048);
  EXPECT_EQ(product_with("310b", "allow_fp32_to_fp16"), 2048);
  EXPECT_EQ(product_with("310b", "must_keep_origin_dtype"), -ACL_ERROR_GE_FAILURE);
}

TEST_F(SingleOpKernels, OptionsAreThoseOfTheSubmission) {
  restart({{"ORDER", "lazy"}});
  Tensor<float> x(ACL_FLOAT, {1}, {2049});
  Tensor<float> y(ACL_FLOAT, {1}, {1});
  Tensor<float> first(ACL_FLOAT, {1}, {0});
  Tensor<float> second(ACL_FLOAT, {1}, {0});
  const Port x1(ACL_FLOAT, {1, 1}, x);
  const Port x2(ACL_FLOAT, {1, 1}, y);
  const Ports inputs{&x1, &x2};
  const auto queue = [&](const Tensor<float>& out) {
    const Port result(ACL_FLOAT, {1, 1}, out);
    const Ports outputs{&result};
    return aclopCompileAndExecute("MatMulV2", 2, inputs.descriptions.data(), inputs.buffers.data(),
                                  1, outputs.descriptions.data(),
                                  const_cast<aclDataBuffer**>(outputs.buffers.data()), nullptr,
                                  ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr, nullptr);
  };
  ASSERT_EQ(queue(first), ACL_SUCCESS);
  ASSERT_EQ(aclSetCompileopt(ACL_PRECISION_MODE, "force_fp16"), ACL_SUCCESS);
  ASSERT_EQ(queue(second), ACL_SUCCESS);
  ASSERT_EQ(aclSetCompileopt(ACL_PRECISION_MODE, "must_keep_origin_dtype"), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(first.values()[0], 2049);
  EXPECT_EQ(second.values()[0], 2048);
}

TEST_F(SingleOpKernels, RefusesTypesThatTheChipLacks) {
  const auto code_on = [](const char* chip) {
    restart({{"PROFILE", chip}});
    Tensor<std::uint16_t> x(ACL_BF16, {1}, {0x3F80});
    const Port port(ACL_BF16, {1, 1}, x);
    return single_op("MatMulV2", {&port, &port}, {&port});
  };
  EXPECT_EQ(code_on("910b"), ACL_SUCCESS);
  EXPECT_EQ(code_on("310p"), ACL_ERROR_UNSUPPORTED_DATA_TYPE);
  EXPECT_EQ(code_on("310b"), ACL_ERROR_UNSUPPORTED_DATA_TYPE);
}

TEST_F(SingleOpKernels, TransposesByAConstant) {
  Tensor<float> x(ACL_FLOAT, {6}, {1, 2, 3, 4, 5, 6});
  Tensor<float> out(ACL_FLOAT, {6}, Floats(6));
  Tensor<std::int32_t> device(ACL_INT32, {2}, {1, 0});
  const Port in(ACL_FLOAT, {2, 3}, x);
  const Port result(ACL_FLOAT, {3, 2}, out);
  const Constant<std::int32_t> dimensions(ACL_INT32, {2}, {1, 0});
  ASSERT_EQ(single_op("Transpose", {&in, &dimensions}, {&result}), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{1, 4, 2, 5, 3, 6}));
  const Port no_constant(ACL_INT32, {2}, device);
  EXPECT_EQ(single_op("Transpose", {&in, &no_constant}, {&result}), ACL_ERROR_GE_FAILURE);
  const Constant<std::int32_t> twice(ACL_INT32, {2}, {1, 1});
  EXPECT_EQ(single_op("Transpose", {&in, &twice}, {&result}), ACL_ERROR_GE_FAILURE);
}

TEST_F(SingleOpKernels, GathersAlongAnAxisInHostMemory) {
  Tensor<float> x(ACL_FLOAT, {6}, {1, 2, 3, 4, 5, 6});
  Tensor<std::int64_t> index(ACL_INT64, {2}, {2, 0});
  Tensor<float> out(ACL_FLOAT, {4}, Floats(4));
  const Port in(ACL_FLOAT, {2, 3}, x);
  const Port indices(ACL_INT64, {2}, index);
  const Port result(ACL_FLOAT, {2, 2}, out);
  std::int64_t axis = 1;
  const Port placed(ACL_INT64, {}, &axis, sizeof axis);
  ASSERT_EQ(aclSetTensorPlaceMent(placed.description(), ACL_MEMTYPE_HOST), ACL_SUCCESS);
  ASSERT_EQ(single_op("GatherV2", {&in, &indices, &placed}, {&result}), ACL_SUCCESS)
      << ascend_twin_last_message();
  EXPECT_EQ(out.values(), (Floats{3, 1, 6, 4}));
  // Host placement of memory that the host cannot read.
  const Port wrong(ACL_INT64, {}, index.address(), 8);
  ASSERT_EQ(aclSetTensorPlaceMent(wrong.description(), ACL_MEMTYPE_HOST), ACL_SUCCESS);
  EXPECT_EQ(single_op("GatherV2", {&in, &indices, &wrong}, {&result}), ACL_ERROR_INVALID_PARAM);
  const Attributes attributes;
  ASSERT_EQ(aclopSetAttrInt(attributes.get(), "batch_dims", 1), ACL_SUCCESS);
  EXPECT_EQ(single_op("GatherV2", {&in, &indices, &placed}, {&result}, attributes.get()),
            ACL_ERROR_FEATURE_UNSUPPORTED);
}

TEST_F(SingleOpKernels, JoinsFillsAndCounts) {
  Tensor<float> x(ACL_FLOAT, {2}, {1, 2});
  Tensor<float> y(ACL_FLOAT, {4}, {3, 4, 5, 6});
  Tensor<float> out(ACL_FLOAT, {6}, Floats(6));
  const Port first(ACL_FLOAT, {2, 1}, x);
  const Port second(ACL_FLOAT, {2, 2}, y);
  const Port joined(ACL_FLOAT, {2, 3}, out);
  const Attributes attributes;
  EXPECT_EQ(single_op("ConcatD", {&first, &second}, {&joined}, attributes.get()),
            ACL_ERROR_GE_FAILURE);
  ASSERT_EQ(aclopSetAttrInt(attributes.get(), "concat_dim", 1), ACL_SUCCESS);
  ASSERT_EQ(single_op("ConcatD", {&first, &second}, {&joined}, attributes.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{1, 3, 4, 2, 5, 6}));

  const Constant<std::int64_t> dimensions(ACL_INT64, {2}, {2, 3});
  const Constant<float> value(ACL_FLOAT, {}, {2.5F});
  ASSERT_EQ(single_op("Fill", {&dimensions, &value}, {&joined}), ACL_SUCCESS);
  EXPECT_EQ(out.values(), Floats(6, 2.5F));
  const Constant<std::int64_t> other(ACL_INT64, {2}, {3, 2});
  EXPECT_EQ(single_op("Fill", {&other, &value}, {&joined}), ACL_ERROR_GE_FAILURE);

  const Port row(ACL_FLOAT, {6}, out);
  const Constant<float> start(ACL_FLOAT, {1}, {1});
  const Constant<float> end(ACL_FLOAT, {1}, {4});
  const Constant<float> step(ACL_FLOAT, {1}, {0.5F});
  ASSERT_EQ(single_op("Range", {&start, &end, &step}, {&row}), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{1, 1.5F, 2, 2.5F, 3, 3.5F}));
  const Constant<float> zero(ACL_FLOAT, {1}, {0});
  EXPECT_EQ(single_op("Range", {&start, &end, &zero}, {&row}), ACL_ERROR_GE_FAILURE);
  const Constant<float> two(ACL_FLOAT, {2}, {1, 2});
  EXPECT_EQ(single_op("Range", {&two, &end, &step}, {&row}), ACL_ERROR_GE_FAILURE);
}

TEST_F(SingleOpKernels, AConstantWithTooFewBytesIsRefused) {
  Tensor<float> out(ACL_FLOAT, {6}, Floats(6));
  const Port row(ACL_FLOAT, {6}, out);
  const Constant<std::int32_t> start(ACL_FLOAT, {4}, {1});
  EXPECT_EQ(single_op("Range", {&start, &start, &start}, {&row}), ACL_ERROR_INVALID_PARAM);
}

TEST_F(SingleOpKernels, KeepsTriangles) {
  Tensor<float> x(ACL_FLOAT, {4}, {1, 2, 3, 4});
  Tensor<float> out(ACL_FLOAT, {4}, Floats(4));
  const Port in(ACL_FLOAT, {2, 2}, x);
  const Port result(ACL_FLOAT, {2, 2}, out);
  ASSERT_EQ(single_op("Tril", {&in}, {&result}), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{1, 0, 3, 4}));
  const Attributes attributes;
  ASSERT_EQ(aclopSetAttrInt(attributes.get(), "diagonal", 1), ACL_SUCCESS);
  ASSERT_EQ(single_op("Triu", {&in}, {&result}, attributes.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{0, 2, 0, 0}));
}

TEST_F(SingleOpKernels, AddsAndRefusesAnInputInHostMemory) {
  Tensor<float> x(ACL_FLOAT, {2}, {1, 2});
  Tensor<float> y(ACL_FLOAT, {1}, {10});
  Tensor<float> out(ACL_FLOAT, {2}, Floats(2));
  const Port first(ACL_FLOAT, {2}, x);
  const Port second(ACL_FLOAT, {1}, y);
  const Port result(ACL_FLOAT, {2}, out);
  ASSERT_EQ(single_op("Add", {&first, &second}, {&result}), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (Floats{11, 12}));
  const Constant<float> constant(ACL_FLOAT, {1}, {10});
  EXPECT_EQ(single_op("Add", {&first, &constant}, {&result}), ACL_ERROR_FEATURE_UNSUPPORTED);
}

}  // namespace
}  // namespace ascend_test::indexing
