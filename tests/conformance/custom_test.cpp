// Functions that the user brings along, on the CPU: the tensors that they see, and that nothing
// they do ends more than the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>

#include "shunt/explain.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "support/test_device.h"

namespace shunt::test::custom_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Tensor> same_as_first(std::span<const Tensor> sources) {
  return sources[0];
}

RefTensor row(std::vector<double> data) {
  RefTensor x(Sizes{static_cast<std::int64_t>(data.size()), 1, 1, 1});
  x.data = std::move(data);
  return x;
}

class CustomOnCpu : public ::testing::Test {
 protected:
  void SetUp() override {
    Options options;
    options.threads = 4;
    auto made = Registry::create(options);
    ASSERT_TRUE(made);
    registry = std::move(*made);
    const auto selected = registry->select({});
    if (!selected || selected->empty()) GTEST_SKIP() << "there is no CPU backend in this build";
    devices = *selected;
    x = *g.input("x", *make_tensor(DType::kF32, {4}));
  }

  /// Places and compiles a graph whose output this is.
  Status compile_graph(const Result<Value>& value) {
    SHUNT_TRY(g.output(value, "y"));
    y = *value;
    SHUNT_ASSIGN(Graph built, std::move(g).build());
    graph = std::make_shared<const Graph>(std::move(built));
    SHUNT_ASSIGN(run, GraphRun::create(graph, devices, {{x.id, row({1, 2, 3, 4})}}));
    return ok();
  }
  std::vector<double> result() { return run->output(y.id)->data; }

  /// The error of a run with a function that must fail.
  Error error_of(CustomFunction function, std::int64_t items = 1) {
    const Status made =
        compile_graph(custom(g, {x}, {"swirl", same_as_first, std::move(function), items}));
    if (!made) return made.error();
    const Status status = run->plan().run();
    return status ? Error(ErrorCode::kInternal, "it did not fail") : status.error();
  }

  std::unique_ptr<Registry> registry;
  std::vector<Device*> devices;
  GraphBuilder g;
  Value x;
  Value y;
  std::shared_ptr<const Graph> graph;
  std::unique_ptr<GraphRun> run;
};

TEST_F(CustomOnCpu, IsCalledOncePerRun) {
  int calls = 0;
  ASSERT_TRUE(compile_graph(
      custom(g, {x}, {"squares", same_as_first, [&](const CustomCall& call) -> Status {
                        ++calls;
                        SHUNT_ASSIGN(const auto from, call.source<float>(0));
                        SHUNT_ASSIGN(const auto to, call.result.as<float>());
                        for (int i = 0; i < 4; ++i) to(i) = from(i) * from(i);
                        return ok();
                      }})));
  ASSERT_TRUE(run->plan().run());
  EXPECT_THAT(result(), ElementsAre(1, 4, 9, 16));
  ASSERT_TRUE(run->plan().run());
  EXPECT_EQ(calls, 2);
}

TEST_F(CustomOnCpu, ItemsAreEachCalledOnceConcurrently) {
  std::mutex mutex;
  std::multiset<std::int64_t> items;
  ASSERT_TRUE(compile_graph(custom(g, {x},
                                   {"numbers", *make_tensor(DType::kI32, {1000}),
                                    [&](const CustomCall& call) -> Status {
                                      {
                                        const std::lock_guard lock(mutex);
                                        items.insert(call.item);
                                      }
                                      SHUNT_ASSIGN(const auto to, call.result.as<std::int32_t>());
                                      const auto [begin, end] = call.share(1000);
                                      for (std::int64_t i = begin; i < end; ++i) {
                                        to(i) = static_cast<std::int32_t>(i);
                                      }
                                      return ok();
                                    },
                                    300})));
  ASSERT_TRUE(run->plan().run());
  EXPECT_EQ(items.size(), 300U);
  EXPECT_EQ(std::set<std::int64_t>(items.begin(), items.end()).size(), 300U);
  EXPECT_EQ(*items.rbegin(), 299);
  std::vector<double> expected;
  for (int i = 0; i < 1000; ++i) expected.push_back(i);
  EXPECT_EQ(result(), expected);
}

TEST_F(CustomOnCpu, SharesCoverTheRangeOnce) {
  for (const std::int64_t n : {0, 1, 7, 100}) {
    for (const std::int64_t items : {1, 3, 7, 20}) {
      std::int64_t next = 0;
      for (std::int64_t item = 0; item < items; ++item) {
        const CustomCall call = {.sources = {}, .result = {}, .item = item, .items = items};
        const auto [begin, end] = call.share(n);
        EXPECT_EQ(begin, next);
        EXPECT_LE(end - begin, n / items + 1);
        EXPECT_GE(end - begin, n / items);
        next = end;
      }
      EXPECT_EQ(next, n);
    }
  }
}

