// The library as a program finds it: symbols, versions, the capabilities of each machine.
#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iterator>

#include "support.h"

namespace {

using namespace zdnn_test;

class ZdnnTwinQuery : public TwinTest {};

static_assert(sizeof(zdnn_tensor_desc) == 28);
static_assert(sizeof(zdnn_ztensor) == 64);
static_assert(offsetof(zdnn_ztensor, buffer_size) == 16);
static_assert(offsetof(zdnn_ztensor, buffer) == 24);
static_assert(offsetof(zdnn_ztensor, is_transformed) == 32);
static_assert(offsetof(zdnn_ztensor, rec_scale) == 36);
static_assert(offsetof(zdnn_ztensor, offset) == 40);
static_assert(sizeof(zdnn_status) == 4);
static_assert(sizeof(bool) == 1);

constexpr const char* kSince10[] = {"init",
                                    "init_pre_transformed_desc",
                                    "generate_transformed_desc",
                                    "generate_transformed_desc_concatenated",
                                    "init_ztensor",
                                    "init_ztensor_with_malloc",
                                    "allochelper_ztensor",
                                    "free_ztensor_buffer",
                                    "reset_ztensor",
                                    "getsize_ztensor",
                                    "reshape_ztensor",
                                    "transform_ztensor",
                                    "transform_origtensor",
                                    "is_nnpa_installed",
                                    "is_nnpa_function_installed",
                                    "is_nnpa_parmblk_fmt_installed",
                                    "is_nnpa_datatype_installed",
                                    "is_nnpa_layout_fmt_installed",
                                    "is_nnpa_conversion_installed",
                                    "get_nnpa_max_dim_idx_size",
                                    "get_nnpa_max_tensor_size",
                                    "refresh_nnpa_query_result",
                                    "get_library_version",
                                    "get_library_version_str",
                                    "is_version_runnable",
                                    "get_max_runnable_version",
                                    "get_status_message",
                                    "add",
                                    "sub",
                                    "mul",
                                    "div",
                                    "min",
                                    "max",
                                    "log",
                                    "exp",
                                    "relu",
                                    "tanh",
                                    "sigmoid",
                                    "softmax",
                                    "matmul_op",
                                    "matmul_bcast_op",
                                    "batchnorm",
                                    "meanreduce2d",
                                    "avgpool2d",
                                    "maxpool2d",
                                    "conv2d",
                                    "lstm",
                                    "gru"};
constexpr const char* kSince11[] = {"get_max_for_dim",
                                    "get_max_limit",
                                    "get_min_limit",
                                    "getrange_ztensor",
                                    "generate_quantized_transformed_desc",
                                    "init_quantized_ztensor",
                                    "init_quantized_ztensor_with_malloc",
                                    "is_quantized_ztensor",
                                    "transform_ztensor_with_saturation",
                                    "transform_quantized_ztensor",
                                    "matmul_transpose_op",
                                    "quantized_matmul_op",
                                    "sqrt",
                                    "invsqrt",
                                    "gelu",
                                    "leaky_relu",
                                    "softmax_mask",
                                    "norm",
                                    "moments",
                                    "layernorm",
                                    "reduce"};
static_assert(std::size(kSince10) == 48 && std::size(kSince11) == 21);

class Library {
 public:
  explicit Library(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  ~Library() { dlclose(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  void* symbol(const std::string& name) const { return dlsym(handle_, name.c_str()); }
  void* vendor_symbol(const std::string& name) const {
    return dlvsym(handle_, ("zdnn_" + name).c_str(), "ZDNN_1.0");
  }
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* handle_;
};

TEST_F(ZdnnTwinQuery, Version11HasAllSymbols) {
  const Library library(ZDNN_TWIN_PATH);
  for (const char* name : kSince10) EXPECT_NE(library.vendor_symbol(name), nullptr) << name;
  for (const char* name : kSince11) EXPECT_NE(library.vendor_symbol(name), nullptr) << name;
  EXPECT_NE(library.symbol("zdnn_twin_count"), nullptr);
  EXPECT_EQ(library.symbol("_ZN9zdnn_twin7machineEv"), nullptr);  // its own functions stay inside
}

TEST_F(ZdnnTwinQuery, Version10LacksTheNewerSymbols) {
  const Library library(ZDNN_TWIN_1_0_PATH);
  for (const char* name : kSince10) EXPECT_NE(library.vendor_symbol(name), nullptr) << name;
  for (const char* name : kSince11)
    EXPECT_EQ(library.symbol(std::string("zdnn_") + name), nullptr) << name;
  EXPECT_NE(library.symbol("zdnn_twin_count"), nullptr);
}

TEST_F(ZdnnTwinQuery, Version10OnANewMachineReportsVersion10) {
  const Library library(ZDNN_TWIN_1_0_PATH);
  const auto set = library.function<bool(const char*, const char*)>("zdnn_twin_set");
  const auto version = library.function<uint32_t()>("zdnn_get_library_version");
  const auto text = library.function<char*()>("zdnn_get_library_version_str");
  const auto most = library.function<uint32_t()>("zdnn_get_max_runnable_version");
  const auto runnable = library.function<bool(uint32_t)>("zdnn_is_version_runnable");
  ASSERT_TRUE(set("ZDNN_TWIN_PROFILE", "z17"));
  EXPECT_EQ(version() >> 8, 0x000100u);
  EXPECT_NE(std::string(text()).find("twin"), std::string::npos);
  EXPECT_EQ(most(), 0x000100FFu);
  EXPECT_TRUE(runnable(0x00010005));
  EXPECT_FALSE(runnable(0x00010100));
}

TEST_F(ZdnnTwinQuery, Version10IgnoresFeaturesOfANewerMachine) {
  const Library library(ZDNN_TWIN_1_0_PATH);
  const auto set = library.function<bool(const char*, const char*)>("zdnn_twin_set");
  const auto allocate = library.function<zdnn_status(zdnn_ztensor*)>("zdnn_allochelper_ztensor");
  const auto transform =
      library.function<zdnn_status(zdnn_ztensor*, ...)>("zdnn_transform_ztensor");
  const auto free = library.function<zdnn_status(zdnn_ztensor*)>("zdnn_free_ztensor_buffer");
  const auto multiply = library.function<decltype(zdnn_matmul_bcast_op)>("zdnn_matmul_bcast_op");
  ASSERT_TRUE(set("ZDNN_TWIN_PROFILE", "z17"));
  zdnn_tensor_desc pre{ZDNN_1D, ZDNN_FORMAT_4DFEATURE, FP32, 0, 0, 0, 32769};
  zdnn_tensor_desc desc{ZDNN_NHWC, ZDNN_FORMAT_4DFEATURE, ZDNN_DLFLOAT16, 1, 1, 1, 32769};
  zdnn_ztensor t{};
  t.pre_transformed_desc = &pre;
  t.transformed_desc = &desc;
  EXPECT_EQ(allocate(&t), ZDNN_INVALID_SHAPE);
  pre.dim1 = desc.dim1 = 4096;
  ASSERT_EQ(allocate(&t), ZDNN_OK);
  // Software, not NNPA-TRANSFORM.
  const std::vector<float> values(4096, NAN);
  EXPECT_EQ(transform(&t, values.data()), ZDNN_CONVERT_FAILURE);
  free(&t);
  zdnn_tensor_desc many{ZDNN_NHWC, ZDNN_FORMAT_4DFEATURE, ZDNN_DLFLOAT16, 3, 1, 1, 1};
  zdnn_ztensor stacks{};
  stacks.transformed_desc = &many;
  EXPECT_EQ(multiply(&t, &stacks, &stacks, MATMUL_BCAST_OP_ADDITION, &stacks),
            ZDNN_UNAVAILABLE_FUNCTION);
}

TEST_F(ZdnnTwinQuery, VersionStringEndsWithTwin) {
  EXPECT_EQ(zdnn_get_library_version(), 0x00010102u);
  EXPECT_STREQ(zdnn_get_library_version_str(), "1.1.2-twin");
}

struct Profile {
  const char* name;
  std::vector<int> functions;
  bool format_1;
  uint16_t types;
  uint32_t layouts;
  uint32_t max_for_dim[4];
  uint32_t runnable;
};

const Profile kProfiles[] = {
    {"z16",
     {0, 16, 17, 18, 19, 20, 21, 32, 33, 49, 50, 51, 52, 64, 80, 81, 96, 97, 112, 113, 114},
     false,
     0x8000,
     0xC0000000,
     {32768, 32768, 32768, 32768},
     0x000100FF},
    {"z17",
     {0,  16, 17, 18, 19, 20, 21, 32, 33, 34,  35,  49,  50,  51,  52,
      53, 64, 65, 66, 67, 80, 81, 96, 97, 112, 113, 114, 115, 240, 241},
     true,
     0x82A0,
     0xE0000001,
     {2097152, 1048576, 32768, 32768},
     0x000101FF},
};

TEST_F(ZdnnTwinQuery, EachMachineAnswersAsDocumented) {
  for (const Profile& p : kProfiles) {
    SCOPED_TRACE(p.name);
    set("ZDNN_TWIN_PROFILE", p.name);
    EXPECT_TRUE(zdnn_is_nnpa_installed());
    for (int code = 0; code < 256; ++code) {
      const bool there = std::count(p.functions.begin(), p.functions.end(), code) != 0;
      EXPECT_EQ(zdnn_is_nnpa_function_installed(1, code), there) << code;
    }
    EXPECT_TRUE(zdnn_is_nnpa_function_installed(3, NNPA_ADD, NNPA_EXP, NNPA_MATMUL_OP));
    EXPECT_FALSE(zdnn_is_nnpa_function_installed(3, NNPA_ADD, 255, NNPA_MATMUL_OP));
    EXPECT_TRUE(zdnn_is_nnpa_parmblk_fmt_installed(1, 0));
    EXPECT_EQ(zdnn_is_nnpa_parmblk_fmt_installed(1, 1), p.format_1);
    EXPECT_EQ(zdnn_is_nnpa_parmblk_fmt_installed(2, 0, 1), p.format_1);
    EXPECT_FALSE(zdnn_is_nnpa_parmblk_fmt_installed(1, 2));
    for (int bit = 0; bit < 16; ++bit) {
      const auto mask = static_cast<uint16_t>(1 << bit);
      EXPECT_EQ(zdnn_is_nnpa_datatype_installed(mask), (p.types & mask) != 0);
      EXPECT_EQ(zdnn_is_nnpa_conversion_installed(NNPA_DATATYPE_1, mask), (0x6000 & mask) != 0);
      EXPECT_FALSE(zdnn_is_nnpa_conversion_installed(NNPA_8_BIT_BINARY_INT, mask));
    }
    EXPECT_TRUE(zdnn_is_nnpa_datatype_installed(p.types));
    for (int bit = 0; bit < 32; ++bit) {
      const uint32_t mask = 1u << bit;
      EXPECT_EQ(zdnn_is_nnpa_layout_fmt_installed(mask), (p.layouts & mask) != 0);
    }
    EXPECT_EQ(zdnn_get_nnpa_max_dim_idx_size(), 32768u);
    EXPECT_EQ(zdnn_get_nnpa_max_tensor_size(), 4294967296u);
    for (uint8_t dim = 1; dim <= 4; ++dim)
      EXPECT_EQ(zdnn_get_max_for_dim(dim), p.max_for_dim[dim - 1]);
    EXPECT_EQ(zdnn_get_max_for_dim(0), 0u);
    EXPECT_EQ(zdnn_get_max_for_dim(5), 0u);
    EXPECT_EQ(zdnn_refresh_nnpa_query_result(), ZDNN_OK);
    EXPECT_EQ(zdnn_get_max_runnable_version(), p.runnable);
    EXPECT_TRUE(zdnn_is_version_runnable(0x00010000));
    EXPECT_TRUE(zdnn_is_version_runnable(0x000100FF));
    EXPECT_EQ(zdnn_is_version_runnable(0x00010109), p.format_1);
    EXPECT_FALSE(zdnn_is_version_runnable(0x00010200));
    EXPECT_FALSE(zdnn_is_version_runnable(0x00020000));
    EXPECT_FALSE(zdnn_is_version_runnable(0x00000000));
  }
}

TEST_F(ZdnnTwinQuery, WithoutTheMachineNothingIsInstalled) {
  Tensor a(ZDNN_1D, {3}, {1, 2, 3});
  Tensor b(ZDNN_1D, {3});
  set("ZDNN_TWIN_PROFILE", "none");
  EXPECT_FALSE(zdnn_is_nnpa_installed());
  EXPECT_FALSE(zdnn_is_nnpa_function_installed(1, 0));
  EXPECT_FALSE(zdnn_is_nnpa_parmblk_fmt_installed(1, 0));
  EXPECT_FALSE(zdnn_is_nnpa_datatype_installed(0x8000));
  EXPECT_FALSE(zdnn_is_nnpa_layout_fmt_installed(0x80000000));
  EXPECT_FALSE(zdnn_is_nnpa_conversion_installed(NNPA_DATATYPE_1, 0x2000));
  EXPECT_EQ(zdnn_get_nnpa_max_dim_idx_size(), 0u);
  EXPECT_EQ(zdnn_get_max_for_dim(1), 0u);
  EXPECT_EQ(zdnn_get_max_runnable_version(), 0u);
  EXPECT_FALSE(zdnn_is_version_runnable(0x00010000));
  EXPECT_EQ(zdnn_refresh_nnpa_query_result(), ZDNN_UNAVAILABLE_FUNCTION);
  EXPECT_EQ(zdnn_add(a, a, b), ZDNN_UNAVAILABLE_FUNCTION);
  EXPECT_FALSE(b.tensor.is_transformed);
  zdnn_ztensor another{};
  EXPECT_EQ(zdnn_init_ztensor_with_malloc(&a.pre, &a.desc, &another),
            ZDNN_UNSUPPORTED_AIU_EXCEPTION);
}

TEST_F(ZdnnTwinQuery, StatusMessagesBeginWithTheName) {
  const struct {
    std::uint32_t code;
    const char* name;
  } cases[] = {{0, "ZDNN_OK: "},
               {0x00020001, "ZDNN_ELEMENT_RANGE_VIOLATION: "},
               {0x00040001, "ZDNN_INVALID_SHAPE: "},
               {0x00040009, "ZDNN_MISALIGNED_PARMBLOCK: "},
               {0x0004000A, "ZDNN_INVALID_CLIPPING_VALUE: "},
               {0x00040012, "ZDNN_INVALID_OFFSET: "},
               {0x00100001, "ZDNN_ALLOCATION_FAILURE: "},
               {0x00100005, "ZDNN_UNSUPPORTED_AIU_EXCEPTION: "},
               {0x000C0002, "ZDNN_UNAVAILABLE_FUNCTION: "},
               {0x000C0015, "ZDNN_MISALIGNED_SAVEAREA: "},
               {0x000CF009, "ZDNN_FUNC_RC_F009: "}};
  for (const auto& c : cases) {
    const std::string text = zdnn_get_status_message(static_cast<zdnn_status>(c.code));
    EXPECT_EQ(text.find(c.name), 0u) << text;
  }
  EXPECT_STREQ(zdnn_get_status_message(static_cast<zdnn_status>(0x00040013)),
               "(Status string is not defined.)");
}

TEST_F(ZdnnTwinQuery, UnknownSettingsChangeNothing) {
  EXPECT_FALSE(zdnn_twin_set("ZDNN_TWIN_NO_SUCH", "1"));
  EXPECT_FALSE(zdnn_twin_set("ZDNN_TWIN_PROFILE", "z18"));
  EXPECT_FALSE(zdnn_twin_set("ZDNN_TWIN_PROFILE", "1"));
  EXPECT_FALSE(zdnn_twin_set("ZDNN_TWIN_FAIL_RANGE", "x"));
  EXPECT_FALSE(zdnn_twin_set("ZDNN_TWIN_FAIL_RANGE", "-1"));
  EXPECT_FALSE(zdnn_twin_set("ZDNN_TWIN_FAIL_RANGE", "3x"));
  EXPECT_FALSE(zdnn_twin_set("ZDNN_TWIN_HARDWARE_CODE", "3+"));
  EXPECT_FALSE(zdnn_twin_set(nullptr, "3"));
  EXPECT_EQ(zdnn_get_max_for_dim(1), 2097152u);
}

TEST_F(ZdnnTwinQuery, InitReadsTheEnvironmentAgain) {
  setenv("ZDNN_TWIN_PROFILE", "z16", 1);
  zdnn_init();
  EXPECT_EQ(zdnn_get_max_for_dim(1), 32768u);
  unsetenv("ZDNN_TWIN_PROFILE");
  zdnn_init();
  EXPECT_EQ(zdnn_get_max_for_dim(1), 2097152u);
}

}  // namespace
