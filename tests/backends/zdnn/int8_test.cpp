// Quantised weights as 8-bit numbers of the machine's own, where a user allows that.
//
// The machine's computation, by its documentation: y = Sa Sb sum_k qa qb + c, with
// q = round(number / S) and no offsets.
#include <cmath>
#include <random>

#include "backends/zdnn/support.h"
#include "engine/model_state.h"
#include "support/engine_run.h"
#include "support/models.h"

namespace shunt::test::int8_test {
namespace {

using testing::HasSubstr;

class ZdnnInt8 : public ZdnnTest {
 protected:
  Result<std::unique_ptr<GraphRun>> prepare_lossy(const std::shared_ptr<const Graph>& graph,
                                                  const std::map<NodeId, RefTensor>& leaves) {
    const auto memory = [](Device& device, const Graph& of, NodeId leaf) {
      return chosen_memory(device, of, leaf, true);
    };
    return GraphRun::create(graph, devices_, leaves, {.weight_memory = memory});
  }

  struct Product {
    std::shared_ptr<const Graph> graph;
    NodeId x = 0;
    NodeId w = 0;
    NodeId y = 0;
    NodeId bias = 0;
  };
  static Product product(std::int64_t k, std::int64_t n, std::int64_t m, bool with_bias = false,
                         DType dtype = DType::kQ8_0) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {k, m}));
    const auto w = g.weight("w", *make_tensor(dtype, {k, n}));
    auto y = matmul(g, w, x);
    Product made;
    made.y = y->id;
    if (with_bias) {
      const auto bias = g.weight("bias", *make_tensor(DType::kF32, {n}));
      made.bias = bias->id;
      y = add(g, y, bias);
    }
    EXPECT_TRUE(g.output(y, "y"));
    made.graph = built(std::move(g));
    made.x = x->id;
    made.w = w->id;
    return made;
  }

  RefTensor run(const Product& product, const std::map<NodeId, RefTensor>& leaves) {
    auto made = prepare_lossy(product.graph, leaves);
    EXPECT_TRUE(made) << made.error().message();
    const Status status = (*made)->plan().run();
    EXPECT_TRUE(status) << status.error().message();
    twin_->reset_counts();
    EXPECT_TRUE((*made)->plan().run());
    return *(*made)->output(product.graph->outputs()[0]);
  }

  /// The error of such a weight, measured without the backend's sums: from the values that are read
  /// back.
  LossyCost cost_of(const Product& product, const RefTensor& values) {
    const Tensor& tensor = product.graph->node(product.w).result;
    BufferType& memory = *lossy_memory(zdnn(), *product.graph, product.w);
    const PlacedTensor placed{tensor, 0};
    auto buffer = memory.allocate_for(memory.size_of(tensor), {&placed, 1});
    EXPECT_TRUE(buffer) << buffer.error().message();
    std::vector<std::byte> bytes(static_cast<std::size_t>(byte_span(tensor)));
    write_tensor(values, tensor, bytes.data());
    EXPECT_FALSE(zdnn().lossy_cost({buffer->get(), 0})) << "nothing is written";
    EXPECT_TRUE((*buffer)->write(0, bytes));
    const auto cost = zdnn().lossy_cost({buffer->get(), 0});
    EXPECT_TRUE(cost);
    return *cost;
  }
};

