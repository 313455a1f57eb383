// Fusion on the CPU. Fused nodes give bit by bit the results that the nodes give one after the
// other. An option turns fusion off. Nodes that can't be fused stay separate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/every_level.h"
#include "backends/cpu/fused/patterns.h"
#include "backends/cpu/interleaved_kind.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"

namespace shunt::test::fusion_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kN = 75;
constexpr std::int64_t kRows = 9;
constexpr std::int64_t kMostTokens = 110;

/// A graph with values for its leaves.
struct Case {
  GraphBuilder g;
  std::map<NodeId, RefTensor> leaves;
  std::set<NodeId> interleaved;
  std::vector<Value> outputs;
  std::vector<Value> caches;
  Dim tokens;  ///< a dynamic dimension, if it has one
  std::uint64_t seed = 1;

  Value leaf(Role role, DType type, const Shape& shape) {
    const Tensor tensor = *make_tensor(type, shape);
    const Value made = role == Role::kInput   ? *g.input("x", tensor)
                       : role == Role::kCache ? *g.cache("x", tensor)
                                              : *g.weight("w", tensor);
    leaves[made.id] = kept_values(type, max_sizes(tensor.shape), seed++);
    return made;
  }
  Value input(DType type = DType::kF32) { return leaf(Role::kInput, type, {kN, kRows}); }
  Value weight(const Shape& shape, DType type = DType::kF32) {
    return leaf(Role::kWeight, type, shape);
  }
  Value scale() { return weight({kN}); }
  Value cache(const Shape& shape, DType type = DType::kF32) {
    caches.push_back(leaf(Role::kCache, type, shape));
    return caches.back();
  }
  Value numbers(DType type, const std::vector<double>& values) {
    const auto count = static_cast<std::int64_t>(values.size());
    const Value made = *g.input("numbers", *make_tensor(type, {count}));
    leaves[made.id] = RefTensor({count, 1, 1, 1});
    leaves[made.id].data = values;
    return made;
  }
  Value normed(Value x) { return *rms_norm(g, x, {.eps = 1e-5F}); }
  void output(Result<Value> value) {
    ASSERT_TRUE(value) << value.error().message();
    ASSERT_TRUE(g.output(*value, "y"));
    outputs.push_back(*value);
  }
};

using Build = std::function<void(Case&)>;

/// The contents of outputs and caches afterwards, or the error.
Result<std::vector<RefTensor>> compute(const Build& build, bool fuse) {
  Case made;
  build(made);
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(made.g).build()));
  Options options;
  options.threads = 2;
  options.backend_options["cpu"]["fuse"] = fuse ? "on" : "off";
  options.backend_options["cpu"]["level"] = cpu::simd::test_level().name();
  const auto registry = Registry::create(options);
  Device* device = *(*registry)->find("cpu0");
  GraphRunOptions how;
  how.weight_memory = [&](Device&, const Graph&, NodeId id) {
    return made.interleaved.contains(id) ? &cpu::interleaved_memory() : nullptr;
  };
  SHUNT_ASSIGN(const auto run, GraphRun::create(graph, {&device, 1}, made.leaves, how));
  std::vector<RefTensor> results;
  // More, then fewer in the same memory.
  for (const std::int64_t count : {kMostTokens, std::int64_t{3}, std::int64_t{70}}) {
    DynamicDimValues dynamic_dims = graph->max_dynamic_dims();
    if (!made.tokens.is_fixed()) {
      SHUNT_TRY(run->plan().set_dynamic_dim(made.tokens, count));
      dynamic_dims[made.tokens.dynamic_dim] = count;
    }
    SHUNT_TRY(run->plan().run());
    for (const Value& output : made.outputs) {
      results.push_back(*run->output(output.id, dynamic_dims));
    }
    if (made.tokens.is_fixed()) break;
  }
  for (const Value& cache : made.caches) results.push_back(*run->leaf(cache.id));
  return results;
}

