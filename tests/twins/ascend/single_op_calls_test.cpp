// Objects, options, codes and compiled operators of the CANN twin's aclop interface.
#include "single_op_support.h"

namespace ascend_test::indexing {
namespace {

using SingleOpCalls = TwinTest;

TEST_F(SingleOpCalls, ObjectsAreOnTheLedgerAndKnownWhenDestroyed) {
  const std::int64_t shape[] = {2};
  aclTensorDesc* const description = aclCreateTensorDesc(ACL_FLOAT, 1, shape, ACL_FORMAT_ND);
  aclDataBuffer* const buffer = aclCreateDataBuffer(nullptr, 0);
  aclopAttr* const attributes = aclopCreateAttr();
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_SINGLE_OP_OBJECTS), 3U);
  aclDestroyTensorDesc(description);
  aclopDestroyAttr(attributes);
  EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_SUCCESS);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_SINGLE_OP_OBJECTS), 0U);
  EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclDestroyDataBuffer(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclUpdateDataBuffer(buffer, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclSetTensorFormat(description, ACL_FORMAT_ND), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopSetAttrBool(attributes, "a", 1), ACL_ERROR_INVALID_PARAM);
  aclDestroyTensorDesc(description);
  aclDestroyTensorDesc(nullptr);
  aclopDestroyAttr(nullptr);
  set("STRICT", "status");
  EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_ERROR_INVALID_PARAM);
  EXPECT_NE(std::string(ascend_twin_last_objection()).find("destroyed before"), std::string::npos);
}

TEST_F(SingleOpCalls, DescriptionsRefuseBadShapes) {
  const std::int64_t negative[] = {2, -1};
  EXPECT_EQ(aclCreateTensorDesc(ACL_FLOAT, 2, negative, ACL_FORMAT_ND), nullptr);
  EXPECT_EQ(aclCreateTensorDesc(ACL_FLOAT, 2, nullptr, ACL_FORMAT_ND), nullptr);
  EXPECT_EQ(aclCreateTensorDesc(ACL_FLOAT, -1, negative, ACL_FORMAT_ND), nullptr);
  const Port port;
  const std::int64_t good[] = {2};
  EXPECT_EQ(aclSetTensorShape(port.description(), 2, negative), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclSetTensorShape(port.description(), 1, good), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorOriginShape(port.description(), 2, negative), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclSetTensorOriginShape(port.description(), 1, good), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorOriginFormat(port.description(), ACL_FORMAT_ND), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorConst(port.description(), nullptr, 4), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclSetTensorPlaceMent(port.description(), static_cast<aclMemType>(3)),
            ACL_ERROR_INVALID_PARAM);
}