/// Numbers of which each step is known, so that the result is exact: Q8_0 has them with a scale of
/// 16, and the largest of x and w are 127 times their scales.
TEST_F(ZdnnInt8, MatmulsMatchTheDocumentedFormula) {
  for (const char* sums : {"single", "double", "dlfloat"}) {
    for (const bool with_bias : {false, true}) {
      open("z17");
      twin_->set("ZDNN_TWIN_ACCUMULATE", sums);
      const Product made = product(32, 3, 2, with_bias);
      auto leaves = values(*made.graph);
      constexpr double kSx = 0.125;
      constexpr double kSw = 16;
      RefTensor& x = leaves[made.x] = RefTensor({32, 2, 1, 1});
      const double row0[] = {127, 3.25, -7.6};  // 127, 3, -8
      const double row1[] = {0, 100.4, 64};     // 0, 100, 64
      RefTensor& w = leaves[made.w] = RefTensor({32, 3, 1, 1});
      const double columns[3][3] = {{1, 10, -20}, {-2, 0, 5}, {0, -1, 1}};
      for (std::int64_t i = 0; i < 3; ++i) {
        x.at(i, 0) = row0[i] * kSx;
        x.at(i, 1) = row1[i] * kSx;
        for (std::int64_t j = 0; j < 3; ++j) w.at(i, j) = columns[j][i] * kSw;
      }
      // So that this is the scale of each block; x is 0 there.
      for (std::int64_t j = 0; j < 3; ++j) w.at(31, j) = 127 * kSw;
      const double bias[] = {64, -8, 2};
      if (with_bias) {
        for (std::int64_t j = 0; j < 3; ++j) leaves[made.bias].at(j) = bias[j];
      }
      // 127 + 30 + 160, -254 - 40, -3 - 8; 1000 - 1280, 320, -100 + 64.
      const double dots[2][3] = {{317, -294, -11}, {-280, 320, -36}};
      const RefTensor got = run(made, leaves);
      for (std::int64_t i = 0; i < 2; ++i) {
        for (std::int64_t j = 0; j < 3; ++j) {
          const double expected = kSx * kSw * dots[i][j] + (with_bias ? bias[j] : 0);
          EXPECT_EQ(got.at(j, i), expected) << sums << " row " << i << " column " << j;
        }
      }
      EXPECT_EQ(twin_->operations(), 1U) << "the bias is part of the product";
      EXPECT_EQ(twin_->calls(113), 1U);
      EXPECT_EQ(twin_->transforms_in(), 1U);
      EXPECT_EQ(twin_->transforms_out(), 1U);
      EXPECT_EQ(twin_->objections(), 0U);
      EXPECT_TRUE(zdnn().warnings().empty());
    }
  }
}

TEST_F(ZdnnInt8, OddSizesAndAllTypesStayWithinTheDeclaredError) {
  struct Case {
    std::int64_t k, n, m;
    DType dtype;
  };
  const Case cases[] = {{32, 33, 1, DType::kQ8_0},   {96, 65, 3, DType::kQ8_0},
                        {2016, 9, 33, DType::kQ8_0}, {64, 70, 5, DType::kQ4_0},
                        {256, 64, 2, DType::kQ4_K},  {512, 31, 7, DType::kQ6_K}};
  for (const Case& c : cases) {
    for (const bool with_bias : {false, true}) {
      const Product made = product(c.k, c.n, c.m, with_bias, c.dtype);
      const auto leaves = values(*made.graph);
      const RefTensor got = run(made, leaves);
      const double error = nmse(got, expected(*made.graph, leaves));
      const LossyCost cost = cost_of(made, leaves.at(made.w));
      std::vector<const BufferType*> kinds(made.graph->size(), nullptr);
      kinds[made.w] = lossy_memory(zdnn(), *made.graph, made.w);
      const double bound =
          zdnn().rounding_error(*made.graph, made.y, kinds) + 2 * cost.squared_error / cost.squares;
      EXPECT_LT(zdnn().rounding_error(*made.graph, made.y), bound / 2) << "of DLFLOAT16";
      EXPECT_LT(error, bound) << c.k << " " << c.n << " " << c.m << " " << to_string(c.dtype);
      EXPECT_GT(error, 3e-6) << "finer than 8 bits can be: is it DLFLOAT16?";
      EXPECT_EQ(cost.form, DType::kI8);
      EXPECT_EQ(twin_->objections(), 0U);
    }
  }
}