/// The ops of each group that is computed at once.
std::vector<std::string> groups(const Build& build) {
  Case made;
  build(made);
  const Graph graph = std::move(*std::move(made.g).build());
  std::vector<NodeId> nodes;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (!node.is_leaf() && node.op->info().storage != Storage::kView) nodes.push_back(id);
  }
  const auto kept = std::make_unique<bool[]>(graph.size());
  for (const NodeId output : graph.outputs()) kept[output] = true;
  std::vector<const BufferType*> memory(graph.size());
  for (const NodeId id : made.interleaved) memory[id] = &cpu::interleaved_memory();
  const SegmentView segment{graph, nodes, {kept.get(), graph.size()}, memory};
  const cpu::Fusions fusions(segment, cpu::fused_patterns(), {cpu::simd::test_level()});
  std::vector<std::string> names;
  for (const cpu::Fused& fused : fusions.all()) {
    std::set<NodeId> ids(fused.inside.begin(), fused.inside.end());
    ids.insert(fused.last);
    std::string text;
    for (const NodeId id : ids) {
      text += (text.empty() ? "" : " ") + std::string(graph.node(id).op->info().name);
    }
    names.push_back(text);
  }
  return names;
}

/// Checks that fusion changes nothing, and returns the fused groups.
std::vector<std::string> fused(const Build& build) {
  const auto at_once = compute(build, true);
  const auto apart = compute(build, false);
  EXPECT_TRUE(at_once) << at_once.error().message();
  EXPECT_TRUE(apart) << apart.error().message();
  if (!at_once || !apart) return {};
  EXPECT_EQ(at_once->size(), apart->size());
  for (std::size_t i = 0; i < at_once->size(); ++i) {
    EXPECT_FALSE((*at_once)[i].data.empty());
    EXPECT_EQ((*at_once)[i].data, (*apart)[i].data) << "result " << i;
  }
  return groups(build);
}

class CpuFusion : public cpu::simd::AtLevel {};

constexpr const char* kScaledNorm = "rms_norm mul";
constexpr const char* kAddedNorm = "add rms_norm mul";

TEST_P(CpuFusion, FusesANormAndItsScale) {
  EXPECT_THAT(fused([](Case& c) { c.output(mul(c.g, c.normed(c.input()), c.scale())); }),
              ElementsAre(kScaledNorm));
}

TEST_P(CpuFusion, SourceOfAFusedNormStaysUntilItIsComputed) {
  // The difference of a and b is not read after the norm: other results would take its place.
  EXPECT_THAT(fused([](Case& c) {
                const Value a = c.input();
                const Value b = c.input();
                const Value norm = c.normed(*sub(c.g, a, b));
                const Value other = *sub(c.g, b, a);
                const Value another = *mul(c.g, other, a);
                const Value scaled = *mul(c.g, norm, c.scale());
                c.output(sub(c.g, scaled, *sub(c.g, other, another)));
              }),
              ElementsAre(kScaledNorm));
}

TEST_P(CpuFusion, NormOfACacheWrittenInBetweenIsNotFused) {
  EXPECT_THAT(fused([](Case& c) {
                const Value x = c.cache({kN, kRows});
                const Value norm = c.normed(x);
                const Value rows = c.numbers(DType::kI64, {3, 1});
                const Value two = c.leaf(Role::kInput, DType::kF32, {kN, 2});
                const Value written = *set_rows(c.g, x, two, rows);
                c.output(mul(c.g, norm, c.scale()));
                c.output(scale(c.g, written, {.scale = 2}));
              }),
              IsEmpty());
}

