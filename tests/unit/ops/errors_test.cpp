// The calls that every op refuses, and that the message says why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "ops/list.h"
#include "shunt/ops.h"
#include "unit/ops/bad_calls.h"

namespace shunt::ops_errors_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<BadCall> matrix_calls() {
  return {
      {"matmul",
       [](GraphBuilder& g) {
         return matmul(g, leaf(g, kF32, {64, 32}, "w"), leaf(g, kF32, {63, 5}));
       },
       {"w F32 [64, 32], F32 [63, 5]", "dimension 0 of x is 63, but that of w is 64"}},
      {"matmul",
       [](GraphBuilder& g) {
         return matmul(g, leaf(g, kI32, {4, 4}), leaf(g, kF32, {4, 5}));
       },
       {"w is I32 [4, 4]; it may be of any type but F64 and integers"}},
      {"matmul",
       [](GraphBuilder& g) {
         return matmul(g, leaf(g, kF32, {4, 4}), leaf(g, kI32, {4, 5}));
       },
       {"x is I32 [4, 5], not F32, F16 or BF16"}},
      {"matmul",
       [](GraphBuilder& g) {
         return matmul(g, leaf(g, kF32, {4, 4, 2}), leaf(g, kF32, {4, 5, 3}));
       },
       {"dimension 2 of w is 2, and that of x is 3, neither of which divides the other"}},
      {"matmul",
       [](GraphBuilder& g) {
         return matmul(g, leaf(g, kF32, {4, 4, 1, 3}), leaf(g, kF32, {4, 5, 1, 2}));
       },
       {"dimension 3 of w is 3, and that of x is 2"}},
      {"matmul",
       [](GraphBuilder& g) {
         const Dim n = *g.dynamic_dim("n", 4);
         return matmul(g, leaf(g, kF32, {4, 4, n}), leaf(g, kF32, {4, 5, 4}));
       },
       {"dimension 2 of w is 4*, and that of x is 4"}},
      {"solve_tri",
       [](GraphBuilder& g) {
         return solve_tri(g, leaf(g, kF32, {4, 5}, "a"), leaf(g, kF32, {3, 5}, "b"));
       },
       {"a F32 [4, 5], b F32 [3, 5]", "dimension 1 of a is 5, but dimension 0 of it is 4"}},
      {"solve_tri",
       [](GraphBuilder& g) {
         return solve_tri(g, leaf(g, kF32, {4, 4}), leaf(g, kF32, {4, 3}));
       },
       {"dimension 1 of b is 3, but the number of equations is 4"}},
      {"solve_tri",
       [](GraphBuilder& g) {
         return solve_tri(g, leaf(g, kF32, {4, 4, 2}), leaf(g, kF32, {3, 4, 3}));
       },
       {"dimension 2 of a is 2, which does not divide that of b, 3"}},
      {"solve_tri",
       [](GraphBuilder& g) {
         return solve_tri(g, leaf(g, kF32, {4, 4, 1, 4}), leaf(g, kF32, {3, 4, 1, 2}));
       },
       {"dimension 3 of a is 4"}},
      {"solve_tri",
       [](GraphBuilder& g) {
         return solve_tri(g, leaf(g, kF16, {4, 4}), leaf(g, kF32, {3, 4}));
       },
       {"a is F16 [4, 4], not F32"}},
      {"solve_tri",
       [](GraphBuilder& g) {
         return solve_tri(g, leaf(g, kF32, {4, 4}), leaf(g, kI32, {3, 4}));
       },
       {"b is I32 [3, 4], not F32"}},
      {"solve_tri",
       [](GraphBuilder& g) {
         const Dim n = *g.dynamic_dim("n", 4);
         return solve_tri(g, leaf(g, kF32, {n, n}), leaf(g, kF32, {3, n}));
       },
       {"dimension 0 of a is 4*, a dynamic dimension"}},
  };
}