TEST_F(SingleOpCalls, AttributesRefuseNullPointers) {
  const Attributes attributes;
  aclopAttr* const attr = attributes.get();
  const std::int64_t integers[] = {1, 2};
  const float floats[] = {1};
  const std::uint8_t bools[] = {1};
  const char* strings[] = {"a", nullptr};
  const int counts[] = {2};
  const std::int64_t* const lists[] = {integers};
  const std::int64_t* const no_list[] = {nullptr};
  EXPECT_EQ(aclopSetAttrBool(attr, "b", 1), ACL_SUCCESS);
  EXPECT_EQ(aclopSetAttrInt(attr, "i", 1), ACL_SUCCESS);
  EXPECT_EQ(aclopSetAttrFloat(attr, "f", 1), ACL_SUCCESS);
  EXPECT_EQ(aclopSetAttrString(attr, "s", "x"), ACL_SUCCESS);
  EXPECT_EQ(aclopSetAttrDataType(attr, "d", ACL_INT8), ACL_SUCCESS);
  EXPECT_EQ(aclopSetAttrListBool(attr, "lb", 1, bools), ACL_SUCCESS);
  EXPECT_EQ(aclopSetAttrListInt(attr, "li", 2, integers), ACL_SUCCESS);
  EXPECT_EQ(aclopSetAttrListFloat(attr, "lf", 1, floats), ACL_SUCCESS);
  EXPECT_EQ(aclopSetAttrListString(attr, "ls", 1, strings), ACL_SUCCESS);
  EXPECT_EQ(aclopSetAttrListListInt(attr, "ll", 1, counts, lists), ACL_SUCCESS);
  EXPECT_EQ(aclopSetAttrListInt(attr, "none", 0, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclopSetAttrBool(attr, nullptr, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopSetAttrInt(nullptr, "i", 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopSetAttrString(attr, "s", nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopSetAttrListBool(attr, "lb", 1, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopSetAttrListInt(attr, "li", -1, integers), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopSetAttrListFloat(attr, nullptr, 1, floats), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopSetAttrListString(attr, "ls", 2, strings), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopSetAttrListListInt(attr, "ll", 1, counts, no_list), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopSetAttrListListInt(attr, "ll", 1, nullptr, lists), ACL_ERROR_INVALID_PARAM);
}

TEST_F(SingleOpCalls, OptionsAreKeptUntilTheLibraryIsInitialisedAnew) {
  EXPECT_EQ(aclGetCompileoptSize(ACL_PRECISION_MODE), 1U);
  ASSERT_EQ(aclSetCompileopt(ACL_PRECISION_MODE, "force_fp16"), ACL_SUCCESS);
  EXPECT_EQ(aclGetCompileoptSize(ACL_PRECISION_MODE), 11U);
  char text[11] = {};
  EXPECT_EQ(aclGetCompileopt(ACL_PRECISION_MODE, text, 10), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclGetCompileopt(ACL_PRECISION_MODE, text, 11), ACL_SUCCESS);
  EXPECT_STREQ(text, "force_fp16");
  restart({});
  EXPECT_EQ(aclGetCompileoptSize(ACL_PRECISION_MODE), 1U);
}

TEST_F(SingleOpCalls, OptionsRefuseOtherWords) {
  char text[8];
  EXPECT_EQ(aclSetCompileopt(ACL_PRECISION_MODE, "fast"), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclSetCompileopt(ACL_OP_JIT_COMPILE, "on"), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclSetCompileopt(ACL_OP_JIT_COMPILE, "disable"), ACL_SUCCESS);
  EXPECT_EQ(aclSetCompileopt(ACL_OP_DETERMINISTIC, "2"), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclSetCompileopt(ACL_PRECISION_MODE, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclSetCompileopt(static_cast<aclCompileOpt>(17), "1"), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclGetCompileopt(static_cast<aclCompileOpt>(-1), text, 8), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclGetCompileopt(ACL_PRECISION_MODE, nullptr, 8), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclGetCompileoptSize(static_cast<aclCompileOpt>(17)), 0U);
  EXPECT_EQ(aclopSetCompileFlag(ACL_OP_COMPILE_FUZZ), ACL_SUCCESS);
  EXPECT_EQ(aclopSetCompileFlag(static_cast<aclOpCompileFlag>(2)), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopSetModelDir(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopSetModelDir("/tmp"), ACL_ERROR_OP_LOAD_FAILED);
  EXPECT_EQ(aclopLoad(nullptr, 4), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopLoad(text, 8), ACL_ERROR_OP_LOAD_FAILED);
}

/// Cast of two F32 to F16, ready to run.
struct CastUse {
  Tensor<float> from{ACL_FLOAT, {2}, {1, 2}};
  Tensor<std::uint16_t> to{ACL_FLOAT16, {2}, Halves(2)};
  Port in{ACL_FLOAT, {2}, from};
  Port out{ACL_FLOAT16, {2}, to};
  Attributes attributes;
  CastUse() { EXPECT_EQ(aclopSetAttrInt(attributes.get(), "dst_type", 1), ACL_SUCCESS); }
  aclError execute() {
    Ports inputs{&in};
    Ports outputs{&out};
    const aclError code = aclopExecuteV2("Cast", 1, inputs.descriptions.data(),
                                         inputs.buffers.data(), 1, outputs.descriptions.data(),
                                         outputs.buffers.data(), attributes.get(), nullptr);
    const aclError late = aclrtSynchronizeStream(nullptr);
    return code != ACL_SUCCESS ? code : late;
  }
  aclError compile(const char* type = "Cast") {
    Ports inputs{&in};
    Ports outputs{&out};
    return aclopCompile(type, 1, inputs.descriptions.data(), 1, outputs.descriptions.data(),
                        attributes.get(), ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr);
  }
};

TEST_F(SingleOpCalls, ExecutesWhatWasCompiledForTheSameTensorsAndAttributes) {
  CastUse use;
  EXPECT_EQ(use.execute(), ACL_ERROR_OP_NOT_FOUND);
  ASSERT_EQ(use.compile(), ACL_SUCCESS);
  ASSERT_EQ(use.execute(), ACL_SUCCESS);
  EXPECT_EQ(use.to.values(), (Halves{0x3C00, 0x4000}));
  ASSERT_EQ(aclopSetAttrBool(use.attributes.get(), "other", 1), ACL_SUCCESS);
  EXPECT_EQ(use.execute(), ACL_ERROR_OP_NOT_FOUND);
  EXPECT_EQ(use.compile("NoSuchOperator"), ACL_ERROR_OP_NOT_FOUND);
}

TEST_F(SingleOpCalls, NothingIsCompiledAfterANewStart) {
  {
    CastUse use;
    ASSERT_EQ(use.compile(), ACL_SUCCESS);
  }
  restart({});
  CastUse use;
  EXPECT_EQ(use.execute(), ACL_ERROR_OP_NOT_FOUND);
}

TEST_F(SingleOpCalls, TheOlderFormKeepsDescriptionsConstant) {
  CastUse use;
  const aclTensorDesc* const in[] = {use.in.description()};
  const aclDataBuffer* const from[] = {use.in.buffer()};
  const aclTensorDesc* const out[] = {use.out.description()};
  aclDataBuffer* const to[] = {use.out.buffer()};
  ASSERT_EQ(aclopCompileAndExecute("Cast", 1, in, from, 1, out, to, use.attributes.get(),
                                   ACL_ENGINE_AICORE, ACL_COMPILE_UNREGISTERED, nullptr, nullptr),
            ACL_SUCCESS);
  EXPECT_EQ(use.execute(), ACL_SUCCESS);
  EXPECT_EQ(use.to.values(), (Halves{0x3C00, 0x4000}));
}

TEST_F(SingleOpCalls, RefusesWhatTheFrontEndChecks) {
  CastUse use;
  Ports in{&use.in};
  Ports out{&use.out};
  const auto code = [&](const char* type, int inputs, aclTensorDesc** descriptions,
                        aclDataBuffer** buffers, aclopEngineType engine, aclopCompileType compile) {
    return aclopCompileAndExecuteV2(type, inputs, descriptions, buffers, 1, out.descriptions.data(),
                                    out.buffers.data(), use.attributes.get(), engine, compile,
                                    nullptr, nullptr);
  };
  const auto engine = ACL_ENGINE_SYS;
  const auto compile = ACL_COMPILE_SYS;
  aclTensorDesc** const descriptions = in.descriptions.data();
  aclDataBuffer** const buffers = in.buffers.data();
  EXPECT_EQ(code("Cast", 1, descriptions, buffers, engine, compile), ACL_SUCCESS);
  EXPECT_EQ(code(nullptr, 1, descriptions, buffers, engine, compile), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(code("Cast", -1, descriptions, buffers, engine, compile), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(code("Cast", 1, nullptr, buffers, engine, compile), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(code("Cast", 1, descriptions, nullptr, engine, compile), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(code("Cast", 1, descriptions, buffers, static_cast<aclopEngineType>(7), compile),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(code("Cast", 1, descriptions, buffers, engine, static_cast<aclopCompileType>(2)),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(code("Cast", 0, descriptions, buffers, engine, compile), ACL_ERROR_GE_FAILURE);
  aclTensorDesc* no_description[] = {nullptr};
  aclDataBuffer* no_buffer[] = {nullptr};
  EXPECT_EQ(code("Cast", 1, no_description, buffers, engine, compile), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(code("Cast", 1, descriptions, no_buffer, engine, compile), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
}

TEST_F(SingleOpCalls, RefusesTensorsThatItCannotTake) {
  CastUse use;
  const Port small(ACL_FLOAT, {2}, use.from.address(), 7);
  EXPECT_EQ(single_op("Cast", {&small}, {&use.out}, use.attributes.get()), ACL_ERROR_INVALID_PARAM);
  const Port nothing(ACL_FLOAT, {2}, nullptr, 8);
  EXPECT_EQ(single_op("Cast", {&nothing}, {&use.out}, use.attributes.get()),
            ACL_ERROR_INVALID_PARAM);
  const Port complex(ACL_COMPLEX64, {1}, use.from.address(), 8);
  EXPECT_EQ(single_op("Cast", {&complex}, {&use.out}, use.attributes.get()),
            ACL_ERROR_UNSUPPORTED_DATA_TYPE);
  const Port nz(ACL_FLOAT, {2}, use.from.address(), 8, ACL_FORMAT_FRACTAL_NZ);
  EXPECT_EQ(single_op("Cast", {&nz}, {&use.out}, use.attributes.get()), ACL_ERROR_FORMAT_NOT_MATCH);
  const Port left_out;
  EXPECT_EQ(single_op("Cast", {&left_out}, {&use.out}, use.attributes.get()), ACL_ERROR_GE_FAILURE);
  const Port wide(ACL_FLOAT16, {3}, use.from.address(), 8);
  EXPECT_EQ(single_op("Cast", {&use.in}, {&wide}, use.attributes.get()), ACL_ERROR_GE_FAILURE);
  EXPECT_EQ(single_op("Cast", {&use.in}, {&use.in}, use.attributes.get()), ACL_ERROR_GE_FAILURE);
  EXPECT_EQ(single_op("Cast", {&use.in}, {&left_out}, use.attributes.get()), ACL_ERROR_GE_FAILURE);
  EXPECT_EQ(single_op("Cast", {&use.in}, {&use.out, &use.out}, use.attributes.get()),
            ACL_ERROR_GE_FAILURE);
}

TEST_F(SingleOpCalls, FreedMemoryIsALateError) {
  CastUse use;
  void* address = nullptr;
  ASSERT_EQ(aclrtMalloc(&address, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtFree(address), ACL_SUCCESS);
  const Port freed(ACL_FLOAT, {2}, address, 8);
  EXPECT_EQ(single_op("Cast", {&freed}, {&use.out}, use.attributes.get()),
            ACL_ERROR_RT_AICORE_EXCEPTION);
}

TEST_F(SingleOpCalls, FaultsAndAMissingPathOfOperators) {
  CastUse use;
  set("FAIL_LAUNCH", "1");
  EXPECT_EQ(single_op("Cast", {&use.in}, {&use.out}, use.attributes.get()), ACL_ERROR_RT_FAILURE);
  EXPECT_EQ(single_op("Cast", {&use.in}, {&use.out}, use.attributes.get()), ACL_SUCCESS);
  set("OPP", "missing");
  EXPECT_EQ(single_op("Cast", {&use.in}, {&use.out}, use.attributes.get()),
            ACL_ERROR_INVALID_OPP_PATH);
  EXPECT_EQ(use.compile(), ACL_ERROR_INVALID_OPP_PATH);
  Tensor<float> tensor(ACL_FLOAT, {1}, {1});
  EXPECT_EQ(RUN_OP(InplaceZero, tensor.get()), ACLNN_ERR_INNER_OPP_PATH_NOT_FOUND);
}

TEST_F(SingleOpCalls, NeedsTheLibraryAndAContext) {
  CastUse use;
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(use.compile(), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(use.execute(), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_EQ(use.compile(), ACL_ERROR_UNINITIALIZE);
  EXPECT_EQ(aclSetCompileopt(ACL_PRECISION_MODE, "force_fp16"), ACL_ERROR_UNINITIALIZE);
  EXPECT_EQ(aclopSetModelDir("/tmp"), ACL_ERROR_UNINITIALIZE);
}

}  // namespace
}  // namespace ascend_test::indexing