TEST_P(CpuFusion, NormWithAnotherReaderIsNotFused) {
  EXPECT_THAT(fused([](Case& c) {
                const Value norm = c.normed(c.input());
                c.output(mul(c.g, norm, c.scale()));
                c.output(neg(c.g, norm));
              }),
              IsEmpty());
  EXPECT_THAT(fused([](Case& c) {
                const Value norm = c.normed(c.input());
                c.output(mul(c.g, norm, c.scale()));
                c.output(neg(c.g, *reshape(c.g, norm, {kN * kRows})));
              }),
              IsEmpty());
  EXPECT_THAT(fused([](Case& c) {
                const Value norm = c.normed(c.input());
                c.output(norm);
                c.output(mul(c.g, norm, c.scale()));
              }),
              IsEmpty());
  EXPECT_THAT(fused([](Case& c) {
                const Value norm = c.normed(c.input());
                c.output(mul(c.g, norm, norm));
              }),
              IsEmpty());
}

TEST_P(CpuFusion, OtherScalesAndTypesAreNotFused) {
  const auto times = [](DType x, const Shape& shape, DType scale) {
    return fused(
        [&](Case& c) { c.output(mul(c.g, c.normed(c.input(x)), c.weight(shape, scale))); });
  };
  EXPECT_THAT(times(DType::kF32, {kN, kRows}, DType::kF32), IsEmpty());
  EXPECT_THAT(times(DType::kF32, {25}, DType::kF32), IsEmpty());
  EXPECT_THAT(times(DType::kF32, {1}, DType::kF32), IsEmpty());
  EXPECT_THAT(times(DType::kF32, {kN}, DType::kF16), IsEmpty());
  EXPECT_THAT(times(DType::kF16, {kN}, DType::kF16), IsEmpty());
}

TEST_P(CpuFusion, FusesASumAndItsScaledNorm) {
  // The sum is read later, too; a is not, so that the sum may take its place.
  for (const bool in_place : {false, true}) {
    EXPECT_THAT(fused([&](Case& c) {
                  const Value a = *sub(c.g, c.input(), c.input());
                  const Value b = *sub(c.g, c.input(), c.input());
                  const Value sum = *add(c.g, a, b);
                  const Value y = *mul(c.g, c.normed(sum), c.scale());
                  c.output(sub(c.g, *neg(c.g, y), sum));
                  if (!in_place) c.output(neg(c.g, a));
                }),
                ElementsAre(kAddedNorm));
  }
}

TEST_P(CpuFusion, SourcesOfAFusedSumStayUntilItIsComputed) {
  EXPECT_THAT(fused([](Case& c) {
                const Value x = c.input();
                const Value a = *sub(c.g, x, c.input());
                const Value b = *sub(c.g, c.input(), x);
                const Value sum = *add(c.g, a, b);
                const Value other = *sub(c.g, x, c.input());
                const Value another = *neg(c.g, other);
                const Value y = *mul(c.g, c.normed(sum), c.scale());
                c.output(sub(c.g, *sub(c.g, y, sum), *sub(c.g, other, another)));
              }),
              ElementsAre(kAddedNorm));
}

TEST_P(CpuFusion, SumReadBeforeItsNormIsNotFused) {
  EXPECT_THAT(fused([](Case& c) {
                const Value sum = *add(c.g, c.input(), c.input());
                const Value other = *neg(c.g, sum);
                c.output(mul(c.g, c.normed(sum), c.scale()));
                c.output(other);
              }),
              ElementsAre(kScaledNorm));
  EXPECT_THAT(fused([](Case& c) {
                const Value sum = *add(c.g, c.input(), c.input());
                c.output(sum);
                c.output(mul(c.g, c.normed(sum), c.scale()));
              }),
              ElementsAre(kScaledNorm));
}

TEST_P(CpuFusion, SumWithABroadcastRowIsNotFused) {
  EXPECT_THAT(fused([](Case& c) {
                const Value sum = *add(c.g, c.input(), c.weight({kN}));
                c.output(mul(c.g, c.normed(sum), c.scale()));
              }),
              ElementsAre(kScaledNorm));
}