std::vector<BadCall> expert_calls() {
  struct Shapes {
    Shape w, x, ids;
  };
  const auto call = [](const Shapes& shapes, DType w = kF32, DType ids = kI32, DType x = kF32) {
    return [=](GraphBuilder& g) {
      return matmul_id(g, leaf(g, w, shapes.w), leaf(g, x, shapes.x), leaf(g, ids, shapes.ids));
    };
  };
  const Shapes good = {{32, 5, 4}, {32, 2, 3}, {2, 3}};
  return {
      {"matmul_id",
       call({{32, 5, 4}, {31, 2, 3}, {2, 3}}),
       {"F32 [32, 5, 4], F32 [31, 2, 3], I32 [2, 3]",
        "dimension 0 of x is 31, but that of w is 32"}},
      {"matmul_id",
       call({{32, 5, 4}, {32, 3, 3}, {2, 3}}),
       {"dimension 1 of x is 3, but dimension 0 of ids is 2"}},
      {"matmul_id",
       call({{32, 5, 4}, {32, 2, 4}, {2, 3}}),
       {"dimension 2 of x is 4, but dimension 1 of ids is 3"}},
      {"matmul_id", call({{32, 5, 4, 2}, {32, 2, 3}, {2, 3}}), {"w is F32 [32, 5, 4, 2]"}},
      {"matmul_id", call({{32, 5, 4}, {32, 2, 3, 2}, {2, 3}}), {"x is F32 [32, 2, 3, 2]"}},
      {"matmul_id", call({{32, 5, 4}, {32, 2, 3}, {2, 3, 2}}), {"ids is I32 [2, 3, 2]"}},
      {"matmul_id", call(good, kI32), {"w is I32 [32, 5, 4]"}},
      {"matmul_id", call(good, kF32, kF32), {"ids is F32 [2, 3], not I32 or I64"}},
      {"matmul_id", call(good, kF32, DType::kI16), {"ids is I16 [2, 3], not I32 or I64"}},
      {"matmul_id", call(good, kF32, kI64, kQ8_0), {"x is Q8_0 [32, 2, 3], not F32, F16 or BF16"}},
  };
}