TEST_F(CustomOnCpu, SeesTheActualSizesOfTheRun) {
  const Dim tokens = *g.dynamic_dim("tokens", 5);
  const Value wide = *g.input("wide", *make_tensor(DType::kF32, {2, tokens}));
  std::vector<std::int64_t> seen;
  ASSERT_TRUE(g.output(custom(g, {wide},
                              {"sizes", same_as_first,
                               [&](const CustomCall& call) {
                                 seen = {call.sources[0].sizes[1], call.result.sizes[1]};
                                 return ok();
                               }}),
                       "y"));
  graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  RefTensor values(Sizes{2, 5, 1, 1});
  auto made = GraphRun::create(graph, devices, {{x.id, row({1, 2, 3, 4})}, {wide.id, values}});
  ASSERT_TRUE(made) << made.error().message();
  ASSERT_TRUE((*made)->plan().set_dynamic_dim(tokens, 3));
  ASSERT_TRUE((*made)->plan().run());
  EXPECT_THAT(seen, ElementsAre(3, 3));
}

TEST_F(CustomOnCpu, ErrorOfTheFunctionEndsTheRunWithItsName) {
  const Error error =
      error_of([](const CustomCall&) -> Status { return Error(ErrorCode::kIo, "no more tea"); });
  EXPECT_EQ(error.code(), ErrorCode::kIo);
  EXPECT_THAT(error.message(), HasSubstr("y (custom): swirl: no more tea"));
  EXPECT_EQ(error.node(), "y (custom)");
}

TEST_F(CustomOnCpu, ErrorOfOneItemNamesTheItem) {
  const Error error = error_of(
      [](const CustomCall& call) -> Status {
        if (call.item == 7) return Error(ErrorCode::kIo, "no more tea");
        return ok();
      },
      9);
  EXPECT_THAT(error.message(), HasSubstr("swirl, item 7 of 9: no more tea"));
}

TEST_F(CustomOnCpu, ExceptionOnAnyThreadIsAnError) {
  const Error error =
      error_of([](const CustomCall&) -> Status { throw std::runtime_error("burnt"); }, 50);
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("swirl"), HasSubstr("threw"), HasSubstr("burnt")));
}

TEST_F(CustomOnCpu, ThrownNonExceptionIsAnError) {
  const Error error = error_of([](const CustomCall&) -> Status { throw 42; });
  EXPECT_THAT(error.message(), HasSubstr("swirl: it threw an object"));
}