/// The sum must not overwrite the scale, which is a row of one of its addends.
TEST_P(CpuFusion, ScaleMayBeARowOfAnAddend) {
  EXPECT_THAT(fused([](Case& c) {
                const Value a = *sub(c.g, c.input(), c.input());
                const Value b = *sub(c.g, c.input(), c.input());
                const Value row = *view(c.g, a, {0, 3, 0, 0}, {kN});
                const Value sum = *add(c.g, a, b);
                c.output(mul(c.g, c.normed(sum), row));
              }),
              ElementsAre(kAddedNorm));
}

/// Such a row is there only when all of it is.
TEST_P(CpuFusion, ScaleThatIsARowOfTheResultIsNotFused) {
  EXPECT_THAT(fused([](Case& c) {
                const Value norm = c.normed(c.input());
                c.output(mul(c.g, norm, *view(c.g, norm, {0, 2, 0, 0}, {kN})));
              }),
              IsEmpty());
  EXPECT_THAT(fused([](Case& c) {
                const Value sum = *add(c.g, c.input(), c.input());
                const Value row = *view(c.g, sum, {0, 2, 0, 0}, {kN});
                c.output(mul(c.g, c.normed(sum), row));
              }),
              ElementsAre(kScaledNorm));
}

// ---- gated units

constexpr std::int64_t kK = 256;

struct Unit {
  DType gate = DType::kF32;
  DType up = DType::kF32;
  std::int64_t rows = 172;  // 5 tiles of 32 and some
  std::int64_t columns = 1;
  bool interleaved = false;
  std::int64_t k = kK;
};

Value product(Case& c, DType type, const Unit& unit, Value x) {
  const Value w = c.weight({unit.k, unit.rows}, type);
  if (unit.interleaved) c.interleaved.insert(w.id);
  return *matmul(c.g, w, x);
}

Build unit_of(const Unit& unit) {
  return [unit](Case& c) {
    const Value x = c.leaf(Role::kInput, DType::kF32, {unit.k, unit.columns});
    const Value gate = product(c, unit.gate, unit, x);
    c.output(swiglu(c.g, gate, product(c, unit.up, unit, x)));
    // It shares the prepared form of x.
    c.output(product(c, unit.gate, unit, x));
  };
}

constexpr const char* kSwiglu = "matmul matmul swiglu";

TEST_P(CpuFusion, FusesAGatedUnitOfTwoMatmuls) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ4_0, DType::kQ2_K,
                           DType::kQ6_K, DType::kIQ3_S}) {
    for (const bool interleaved : {false, true}) {
      for (const std::int64_t columns : {1, 7, 70, 110}) {
        SCOPED_TRACE(testing::Message() << to_string(type) << " " << interleaved << " " << columns);
        const Unit unit{type, type, 172, columns, interleaved};
        EXPECT_THAT(fused(unit_of(unit)), ElementsAre(kSwiglu));
      }
    }
  }
}

TEST_P(CpuFusion, FusesAGatedUnitWithManyRows) {
  for (const std::int64_t columns : {1, 20}) {
    EXPECT_THAT(fused(unit_of({DType::kQ4_0, DType::kQ4_0, 17000, columns, true, 32})),
                ElementsAre(kSwiglu));
  }
}

TEST_P(CpuFusion, FusesEveryGatedUnitButErf) {
  const auto of = [](auto unit) {
    return fused([unit](Case& c) {
      const Value x = c.leaf(Role::kInput, DType::kF32, {kK, 5});
      const Value gate = product(c, DType::kQ8_0, {}, x);
      c.output(unit(c.g, gate, product(c, DType::kQ8_0, {}, x)));
    });
  };
  EXPECT_THAT(of([](auto& g, auto a, auto b) { return reglu(g, a, b); }),
              ElementsAre("matmul matmul reglu"));
  EXPECT_THAT(of([](auto& g, auto a, auto b) { return geglu(g, a, b); }),
              ElementsAre("matmul matmul geglu"));
  EXPECT_THAT(of([](auto& g, auto a, auto b) { return geglu_quick(g, a, b); }),
              ElementsAre("matmul matmul geglu_quick"));
  EXPECT_THAT(of([](auto& g, auto a, auto b) { return geglu_erf(g, a, b); }), IsEmpty());
}