std::vector<BadCall> rows_calls() {
  return {
      {"get_rows",
       [](GraphBuilder& g) {
         return get_rows(g, leaf(g, kI64, {4, 9}), leaf(g, kQ8_0, {32}));
       },
       {"ids is Q8_0 [32]"}},
      {"get_rows",
       [](GraphBuilder& g) {
         return get_rows(g, leaf(g, kF32, {4, 9}), leaf(g, kF32, {2}));
       },
       {"ids is F32 [2], not I32 or I64"}},
      {"get_rows",
       [](GraphBuilder& g) {
         return get_rows(g, leaf(g, kF32, {4, 9, 2}), leaf(g, kI32, {2}));
       },
       {"dimension 2 of table is 2, but dimension 1 of ids is 1"}},
      {"get_rows",
       [](GraphBuilder& g) {
         return get_rows(g, leaf(g, kF32, {4, 9}), leaf(g, kI32, {2, 1, 2}));
       },
       {"dimension 3 of table is 1, but dimension 2 of ids is 2"}},
      {"get_rows",
       [](GraphBuilder& g) {
         return get_rows(g, leaf(g, kF32, {4, 9}), leaf(g, kI32, {2, 1, 1, 2}));
       },
       {"ids is I32 [2, 1, 1, 2], which has more than 3 dimensions"}},
      {"set_rows",
       [](GraphBuilder& g) {
         return set_rows(g, leaf(g, kF16, {4, 9}), leaf(g, kF32, {5, 2}), leaf(g, kI64, {2}));
       },
       {"F16 [4, 9], F32 [5, 2], I64 [2]", "dimension 0 of rows is 5, but that of dst is 4"}},
      {"set_rows",
       [](GraphBuilder& g) {
         return set_rows(g, leaf(g, kF16, {4, 9}), leaf(g, kF32, {4, 2}), leaf(g, kI64, {3}));
       },
       {"dimension 0 of ids is 3, but the number of rows is 2"}},
      {"set_rows",
       [](GraphBuilder& g) {
         return set_rows(g, leaf(g, DType::kIQ1_S, {256, 9}), leaf(g, kF16, {256, 2}),
                         leaf(g, kI64, {2}));
       },
       {"rows is F16 [256, 2], which is not converted to dst's type, IQ1_S", "importance"}},
      {"set_rows",
       [](GraphBuilder& g) {
         return set_rows(g, leaf(g, kF16, {4, 9}), leaf(g, kF32, {4, 2}), leaf(g, kF32, {2}));
       },
       {"ids is F32 [2], not I32 or I64"}},
      {"set_rows",
       [](GraphBuilder& g) {
         return set_rows(g, leaf(g, kF16, {4, 9, 2}), leaf(g, kF32, {4, 2, 3}), leaf(g, kI64, {2}));
       },
       {"dimension 2 of rows is 3, but that of dst is 2"}},
      {"set_rows",
       [](GraphBuilder& g) {
         return set_rows(g, leaf(g, kF16, {4, 9, 1, 2}), leaf(g, kF32, {4, 2}), leaf(g, kI64, {2}));
       },
       {"dimension 3 of rows is 1, but that of dst is 2"}},
      {"set_rows",
       [](GraphBuilder& g) {
         return set_rows(g, leaf(g, kF16, {4, 9, 4}), leaf(g, kF32, {4, 2, 4}),
                         leaf(g, kI64, {2, 3}));
       },
       {"dimension 1 of ids is 3, which does not divide dimension 2 of rows, 4"}},
      {"set_rows",
       [](GraphBuilder& g) {
         return set_rows(g, leaf(g, kF16, {4, 9}), leaf(g, kF32, {4, 2}), leaf(g, kI64, {2, 1, 2}));
       },
       {"dimension 2 of ids is 2, which does not divide dimension 3 of rows, 1"}},
      {"set_rows",
       [](GraphBuilder& g) {
         return set_rows(g, leaf(g, kF16, {4, 9}), leaf(g, kF32, {4, 2}),
                         leaf(g, kI64, {2, 1, 1, 2}));
       },
       {"ids is I64 [2, 1, 1, 2], which has more than 3 dimensions"}},
      {"set_rows",
       [](GraphBuilder& g) {
         const auto weight = g.weight("w", *make_tensor(kF16, {4, 9}));
         return set_rows(g, weight, leaf(g, kF32, {4, 2}), leaf(g, kI64, {2}));
       },
       {"w F16 [4, 9]", "it would write into w (weight)"}},
  };
}

std::vector<BadCall> data_and_order_calls() {
  return {
      {"cpy",
       [](GraphBuilder& g) {
         return cpy(g, leaf(g, kF32, {4, 2}), leaf(g, kF32, {2, 4}));
       },
       {"src and dst differ in shape: [4, 2] and [2, 4]"}},
      {"cpy",
       [](GraphBuilder& g) { return cpy(g, leaf(g, kI64, {32}), leaf(g, DType::kQ8_1, {32})); },
       {"src is I64 [32], which is not converted to dst's type, Q8_1: that is not a type for "
        "storage"}},
      {"cpy",
       [](GraphBuilder& g) { return cpy(g, leaf(g, kF32, {256}), leaf(g, DType::kIQ2_XS, {256})); },
       {"src is F32 [256]", "IQ2_XS", "importance matrix"}},
      {"cpy",
       [](GraphBuilder& g) {
         return cpy(g, leaf(g, kF32, {4}), g.input("tokens", *make_tensor(kF32, {4})));
       },
       {"it would write into tokens (input)"}},
      {"cont", [](GraphBuilder& g) { return cont(g, Value{99}); }, {"#99 is not of this graph"}},
      {"cont", [](GraphBuilder& g) { return cont(g, absent()); }, {"x is not given"}},
      {"dup", [](GraphBuilder& g) { return dup(g, Value{99}); }, {"#99 is not of this graph"}},
      {"dup", [](GraphBuilder& g) { return dup(g, absent()); }, {"x is not given"}},
      {"argmax", [](GraphBuilder& g) { return argmax(g, leaf(g, kI32, {4})); }, {"x is I32 [4]"}},
      {"argmax",
       [](GraphBuilder& g) {
         return argmax(g, leaf(g, kF32, {0, 3}));
       },
       {"F32 [0, 3]", "no element"}},
  };
}