/// A scale is shared by some columns only: large values in one of them make no columns of other
/// scales coarser.
TEST_F(ZdnnInt8, ScalesAreSharedBySomeColumnsOnly) {
  const Product made = product(4096, 600, 3, true);  // 256 columns a scale
  auto leaves = values(*made.graph);
  for (std::int64_t i = 0; i < 4096; ++i) leaves[made.w].at(i, 0) *= 1000;
  const RefTensor got = run(made, leaves);
  const RefTensor right = expected(*made.graph, leaves);
  // Rounding to steps of S = largest / 127 has a mean squared error of S^2 / 12. The errors of both
  // operands add up. The mean of so few results differs from that by some percent.
  const auto error_of = [](double largest, double squares, double count) {
    return largest / 127 * largest / 127 / 12 / (squares / count);
  };
  double bound = 0;
  for (const bool of_x : {true, false}) {
    const RefTensor& operand = leaves[of_x ? made.x : made.w];
    double largest = 0;
    double squares = 0;
    double count = 0;
    for (std::int64_t j = of_x ? 0 : 256; j < operand.sizes[1]; ++j) {
      for (std::int64_t i = 0; i < 4096; ++i, ++count) {
        largest = std::max(largest, std::fabs(operand.at(i, j)));
        squares += operand.at(i, j) * operand.at(i, j);
      }
    }
    bound += error_of(largest, squares, count);
  }
  RefTensor others({344, 3, 1, 1});
  RefTensor right_others = others;
  for (std::int64_t row = 0; row < 3; ++row) {
    for (std::int64_t j = 0; j < 344; ++j) {
      others.at(j, row) = got.at(256 + j, row);
      right_others.at(j, row) = right.at(256 + j, row);
    }
  }
  EXPECT_LT(nmse(others, right_others), 1.25 * bound);
  EXPECT_EQ(twin_->operations(), 3U);
  EXPECT_EQ(twin_->transforms_in(), 1U);
  EXPECT_EQ(twin_->transforms_out(), 1U);
}

/// Both operands are integers of -127 to 127 times a scale, with 127 in each block of Q8_0 and in
/// each piece, so 8 bits hold them exactly. DLFLOAT16 still rounds the bias, each piece of a sum
/// and each sum of two pieces: |error| <= 2^-10 |number|, so each rounding adds at most 2^-20 to
/// the error.
TEST_F(ZdnnInt8, BiasIsAddedOnceToSplitMatmuls) {
  constexpr double kRounding = 1.0 / (1 << 20);
  struct Case {
    std::int64_t k, n, m;
    std::uint64_t calls;
    int roundings;
  };
  for (const Case& c : {Case{4096, 600, 3, 3, 2}, {(1 << 18) + 256, 65, 1, 4, 5}}) {
    const Product made = product(c.k, c.n, c.m, true);
    auto leaves = values(*made.graph);
    std::mt19937_64 random(1);
    const auto integer = [&] { return static_cast<double>(random() % 253) - 126; };
    const auto fill = [&](RefTensor& operand, double scale) {
      for (std::int64_t j = 0; j < operand.sizes[1]; ++j) {
        for (std::int64_t i = 0; i < c.k; ++i) {
          operand.at(i, j) = scale * (i % 32 == 31 ? 127 : integer());
        }
      }
    };
    fill(leaves[made.x], 1.0 / 128);
    fill(leaves[made.w], 1.0 / 64);
    // The bias is as large as the product: one that is missing, added twice or taken from other
    // columns is an error far above the bound.
    const double of_product = 126.0 * 126 / 3 / 128 / 64 * std::sqrt(static_cast<double>(c.k));
    for (double& b : leaves[made.bias].data) b *= of_product;
    const RefTensor got = run(made, leaves);
    EXPECT_EQ(twin_->calls(113), c.calls);
    EXPECT_LT(nmse(got, expected(*made.graph, leaves)), c.roundings * kRounding) << c.k;
    EXPECT_EQ(twin_->objections(), 0U);
  }
}