TEST_F(CustomOnCpu, BadAllocIsOutOfMemory) {
  const Error error = error_of([](const CustomCall&) -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
}

TEST_F(CustomOnCpu, RunsAgainAfterAFailure) {
  bool fails = true;
  ASSERT_TRUE(
      compile_graph(custom(g, {x}, {"moody", same_as_first, [&](const CustomCall& call) -> Status {
                                      if (fails) throw std::runtime_error("not now");
                                      SHUNT_ASSIGN(const auto to, call.result.as<float>());
                                      for (int i = 0; i < 4; ++i) to(i) = 5;
                                      return ok();
                                    }})));
  EXPECT_FALSE(run->plan().run());
  fails = false;
  const Status again = run->plan().run();
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_THAT(result(), ElementsAre(5, 5, 5, 5));
}

TEST_F(CustomOnCpu, WrongTypesAndSourcesAreErrors) {
  const Error error = error_of([](const CustomCall& call) -> Status {
    EXPECT_THAT(call.source<float>(1).error().message(), HasSubstr("no source 1: there is 1"));
    EXPECT_THAT(call.result.as<std::int64_t>().error().message(), HasSubstr("F32, not I64"));
    std::vector<float> three(3);
    EXPECT_THAT(call.sources[0].read_row(three).error().message(), HasSubstr("4 elements, not 3"));
    EXPECT_FALSE(call.result.write_row(three));
    std::vector<float> four(4);
    EXPECT_TRUE(call.sources[0].read_row(four));
    EXPECT_THAT(four, ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(call.sources[0].read_row(four, 1).error().message(), HasSubstr("no row [1, 0, 0]"));
    EXPECT_FALSE(call.sources[0].read_row(four, 0, -1));
    EXPECT_FALSE(call.result.write_row(four, 0, 0, 1));
    SHUNT_ASSIGN([[maybe_unused]] const auto halves, call.source<double>(0));
    return ok();
  });
  EXPECT_THAT(error.message(), HasSubstr("swirl: its elements are F32, not F64"));
}

TEST_F(CustomOnCpu, SeesCancelWhileItRuns) {
  std::atomic<bool> cancel = false;
  bool seen = false;
  ASSERT_TRUE(compile_graph(
      custom(g, {x}, {"patient", same_as_first, [&](const CustomCall& call) -> Status {
                        EXPECT_FALSE(call.cancelled());
                        cancel = true;
                        seen = call.cancelled();
                        return ok();
                      }})));
  const Status status = run->plan().run(&cancel);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kCancelled);
  EXPECT_TRUE(seen);
}

TEST_F(CustomOnCpu, ItemsAfterACancelAreNotCalled) {
  std::atomic<bool> cancel = false;
  std::atomic<int> calls = 0;
  ASSERT_TRUE(compile_graph(custom(g, {x},
                                   {"patient", same_as_first,
                                    [&](const CustomCall&) -> Status {
                                      ++calls;
                                      cancel = true;
                                      return ok();
                                    },
                                    100000})));
  EXPECT_FALSE(run->plan().run(&cancel));
  EXPECT_LE(calls, 4);  // at most one on each thread
}

TEST_F(CustomOnCpu, CannotCompileOrRunAPlanOnTheSameDevice) {
  GraphBuilder inner;
  const auto in = inner.input("in", *make_tensor(DType::kF32, {1}));
  ASSERT_TRUE(inner.output(neg(inner, in), "out"));
  const auto small = std::make_shared<const Graph>(std::move(*std::move(inner).build()));
  const auto create = [&] { return GraphRun::create(small, devices, {{in->id, row({1})}}); };
  const auto made = create();
  ASSERT_TRUE(made);
  Status compiled;
  Status ran;
  const auto nest = [&](const CustomCall&) -> Status {
    const auto another = create();
    if (!another) compiled = Error(another.error());
    ran = (*made)->plan().run();
    return ok();
  };
  ASSERT_TRUE(compile_graph(custom(g, {x}, {"matryoshka", same_as_first, nest})));
  ASSERT_TRUE(run->plan().run());
  for (const Status& status : {compiled, ran}) {
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message(), HasSubstr("can't compile or run a plan"));
  }
  EXPECT_TRUE((*made)->plan().run());
}

TEST_F(CustomOnCpu, RunsOnTheCpuIfAnAcceleratorRejectsIt) {
  TestDevice accelerator({.ops = {"silu", "neg"}});
  const std::vector<Device*> both = {&accelerator, devices.back()};
  const auto function = [](const CustomCall& call) -> Status {
    SHUNT_ASSIGN(const auto from, call.source<float>(0));
    SHUNT_ASSIGN(const auto to, call.result.as<float>());
    for (int i = 0; i < 4; ++i) to(i) = 10 * from(i);
    return ok();
  };
  const auto mine = custom(g, {neg(g, x)}, {"tenfold", same_as_first, function});
  const auto out = neg(g, mine);
  ASSERT_TRUE(g.output(out, "y"));
  graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  const auto placement = place_by_ability(*graph, both);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->decisions[mine->id].device, 1);
  EXPECT_EQ(placement->decisions[out->id].device, 0);
  const auto placed = place(*graph, both);
  ASSERT_TRUE(placed) << placed.error().message();
  EXPECT_EQ(placed->decisions[mine->id].device, 1);
  auto made = GraphRun::create(graph, both, {{x.id, row({1, 2, 3, 4})}}, {.by_ability = true});
  ASSERT_TRUE(made) << made.error().message();
  ASSERT_TRUE((*made)->plan().run());
  EXPECT_THAT((*made)->output(out->id)->data, ElementsAre(10, 20, 30, 40));
  EXPECT_EQ(graph->describe(mine->id), "tenfold (custom)");
}

TEST_F(CustomOnCpu, IsRejectedWithAReasonByADeviceWithoutAKernel) {
  Options options;
  const auto null = registry->find("null0");
  if (!null) GTEST_SKIP() << "there is no null backend in this build";
  const auto mine =
      custom(g, {x}, {"tenfold", same_as_first, [](const CustomCall&) { return ok(); }});
  ASSERT_TRUE(g.output(mine, "y"));
  const Graph built = std::move(*std::move(g).build());
  const Support answer = (*null)->supports(built, mine->id);
  EXPECT_TRUE(answer.refused());
  EXPECT_THAT(answer.facts(), HasSubstr("custom"));
}

}  // namespace
}  // namespace shunt::test::custom_test