std::vector<BadCall> sort_and_reduce_calls() {
  return {
      {"argsort", [](GraphBuilder& g) { return argsort(g, leaf(g, kI32, {4})); }, {"x is I32 [4]"}},
      {"argsort",
       [](GraphBuilder& g) { return argsort(g, leaf(g, kF32, {Dim(std::int64_t{1} << 31)})); },
       {"too long"}},
      {"top_k",
       [](GraphBuilder& g) { return top_k(g, leaf(g, kI32, {4}), {1}); },
       {"x is I32 [4]"}},
      {"top_k",
       [](GraphBuilder& g) { return top_k(g, leaf(g, kF32, {4}), {0}); },
       {"k is 0, but rows of x have 4"}},
      {"top_k",
       [](GraphBuilder& g) { return top_k(g, leaf(g, kF32, {4}), {5}); },
       {"k is 5, but rows of x have 4"}},
      {"top_k",
       [](GraphBuilder& g) { return top_k(g, leaf(g, kF32, {*g.dynamic_dim("tokens", 8)}), {2}); },
       {"dimension 0 of x is 8*, a dynamic dimension"}},
      {"sum", [](GraphBuilder& g) { return sum(g, leaf(g, kQ8_0, {32})); }, {"x is Q8_0 [32]"}},
      {"sum", [](GraphBuilder& g) { return sum(g, leaf(g, kI32, {4})); }, {"x is I32 [4]"}},
      {"sum_rows", [](GraphBuilder& g) { return sum_rows(g, leaf(g, kI32, {4})); }, {"I32 [4]"}},
      {"sum_rows", [](GraphBuilder& g) { return sum_rows(g, leaf(g, kQ8_0, {32})); }, {"Q8_0"}},
      {"mean", [](GraphBuilder& g) { return mean(g, leaf(g, kI32, {4})); }, {"x is I32 [4]"}},
      {"mean",
       [](GraphBuilder& g) {
         return mean(g, leaf(g, kF32, {0, 3}));
       },
       {"F32 [0, 3]", "no element"}},
  };
}