/// Sums that are too long for one call, and columns with two scales: each element goes in once, and
/// comes out once.
TEST_F(ZdnnInt8, SplitsAlongSumsAndColumns) {
  const Product made = product((1 << 18) + 256, 65, 1);
  const auto leaves = values(*made.graph);
  const RefTensor got = run(made, leaves);
  EXPECT_LT(nmse(got, expected(*made.graph, leaves)), 2e-3);
  EXPECT_EQ(twin_->calls(113), 4U);
  EXPECT_EQ(twin_->operations(), 4U + 2);
  EXPECT_EQ(twin_->transforms_in(), 1U) << "x, whose pieces are in it";
  EXPECT_EQ(twin_->transforms_out(), 2U) << "64 columns, and one";
  EXPECT_EQ(twin_->objections(), 0U);
}

/// Several matrices of x, each with a scale of its own, and rows all of zeros.
TEST_F(ZdnnInt8, HasAScalePerMatrix) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5, 3}));
  const auto w = g.weight("w", *make_tensor(DType::kQ8_0, {64, 70}));
  ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
  const Product made{built(std::move(g)), x->id, w->id};
  auto leaves = values(*made.graph);
  for (std::int64_t t = 0; t < 5; ++t) {
    for (std::int64_t i = 0; i < 64; ++i) {
      leaves[made.x].at(i, t, 0) = 0;
      leaves[made.x].at(i, t, 1) *= 10000;
    }
  }
  const RefTensor got = run(made, leaves);
  const RefTensor right = expected(*made.graph, leaves);
  RefTensor last({70, 5, 1, 1});
  RefTensor right_last = last;
  for (std::int64_t t = 0; t < 5; ++t) {
    for (std::int64_t j = 0; j < 70; ++j) {
      EXPECT_EQ(got.at(j, t, 0), 0);
      last.at(j, t) = got.at(j, t, 2);
      right_last.at(j, t) = right.at(j, t, 2);
    }
  }
  EXPECT_LT(nmse(last, right_last), 1e-3);
  EXPECT_LT(nmse(got, right), 1e-3);
}

TEST_F(ZdnnInt8, ChainsStayInTheAcceleratorLayout) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
  ASSERT_TRUE(g.output(feed_forward(g, x, 64, 160, DType::kQ8_0), "y"));
  const auto graph = built(std::move(g));
  const auto leaves = values(*graph);
  auto made = prepare_lossy(graph, leaves);
  ASSERT_TRUE(made) << made.error().message();
  ASSERT_TRUE((*made)->plan().run());
  twin_->reset_counts();
  ASSERT_TRUE((*made)->plan().run());
  EXPECT_EQ(twin_->transforms_in(), 1U);
  EXPECT_EQ(twin_->transforms_out(), 1U);
  EXPECT_EQ(twin_->allocations(), 0U);
  EXPECT_EQ(twin_->operations(), 8U) << "as with DLFLOAT16";
  EXPECT_LT(nmse(*(*made)->output(graph->outputs()[0]), expected(*graph, leaves)), 2e-3);
}

TEST_F(ZdnnInt8, WeightsTakeOneBytePerElementAndReadBackClosely) {
  const Product made = product(2048, 512, 1, false, DType::kQ4_0);
  const Tensor& tensor = made.graph->node(made.w).result;
  BufferType* const memory = lossy_memory(zdnn(), *made.graph, made.w);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->size_of(tensor), 2048U * 512);
  EXPECT_TRUE(zdnn().can_read(*memory));
  EXPECT_FALSE(devices_.back()->can_read(*memory));
  EXPECT_FALSE(memory->host_accessible());
  EXPECT_THAT(memory->layouts().front().note, HasSubstr("8 bits"));
  // Rows of one in whole pages: 65 rows of w are two columns of sticks, 2 pages each.
  const Product odd = product(96, 65, 1);
  EXPECT_EQ(lossy_memory(zdnn(), *odd.graph, odd.w)->size_of(odd.graph->node(odd.w).result),
            4U * 4096);
  // Offsets are those of plain bytes, of which Q8_0 has more.
  const Product q8 = product(2048, 512, 1);
  EXPECT_EQ(lossy_memory(zdnn(), *q8.graph, q8.w)->size_of(q8.graph->node(q8.w).result),
            2048U * 512 / 32 * 34);
  const auto leaves = values(*odd.graph);
  auto run = prepare_lossy(odd.graph, leaves);
  ASSERT_TRUE(run) << run.error().message();
  const auto read = (*run)->leaf(odd.w);
  ASSERT_TRUE(read);
  EXPECT_LT(nmse(*read, leaves.at(odd.w)), 1e-3);
  EXPECT_GT(nmse(*read, leaves.at(odd.w)), 1e-6);
}

