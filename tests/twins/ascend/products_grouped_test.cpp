// Products of groups: rows by expert, members of lists, weights in INT8, bad lists.
#include "products_support.h"

namespace ascend_test::products_grouped {
namespace {

using Grouped = TwinTest;
using Sizes = std::vector<std::int64_t>;

std::vector<float> part(const std::vector<float>& values, std::size_t begin, std::size_t count) {
  return {values.begin() + static_cast<std::ptrdiff_t>(begin),
          values.begin() + static_cast<std::ptrdiff_t>(begin + count)};
}

/// 7 rows of 8, 3 experts with 16 columns: rows 0 to 1, none, 2 to 5; row 6 belongs to none.
struct Experts {
  std::vector<float> x = numbers(7 * 8, 5, 1);
  std::vector<float> w = numbers(3 * 8 * 16, 5, 2);  // [3][8][16]
  std::vector<std::int64_t> ends = {2, 2, 6};
  std::vector<float> expected() const {
    std::vector<float> rows = product(part(x, 0, 16), part(w, 0, 128), 2, 8, 16);
    const auto last = product(part(x, 16, 32), part(w, 256, 128), 4, 8, 16);
    rows.insert(rows.end(), last.begin(), last.end());
    rows.insert(rows.end(), 16, 77);
    return rows;
  }
};

/// The call with one x and one y, and these lists.
aclError run_rows(aclTensorList* x, aclTensorList* weight, aclTensorList* bias,
                  aclTensorList* scale, aclTensor* ends, std::int64_t split, std::int64_t type,
                  aclTensorList* y) {
  const aclTensorList* const none = nullptr;
  return RUN_OP(GroupedMatmulV3, x, weight, bias, none, none, scale, none, ends, split, type, y);
}

TEST_F(Grouped, RowsOfEachExpert) {
  for (const char* const chip : {"910b", "310p"}) {
    restart({{"PROFILE", chip}});
    const Experts experts;
    Buffer x(7 * 8 * 2), w(3 * 8 * 16 * 2), y(7 * 16 * 2);
    x.put(halves(experts.x));
    w.put(halves(experts.w));
    y.put(halves(std::vector<float>(7 * 16, 77)));
    Tensor<std::int64_t> ends(ACL_INT64, {3}, experts.ends);
    const List xs({member(x.address(), ACL_FLOAT16, {7, 8})});
    const List ws({member(w.address(), ACL_FLOAT16, {3, 8, 16})});
    const List ys({member(y.address(), ACL_FLOAT16, {7, 16})});
    ASSERT_EQ(run_rows(xs.get(), ws.get(), nullptr, nullptr, ends.get(), 3, 0, ys.get()),
              ACL_SUCCESS)
        << ascend_twin_last_message();
    EXPECT_EQ(floats(y.get<Half>()), experts.expected()) << chip;
  }
}

TEST_F(Grouped, ALastGroupWithoutRowsAndAListOfTransposedWeights) {
  const Experts experts;
  Buffer x(7 * 8 * 4), w(3 * 8 * 16 * 4), y(7 * 16 * 4);
  x.put(experts.x);
  std::vector<float> stored;  // [16][8] each
  for (std::size_t i = 0; i < 3; ++i) {
    const auto one = turned(part(experts.w, i * 128, 128), 8, 16);
    stored.insert(stored.end(), one.begin(), one.end());
  }
  w.put(stored);
  y.put(std::vector<float>(7 * 16, 77));
  Tensor<std::int64_t> ends(ACL_INT64, {3}, experts.ends);
  std::vector<aclTensor*> weights;
  for (std::size_t i = 0; i < 3; ++i) {
    weights.push_back(
        member(static_cast<char*>(w.address()) + i * 512, ACL_FLOAT, {8, 16}, {1, 8}));
  }
  const List xs({member(x.address(), ACL_FLOAT, {7, 8})});
  const List ws(weights);
  const List ys({member(y.address(), ACL_FLOAT, {7, 16})});
  ASSERT_EQ(run_rows(xs.get(), ws.get(), nullptr, nullptr, ends.get(), 2, 0, ys.get()), ACL_SUCCESS)
      << ascend_twin_last_message();
  EXPECT_EQ(y.get<float>(), experts.expected());
}

TEST_F(Grouped, WeightsInInt8HaveScalesAndBias) {
  Buffer x(2 * 2), w(2 * 2), y(2 * 2 * 2), scale(2 * 2 * 2), bias(2 * 2 * 2);
  x.put(halves({3, 5}));                        // [2][1]
  w.put(std::vector<std::int8_t>{1, 2, 3, 4});  // [2][1][2]
  scale.put(halves({0.5F, 1, 2, 4}));
  bias.put(halves({10, 20, 30, 40}));
  y.put(std::vector<Half>(4));
  Tensor<std::int64_t> ends(ACL_INT64, {2}, {1, 2});
  const List xs({member(x.address(), ACL_FLOAT16, {2, 1})});
  const List ws({member(w.address(), ACL_INT8, {2, 1, 2})});
  const List scales({member(scale.address(), ACL_FLOAT16, {2, 2})});
  const List biases({member(bias.address(), ACL_FLOAT16, {2, 2})});
  const List ys({member(y.address(), ACL_FLOAT16, {2, 2})});
  ASSERT_EQ(run_rows(xs.get(), ws.get(), biases.get(), scales.get(), ends.get(), 2, 0, ys.get()),
            ACL_SUCCESS)
      << ascend_twin_last_message();
  EXPECT_EQ(floats(y.get<Half>()),
            (std::vector<float>{3 * 0.5F + 10, 3 * 2 + 20, 5 * 6 + 30, 5 * 16 + 40}));
  EXPECT_EQ(run_rows(xs.get(), ws.get(), nullptr, nullptr, ends.get(), 2, 0, ys.get()),
            ACLNN_ERR_PARAM_INVALID);
}

TEST_F(Grouped, MembersEachWithTheirWeight) {
  const std::vector<float> a = numbers(2 * 3 + 4 * 5, 5, 3);
  const std::vector<float> b = numbers(3 * 2 + 5 * 6, 5, 4);
  Buffer x(26 * 4), w(36 * 4), first(4 * 4), second(24 * 4);
  x.put(a);
  w.put(b);
  const auto at = [](const Buffer& buffer, std::size_t elements) {
    return static_cast<char*>(buffer.address()) + elements * 4;
  };
  const List xs({member(x.address(), ACL_FLOAT, {2, 3}), member(at(x, 6), ACL_FLOAT, {2, 2, 5})});
  const List ws({member(w.address(), ACL_FLOAT, {3, 2}), member(at(w, 6), ACL_FLOAT, {5, 6})});
  const List ys(
      {member(first.address(), ACL_FLOAT, {2, 2}), member(second.address(), ACL_FLOAT, {2, 2, 6})});
  ASSERT_EQ(run_rows(xs.get(), ws.get(), nullptr, nullptr, nullptr, 0, -1, ys.get()), ACL_SUCCESS)
      << ascend_twin_last_message();
  EXPECT_EQ(first.get<float>(), product(part(a, 0, 6), part(b, 0, 6), 2, 3, 2));
  EXPECT_EQ(second.get<float>(), product(part(a, 6, 20), part(b, 6, 30), 4, 5, 6));
}

TEST_F(Grouped, AListThatGoesBackOrTooFarIsADeviceException) {
  for (const std::vector<std::int64_t>& ends :
       {std::vector<std::int64_t>{2, 1}, std::vector<std::int64_t>{1, 5},
        std::vector<std::int64_t>{-1, 2}}) {
    restart({});
    Buffer x(4 * 4), w(2 * 4), y(4 * 4);
    x.put(std::vector<float>(4));
    w.put(std::vector<float>(2));
    Tensor<std::int64_t> list(ACL_INT64, {2}, ends);
    const List xs({member(x.address(), ACL_FLOAT, {4, 1})});
    const List ws({member(w.address(), ACL_FLOAT, {2, 1, 1})});
    const List ys({member(y.address(), ACL_FLOAT, {4, 1})});
    EXPECT_EQ(run_rows(xs.get(), ws.get(), nullptr, nullptr, list.get(), 2, 0, ys.get()),
              ACL_ERROR_RT_AICORE_EXCEPTION);
  }
}

TEST_F(Grouped, FormsThatAreRefused) {
  struct Row {
    const char* name;
    Sizes x, w, y;
    Sizes groups;  // shape of the list; empty: null
    std::int64_t split, type;
    aclError code;
  };
  constexpr auto kBad = ACLNN_ERR_PARAM_INVALID;
  const Row rows[] = {
      {"as it should be", {4, 8}, {2, 8, 16}, {4, 16}, {2}, 2, 0, ACL_SUCCESS},
      {"no list", {4, 8}, {2, 8, 16}, {4, 16}, {}, 2, 0, ACLNN_ERR_PARAM_NULLPTR},
      {"a list of others", {4, 8}, {2, 8, 16}, {4, 16}, {3}, 2, 0, kBad},
      {"several y", {4, 8}, {2, 8, 16}, {4, 16}, {2}, 0, 0, kBad},
      {"groups of columns", {4, 8}, {2, 8, 16}, {4, 16}, {2}, 2, 1, kBad},
      {"groups of k", {4, 8}, {2, 8, 16}, {4, 16}, {2}, 2, 2, kBad},
      {"other k", {4, 9}, {2, 8, 16}, {4, 16}, {2}, 2, 0, kBad},
      {"other n", {4, 8}, {2, 8, 16}, {4, 15}, {2}, 2, 0, kBad},
      {"deep x", {1, 4, 8}, {2, 8, 16}, {1, 4, 16}, {2}, 2, 0, kBad},
      {"no matrix", {4, 8}, {8}, {4, 16}, {2}, 2, 0, kBad},
      {"a list with members", {4, 8}, {8, 16}, {4, 16}, {1}, 0, -1, kBad},
      {"members into one", {4, 8}, {8, 16}, {4, 16}, {}, 2, -1, kBad},
  };
  for (const Row& row : rows) {
    const List xs({member(nullptr, ACL_FLOAT16, row.x)});
    const List ws({member(nullptr, ACL_FLOAT16, row.w)});
    const List ys({member(nullptr, ACL_FLOAT16, row.y)});
    const Described groups(nullptr, ACL_INT64, row.groups, {}, 0, {8});
    const aclTensorList* const none = nullptr;
    std::uint64_t bytes = 0;
    EXPECT_EQ(first_phase(aclnnGroupedMatmulV3GetWorkspaceSize, &bytes, xs.get(), ws.get(), none,
                          none, none, none, none, row.groups.empty() ? nullptr : groups.get(),
                          row.split, row.type, ys.get()),
              row.code)
        << row.name << ": " << ascend_twin_last_message();
  }
  const List empty({});
  EXPECT_EQ(run_rows(empty.get(), empty.get(), nullptr, nullptr, nullptr, 2, 0, empty.get()), kBad);
  EXPECT_EQ(run_rows(nullptr, empty.get(), nullptr, nullptr, nullptr, 2, 0, empty.get()),
            ACLNN_ERR_PARAM_NULLPTR);
}

TEST_F(Grouped, TypesOfEachChip) {
  const auto code_on = [](const char* chip, aclDataType x, aclDataType w, std::int64_t columns) {
    restart({{"PROFILE", chip}});
    const List xs({member(nullptr, x, {4, 8})});
    const List ws({member(nullptr, w, {2, 8, columns})});
    const List ys({member(nullptr, x, {4, columns})});
    const Described groups(nullptr, ACL_INT64, {2}, {}, 0, {2});
    const aclTensorList* const none = nullptr;
    std::uint64_t bytes = 0;
    return first_phase(aclnnGroupedMatmulV3GetWorkspaceSize, &bytes, xs.get(), ws.get(), none, none,
                       none, none, none, groups.get(), std::int64_t{3}, std::int64_t{0}, ys.get());
  };
  constexpr auto kBad = ACLNN_ERR_PARAM_INVALID;
  EXPECT_EQ(code_on("910b", ACL_BF16, ACL_BF16, 3), ACL_SUCCESS);
  EXPECT_EQ(code_on("910b", ACL_FLOAT16, ACL_FLOAT, 16), kBad);
  EXPECT_EQ(code_on("910b", ACL_INT8, ACL_INT8, 16), kBad);
  EXPECT_EQ(code_on("310p", ACL_FLOAT16, ACL_FLOAT16, 16), ACL_SUCCESS);
  EXPECT_EQ(code_on("310p", ACL_FLOAT16, ACL_FLOAT16, 15), kBad);
  EXPECT_EQ(code_on("310p", ACL_FLOAT, ACL_FLOAT, 16), kBad);
  EXPECT_EQ(code_on("310b", ACL_FLOAT16, ACL_FLOAT16, 16), ACLNN_ERR_INNER_NULLPTR);
}

}  // namespace
}  // namespace ascend_test::products_grouped
