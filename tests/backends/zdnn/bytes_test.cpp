// The limit of a tensor in bytes, 4 GiB of the machines there are. It cuts weights and their other
// operands as the limits of dimensions do.
#include "backends/zdnn/own_device.h"

namespace shunt::test::bytes_test {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

class ZdnnBytes : public ZdnnOwnDeviceTest {
 protected:
  /// A machine of this profile, with that limit if there is one; zdnn() is that.
  std::unique_ptr<zdnn::Machine> machine(const char* profile,
                                         std::uint64_t (*most_bytes)() = nullptr) {
    open(profile);
    auto functions = symbols();
    EXPECT_TRUE(functions) << functions.error().message();
    if (most_bytes != nullptr) functions->get_nnpa_max_tensor_size = most_bytes;
    use(*functions);
    return std::move(*zdnn::Machine::create(*functions));
  }
};

/// Each element is in one piece, and the machine takes each piece.
void expect_to_be_cut(const zdnn::Machine& machine, std::int64_t k, std::int64_t n) {
  SCOPED_TRACE(fmt::format("{} x {} on a {}", k, n, machine.description()));
  const zdnn::Grid grid = zdnn::grid_of(machine, k, n);
  EXPECT_FALSE(grid.whole());
  EXPECT_TRUE(grid.piece_k == k || grid.piece_k % 256 == 0) << "blocks of types are whole";
  EXPECT_TRUE(grid.piece_n == n || grid.piece_n % 64 == 0) << "sticks are whole";
  std::int64_t sums = 0;
  std::int64_t columns = 0;
  for (std::int64_t i = 0; i < grid.count_k(); ++i) sums += grid.dims(i, 0).dim2;
  for (std::int64_t j = 0; j < grid.count_n(); ++j) columns += grid.dims(0, j).dim1;
  EXPECT_EQ(sums, k);
  EXPECT_EQ(columns, n);
  std::uint64_t bytes = 0;
  for (std::int64_t j = 0; j < grid.count_n(); ++j) {
    for (std::int64_t i = 0; i < grid.count_k(); ++i) {
      EXPECT_FALSE(grid.dims(i, j).empty());
      EXPECT_EQ(zdnn::too_large(machine, grid.dims(i, j)), "");
      // The other operand of the pieces of a sum.
      EXPECT_LE(grid.dims(i, j).dim2, machine.max_dim(1));
      bytes += grid.piece_bytes(i, j);
    }
  }
  EXPECT_EQ(grid.bytes(), bytes);
}

/// Of 2 bytes an element 32768 rows of 65536 are 4 GiB.
TEST_F(ZdnnBytes, OfWeightsRespectTheLimitOfTheMachine) {
  const auto z17 = machine("z17");
  EXPECT_EQ(z17->max_bytes(), 4096 * kMiB);
  EXPECT_TRUE(zdnn::grid_of(*z17, 32768, 65536).whole());
  EXPECT_EQ(zdnn::grid_of(*z17, 32768, 65536).bytes(), 4096 * kMiB);
  expect_to_be_cut(*z17, 32768, 65537);
  expect_to_be_cut(*z17, 32769, 65536);  // a row of pages more
  for (const auto& [k, n] : {std::pair(4096, 600000),
                             {2097152, 1025},
                             {2097152, 100000},
                             {1, 3000000},
                             {70000, 70000}}) {
    expect_to_be_cut(*z17, k, n);
  }
  const auto z16 = machine("z16");
  EXPECT_TRUE(zdnn::grid_of(*z16, 32768, 32768).whole()) << "2 GiB";
  expect_to_be_cut(*z16, 32768, 32769);
  expect_to_be_cut(*z16, 32769, 32768);
}

TEST_F(ZdnnBytes, OfWeightsRespectALowerLimit) {
  // A stick of 64 columns is 64 KiB of 512 rows, of which 1 MiB has 16.
  const auto small = machine("z17", [] { return kMiB; });
  EXPECT_TRUE(zdnn::grid_of(*small, 512, 1024).whole());
  EXPECT_EQ(zdnn::grid_of(*small, 512, 1025).piece_n, 1024);
  for (const auto& [k, n] : {std::pair(512, 1025),
                             {512, 5000},
                             {513, 1024},
                             {8192, 65},
                             {8193, 64},
                             {30000, 10},
                             {100, 100000}}) {
    expect_to_be_cut(*small, k, n);
  }
  // 64 columns of no more than 512 rows.
  const auto least = machine("z16", [] { return std::uint64_t{64} << 10; });
  EXPECT_TRUE(zdnn::grid_of(*least, 512, 64).whole());
  expect_to_be_cut(*least, 513, 64);
  expect_to_be_cut(*least, 512, 65);
  expect_to_be_cut(*least, 2000, 1000);
}

/// Of 128 KiB are 256 rows of 256. Each block of rows of x goes in once, and of y each piece comes
/// out.
TEST_F(ZdnnBytes, MatmulsAboveTheLimitAreSplit) {
  struct Case {
    std::int64_t n, m;
    std::uint64_t columns, rows;  ///< pieces of y
  };
  for (const Case& c : {Case{300, 300, 2, 2}, {10, 300, 1, 2}, {300, 10, 2, 1}, {256, 256, 1, 1}}) {
    for (const char* profile : {"z16", "z17"}) {
      SCOPED_TRACE(fmt::format("{} x {} on a {}", c.n, c.m, profile));
      (void)machine(profile, [] { return std::uint64_t{128} << 10; });
      GraphBuilder g;
      const auto x = g.input("x", *make_tensor(DType::kF32, {256, c.m}));
      const auto w = g.weight("w", *make_tensor(DType::kF32, {256, c.n}));
      ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
      const auto graph = built(std::move(g));
      const auto leaves = values(*graph);
      auto run = prepare(graph, leaves);
      ASSERT_TRUE(run) << run.error().message();
      ASSERT_TRUE((*run)->plan().run());  // after this one constants are there
      twin_->reset_counts();
      ASSERT_TRUE((*run)->plan().run());
      EXPECT_LT(nmse(*(*run)->output(graph->outputs()[0]), expected(*graph, leaves)), kChainError);
      EXPECT_EQ(twin_->transforms_in(), c.rows);
      EXPECT_EQ(twin_->operations(), c.rows * c.columns);
      EXPECT_EQ(twin_->transforms_out(), c.rows * c.columns);
      EXPECT_EQ(twin_->objections(), 0U);
      EXPECT_TRUE(zdnn().warnings().empty());
    }
  }
}

TEST_F(ZdnnBytes, ElementwiseOpsAboveTheLimitAreRejectedWithTheBytes) {
  (void)machine("z17", [] { return kMiB; });
  GraphBuilder g;
  const auto fits = relu(g, g.input("x", *make_tensor(DType::kF32, {512, 1024})));
  const auto y = relu(g, g.input("z", *make_tensor(DType::kF32, {512, 1025})));
  ASSERT_TRUE(g.output(y, "y"));
  const auto graph = built(std::move(g));
  EXPECT_TRUE(zdnn().supports(*graph, fits->id));
  const Support answer = zdnn().supports(*graph, y->id);
  EXPECT_EQ(answer.refusal(), Refusal::kShape);
  EXPECT_THAT(answer.facts(), testing::HasSubstr("1081344 bytes in the accelerator's layout"));
  EXPECT_THAT(answer.facts(), testing::HasSubstr("at most 1048576"));
}

}  // namespace
}  // namespace shunt::test::bytes_test