/// Without a request the form is DLFLOAT16. Weights that are no blocks, and rows, have no other
/// form.
TEST_F(ZdnnInt8, IsNotUsedUnlessRequested) {
  const Product made = product(64, 70, 1);
  EXPECT_NE(chosen_memory(zdnn(), *made.graph, made.w), lossy_memory(zdnn(), *made.graph, made.w));
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    const Product floats = product(64, 70, 1, true, dtype);
    EXPECT_EQ(lossy_memory(zdnn(), *floats.graph, floats.w), nullptr);
    EXPECT_EQ(lossy_memory(zdnn(), *floats.graph, floats.bias), nullptr);
  }
}

TEST_F(ZdnnInt8, IsUnavailableOnMachinesWithoutIt) {
  const Product made = product(64, 70, 1);
  open("z16");
  EXPECT_EQ(lossy_memory(zdnn(), *made.graph, made.w), nullptr);
  EXPECT_THAT(zdnn().why_not_lossy(), HasSubstr("came with z17"));
  open("z17", true);
  EXPECT_EQ(lossy_memory(zdnn(), *made.graph, made.w), nullptr);
  EXPECT_THAT(zdnn().why_not_lossy(), HasSubstr("has no zdnn_quantized_matmul_op"));
  open("z17");
  EXPECT_EQ(zdnn().why_not_lossy(), "");
}

/// Computed by its plain meaning, with the weights that the machine has, and counted.
TEST_F(ZdnnInt8, ValuesOutOfRangeUseTheHostFallback) {
  out_of_range_ = "exact";
  for (const char* answer : {"silent", "convert_failure"}) {
    settings_["ZDNN_TWIN_TOO_LARGE"] = answer;
    for (const double value : {1e12, -1e30, 1e-14}) {
      open("z17");
      const Product made = product(64, 70, 3);
      auto leaves = values(*made.graph);
      for (double& x : leaves[made.x].data) x = value == 1e-14 ? x * value : x;
      leaves[made.x].at(3, 1) = value;
      const RefTensor right = expected(*made.graph, leaves);
      const RefTensor got = run(made, leaves);
      if (value == 1e-14) {
        // DLFLOAT16 has 0 for it.
        for (const double y : got.data) EXPECT_EQ(y, 0);
        continue;
      }
      EXPECT_LT(nmse(got, right), 1e-3) << value << ", " << answer;
      ASSERT_EQ(zdnn().warnings().size(), 1U);
      EXPECT_EQ(zdnn().warnings().front().count, 2U);
    }
  }
}

/// A weight whose scale is so small that its product with that of x is nothing to the machine.
TEST_F(ZdnnInt8, ScalesOutOfRangeUseTheHostFallback) {
  const Product made = product(64, 70, 3);
  auto leaves = values(*made.graph);
  for (double& w : leaves[made.w].data) w *= 0.03;
  for (double& x : leaves[made.x].data) x *= 1e-5;
  const RefTensor got = run(made, leaves);
  EXPECT_LT(nmse(got, expected(*made.graph, leaves)), 1e-3);
  EXPECT_EQ(zdnn().warnings().size(), 1U);
}

