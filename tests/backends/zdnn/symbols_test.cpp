// Functions that came with version 1.1 of the library are used where they are there, one by one.
// Each may be missing without the others.
#include "backends/zdnn/own_device.h"
#include "support/networks.h"

namespace shunt::test::symbols_test {
namespace {

using testing::HasSubstr;

/// The feature that is missing without a function that came with 1.1.
enum class Loss : std::uint8_t {
  kRoots,     ///< sqrt
  kSpeed,     ///< nothing: norms are made of more operations, or more is transposed by the host
  kLongRows,  ///< each dimension has the limit that all have
  kInt8,      ///< products with 8-bit weights
};
struct Without {
  const char* function;
  Loss loss;
};
constexpr Without kNewer[] = {
    {"zdnn_sqrt", Loss::kRoots},
    {"zdnn_invsqrt", Loss::kSpeed},
    {"zdnn_matmul_transpose_op", Loss::kSpeed},
    {"zdnn_get_max_for_dim", Loss::kLongRows},
    {"zdnn_generate_quantized_transformed_desc", Loss::kInt8},
    {"zdnn_transform_quantized_ztensor", Loss::kInt8},
    {"zdnn_getrange_ztensor", Loss::kInt8},
    {"zdnn_quantized_matmul_op", Loss::kInt8},
};
/// Codes of the machine's functions (Principles of Operation, NNPA).
constexpr std::uint32_t kSqrt = 34;
constexpr std::uint32_t kInvsqrt = 35;

using ZdnnSymbols = ZdnnOwnDeviceTest;

struct Small {
  std::shared_ptr<const Graph> graph;
  NodeId w = 0;
  NodeId norm = 0;
  NodeId root = 0;
};

/// y = up * sqrt(rms_norm(w * x)^2)
Small small(const std::function<std::shared_ptr<const Graph>(GraphBuilder&&)>& built) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
  const auto w = g.weight("w", *make_tensor(DType::kQ8_0, {64, 96}));
  const auto norm = rms_norm(g, matmul(g, w, x));
  const auto root = sqrt(g, sqr(g, norm));
  const auto up = g.weight("up", *make_tensor(DType::kF32, {96, 32}));
  EXPECT_TRUE(g.output(matmul(g, up, root), "y"));
  return {built(std::move(g)), w->id, norm->id, root->id};
}

TEST_F(ZdnnSymbols, OfVersion10AreRequired) {
  ASSERT_TRUE(symbols());
  const auto old = DynamicLibrary::open(ZdnnTwin(true).path());
  ASSERT_TRUE(old) << old.error().message();
  std::set<std::string> newer;
  for (const Without& without : kNewer) newer.emplace(without.function);
  for (const std::string& name : asked_) {
    EXPECT_EQ(old->find(name.c_str()) == nullptr, newer.contains(name)) << name;
    if (newer.contains(name)) continue;
    const auto refused = symbols(name);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code(), ErrorCode::kNotFound);
    EXPECT_THAT(refused.error().message(), HasSubstr("it has no " + name + ","));
  }
  for (const std::string& name : newer) EXPECT_TRUE(asked_.contains(name)) << name;
}

/// The reason for a missing feature names the function, and all else is there.
TEST_F(ZdnnSymbols, MissingSymbolsOfVersion11DisableTheirFeature) {
  const Small made = small(built);
  GraphBuilder g;
  const auto long_rows = silu(g, g.input("x", *make_tensor(DType::kF32, {33000, 2})));
  ASSERT_TRUE(g.output(long_rows, "y"));
  const auto wide = built(std::move(g));
  for (const auto& [function, loss] : kNewer) {
    SCOPED_TRACE(function);
    const auto others = symbols(function);
    ASSERT_TRUE(others) << others.error().message();
    ASSERT_NO_FATAL_FAILURE(use(*others));
    const std::string why = std::string("has no ") + function;
    const Support root = zdnn().supports(*made.graph, made.root);
    EXPECT_EQ(static_cast<bool>(root), loss != Loss::kRoots);
    if (!root) {
      EXPECT_EQ(root.refusal(), Refusal::kVendorFunction);
      EXPECT_THAT(root.facts(), HasSubstr(why));
    }
    EXPECT_TRUE(zdnn().supports(*made.graph, made.norm));
    const Support rows = zdnn().supports(*wide, long_rows->id);
    EXPECT_EQ(static_cast<bool>(rows), loss != Loss::kLongRows);
    EXPECT_THAT(rows.facts(), HasSubstr(rows ? "" : "the accelerator takes at most 32768"));
    EXPECT_EQ(lossy_memory(zdnn(), *made.graph, made.w) != nullptr, loss != Loss::kInt8);
    EXPECT_THAT(std::string(zdnn().why_not_lossy()),
                loss == Loss::kInt8 ? testing::Matcher<std::string>(HasSubstr(why))
                                    : testing::Matcher<std::string>(testing::IsEmpty()));
  }
}

/// By other functions, or by the CPU.
TEST_F(ZdnnSymbols, MissingSymbolsChangeNoResults) {
  const Small made = small(built);
  const auto leaves = values(*made.graph);
  for (const auto& [function, loss] : kNewer) {
    SCOPED_TRACE(function);
    const auto others = symbols(function);
    ASSERT_TRUE(others) << others.error().message();
    ASSERT_NO_FATAL_FAILURE(use(*others));
    twin_->reset_counts();
    expect_within_bound(made.graph, leaves);
    EXPECT_EQ(twin_->calls(kSqrt) > 0, loss != Loss::kRoots);
    EXPECT_EQ(twin_->calls(kInvsqrt) > 0, std::string_view(function) != "zdnn_invsqrt");
    for (Network (*network)() : {bert, gemma}) {
      const Network whole = network();
      expect_within_bound(whole.graph, whole.leaves);
    }
    EXPECT_EQ(twin_->objections(), 0U);
    EXPECT_TRUE(zdnn().warnings().empty());
  }
}

}  // namespace
}  // namespace shunt::test::symbols_test