std::vector<BadCall> view_calls() {
  return {
      {"reshape",
       [](GraphBuilder& g) {
         return reshape(g, leaf(g, kF32, {4, 6}), {5, 5});
       },
       {"[5, 5] has 25 elements, but F32 [4, 6] has 24"}},
      {"reshape",
       [](GraphBuilder& g) {
         return reshape(g, leaf(g, kF32, {4}), {-4, -1});
       },
       {"negative"}},
      {"reshape",
       [](GraphBuilder& g) {
         return reshape(g, leaf(g, kQ8_0, {32, 2}), {16, 4});
       },
       {"whole blocks"}},
      {"reshape",
       [](GraphBuilder& g) {
         return reshape(g, transpose(g, leaf(g, kF32, {4, 6})), {24});
       },
       {"x is not contiguous"}},
      {"view",
       [](GraphBuilder& g) {
         return view(g, leaf(g, kF32, {4, 6}), {0, 3, 0, 0}, {4, 4});
       },
       {"F32 [4, 6]", "dimension 1: 4 elements from 3 on are not inside of x, which has 6"}},
      {"view",
       [](GraphBuilder& g) {
         return view(g, leaf(g, kF32, {4, 6}), {-1, 0, 0, 0}, {2, 6});
       },
       {"dimension 0: 2 elements from -1"}},
      {"view",
       [](GraphBuilder& g) {
         return view(g, leaf(g, kF32, {4, 6}), {1, 0, 0, 0}, {INT64_MAX, 6});
       },
       {"not inside of x"}},
      {"view",
       [](GraphBuilder& g) {
         return view(g, leaf(g, kQ8_0, {64, 2}), {16, 0, 0, 0}, {32, 2});
       },
       {"whole blocks of Q8_0"}},
      {"permute",
       [](GraphBuilder& g) {
         return permute(g, leaf(g, kF32, {4, 6}), {0, 1, 1, 3});
       },
       {"axes are [0, 1, 1, 3]"}},
      {"permute",
       [](GraphBuilder& g) {
         return permute(g, leaf(g, kF32, {4, 6}), {0, 1, 2, 4});
       },
       {"axes are [0, 1, 2, 4]"}},
      {"permute",
       [](GraphBuilder& g) {
         return permute(g, leaf(g, kQ8_0, {64, 2}), {1, 0, 2, 3});
       },
       {"axes[0] is 1", "Q8_0"}},
      {"transpose",
       [](GraphBuilder& g) {
         return transpose(g, leaf(g, kQ8_0, {64, 2}));
       },
       {"x is Q8_0 [64, 2]", "blocks"}},
      {"transpose", [](GraphBuilder& g) { return transpose(g, Value{7}); }, {"#7"}},
  };
}

TEST(OpErrors, NameTheOpTheOperandsAndTheFacts) {
  std::map<std::string, int> counts;
  for (const auto& calls :
       {elementwise_calls(), unary_calls(), gated_calls(), norm_calls(), matrix_calls(),
        expert_calls(), softmax_calls(), rope_calls(), attention_calls(), paged_attention_calls(),
        rows_calls(), data_and_order_calls(), sort_and_reduce_calls(), convolution_calls(),
        view_calls(), data_calls(), state_calls(), training_calls(), custom_calls()}) {
    for (const BadCall& bad : calls) {
      GraphBuilder g;
      const auto result = bad.call(g);
      ASSERT_FALSE(result.has_value()) << bad.op << ": " << testing::PrintToString(bad.says);
      EXPECT_EQ(result.error().code(), ErrorCode::kInvalidArgument);
      const std::string& message = result.error().message();
      // "op(name F32 [4, 2], F32 [4]): ..."; or "op: ..." if an operand is none.
      ASSERT_THAT(message, StartsWith(bad.op));
      const bool call = message.substr(bad.op.size(), 1) == "(";
      EXPECT_THAT(message, StartsWith(bad.op + (call ? "(" : ": ")));
      const Op* op = find_op(bad.op);
      ASSERT_NE(op, nullptr) << bad.op;
      if (call && !op->info().sources.empty()) {
        EXPECT_THAT(message.substr(0, message.find(")")), ContainsRegex("[A-Z0-9_]+ \\[[0-9, *]*"));
      }
      for (const std::string& fact : bad.says) {
        EXPECT_THAT(result.error().message(), HasSubstr(fact));
      }
      ++counts[bad.op];
    }
  }
  for (const Op* op : all_ops()) {
    EXPECT_GE(counts[std::string(op->info().name)], 2)
        << op->info().name << " needs two bad calls at least: add them to its family's table";
  }
}

TEST(OpErrors, OfAnOperandAreReturnedByTheOuterCall) {
  GraphBuilder g;
  const auto x = leaf(g, kF32, {4});
  const auto result = add(g, silu(g, leaf(g, kI32, {4})), x);
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message(), StartsWith("silu(I32 [4])"));
}

}  // namespace
}  // namespace shunt::ops_errors_test