TEST_F(ZdnnInt8, FaultsAreErrorsOrWorkedAround) {
  const Product made = product(96, 65, 3, true);
  const auto leaves = values(*made.graph);
  const RefTensor right = expected(*made.graph, leaves);
  for (int at = 1; at <= 4; ++at) {
    for (const char* fault :
         {"ZDNN_TWIN_FAIL_RANGE", "ZDNN_TWIN_FAIL_CONVERSION", "ZDNN_TWIN_FAIL_HARDWARE"}) {
      auto run = prepare_lossy(made.graph, leaves);
      ASSERT_TRUE(run) << run.error().message();
      twin_->set(fault, std::to_string(at).c_str());
      const Status status = (*run)->plan().run();
      twin_->set(fault, "0");
      if (status) {
        EXPECT_LT(nmse(*(*run)->output(made.graph->outputs()[0]), right), 1e-3) << fault << at;
      } else {
        EXPECT_THAT(fault, HasSubstr("HARDWARE"));
        EXPECT_EQ(status.error().code(), ErrorCode::kDevice);
        EXPECT_TRUE(status.error().vendor());
        EXPECT_THAT(status.error().message(), HasSubstr("zdnn_quantized_matmul_op"));
      }
      ASSERT_TRUE((*run)->plan().run());
      EXPECT_LT(nmse(*(*run)->output(made.graph->outputs()[0]), right), 1e-3);
    }
  }
  EXPECT_FALSE(zdnn().warnings().empty());
  // While the weight is loaded: it stays plain, and so is its product.
  twin_->set("ZDNN_TWIN_FAIL_CONVERSION", "1+");
  auto run = prepare_lossy(made.graph, leaves);
  twin_->set("ZDNN_TWIN_FAIL_CONVERSION", "0");
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_TRUE((*run)->plan().run());
  EXPECT_LT(nmse(*(*run)->output(made.graph->outputs()[0]), right), 1e-3);
}

class ZdnnInt8Engine : public ZdnnInt8 {
 protected:
  Result<EngineRun> load(const SynthModel& file, Transcode transcode) {
    LoadOptions options;
    options.session = small_session();
    options.memory_margin = 0;
    options.placement.rules_only = true;
    options.placement.transcode = transcode;
    return run_engine(file.path(), devices_, options);
  }
  static std::string notes_of(const EngineRun& run) {
    std::string all;
    for (const std::string& note : run.model->notes()) all += note + "\n";
    return all;
  }
};

TEST_F(ZdnnInt8Engine, NotesHaveTheErrorAndTheLedgerTheBytes) {
  SynthOptions shape;
  shape.dtype = DType::kQ8_0;
  const SynthModel file(shape);
  const auto lossy = load(file, Transcode::kLossy);
  ASSERT_TRUE(lossy) << lossy.error().message();
  EXPECT_THAT(notes_of(*lossy), HasSubstr("weights came as I8 instead of Q8_0: error "));
  const auto precise = load(file, Transcode::kPrecise);
  ASSERT_TRUE(precise) << precise.error().message();
  EXPECT_THAT(notes_of(*precise), testing::Not(HasSubstr("I8")));
  EXPECT_LT(lossy->model->ledger().total(Purpose::kWeights),
            precise->model->ledger().total(Purpose::kWeights));
  Ledger used;
  for (const Ledger& ledger : {lossy->model->ledger(), lossy->session->ledger()}) used.add(ledger);
  EXPECT_EQ(to_text(used.in_buffers()), to_text(lossy->model->predicted().in_buffers()));
  RefTensor a({static_cast<std::int64_t>(lossy->logits.size()), 1, 1, 1});
  RefTensor b = a;
  std::ranges::copy(lossy->logits, a.data.begin());
  std::ranges::copy(precise->logits, b.data.begin());
  EXPECT_LT(nmse(a, b), 3e-2);
  EXPECT_GT(nmse(a, b), 1e-6);
  EXPECT_EQ(twin_->objections(), 0U);
}

TEST_F(ZdnnInt8Engine, NotesSayWhyAZ16KeepsDlfloat16) {
  open("z16");
  SynthOptions shape;
  shape.dtype = DType::kQ8_0;
  const SynthModel file(shape);
  const auto run = load(file, Transcode::kLossy);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_THAT(notes_of(*run), HasSubstr("zdnn0: no lossy form of weights: "));
  EXPECT_THAT(notes_of(*run), HasSubstr("came with z17"));
  EXPECT_THAT(notes_of(*run), testing::Not(HasSubstr("came as I8")));
}

}  // namespace
}  // namespace shunt::test::int8_test