TEST_P(CpuFusion, FusedNodesUseTheActualNumberOfColumns) {
  for (const DType type : {DType::kQ4_0, DType::kBF16}) {
    for (const bool interleaved : {false, true}) {
      EXPECT_THAT(fused([&](Case& c) {
                    c.tokens = *c.g.dynamic_dim("tokens", kMostTokens);
                    const Value w = c.weight({kK}, DType::kF32);
                    const Value a = c.leaf(Role::kInput, DType::kF32, {kK, c.tokens});
                    const Value b = c.leaf(Role::kInput, DType::kF32, {kK, c.tokens});
                    const Value sum = *add(c.g, a, b);
                    const Value x = *mul(c.g, c.normed(sum), w);
                    const Unit unit{.rows = kK, .interleaved = interleaved};
                    const Value gate = product(c, type, unit, x);
                    const Value y = *swiglu(c.g, gate, product(c, type, unit, x));
                    c.output(sub(c.g, sum, product(c, type, unit, y)));
                  }),
                  ElementsAre(kSwiglu, kAddedNorm));
    }
  }
}

TEST_P(CpuFusion, FusesAGatedUnitWithSlices) {
  EXPECT_THAT(fused([](Case& c) {
                const Value x = c.leaf(Role::kInput, DType::kF32, {kK, 9, 4, 2});
                const Value gate = *matmul(c.g, c.weight({kK, 40, 2}, DType::kQ4_0), x);
                c.output(swiglu(c.g, gate, *matmul(c.g, c.weight({kK, 40, 2}, DType::kQ4_0), x)));
              }),
              ElementsAre(kSwiglu));
}

TEST_P(CpuFusion, MatmulsWithDifferentLayoutsAreNotFused) {
  EXPECT_THAT(fused(unit_of({DType::kQ4_0, DType::kQ8_0})), IsEmpty());
  EXPECT_THAT(fused(unit_of({DType::kF32, DType::kF16, 40, 70})), IsEmpty());
  EXPECT_THAT(fused([](Case& c) {
                const Value x = c.leaf(Role::kInput, DType::kF32, {kK, 5});
                const Value gate = product(c, DType::kQ8_0, {.interleaved = true}, x);
                c.output(swiglu(c.g, gate, product(c, DType::kQ8_0, {}, x)));
              }),
              IsEmpty());
  // Of other columns.
  EXPECT_THAT(fused([](Case& c) {
                const Value x = c.leaf(Role::kInput, DType::kF32, {kK, 5});
                const Value z = c.leaf(Role::kInput, DType::kF32, {kK, 5});
                const Value gate = product(c, DType::kQ8_0, {}, x);
                c.output(swiglu(c.g, gate, product(c, DType::kQ8_0, {}, z)));
              }),
              IsEmpty());
  // One product, and halves of one.
  EXPECT_THAT(fused([](Case& c) {
                const Value x = c.leaf(Role::kInput, DType::kF32, {kK, 5});
                const Value y = product(c, DType::kQ8_0, {}, x);
                c.output(swiglu(c.g, y, y));
                c.output(swiglu(c.g, product(c, DType::kQ8_0, {}, x), absent()));
              }),
              IsEmpty());
  // Another node reads the gate.
  EXPECT_THAT(fused([](Case& c) {
                const Value x = c.leaf(Role::kInput, DType::kF32, {kK, 5});
                const Value gate = product(c, DType::kQ8_0, {}, x);
                c.output(swiglu(c.g, gate, product(c, DType::kQ8_0, {}, x)));
                c.output(neg(c.g, gate));
              }),
              IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuFusion, testing::ValuesIn(cpu::simd::level_names()),
                         cpu::simd::name_of_level);

}  // namespace
}  // namespace shunt::test::fusion_test
