// Architectures that are not of the library: layers with windows, and layers with states. Their
// logits are those of the ops' plain references.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/ceil_div.h"
#include "base/to_size.h"
#include "graph/reference.h"
#include "shunt/engine.h"
#include "support/graph_run.h"
#include "support/models.h"
#include "support/session_tokens.h"
#include "support/test_architectures.h"
#include "support/test_model.h"

namespace shunt::test::engine_architectures_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Logits = std::vector<float>;

constexpr float kTolerance = 1e-4F;
constexpr std::int64_t kContext = 256;
constexpr std::int64_t kSlots = 4;

/// Some tokens of a sequence, whose cache rows follow each other.
struct Part {
  Tokens tokens = {};
  std::int64_t length = 0;  ///< tokens before
  std::int64_t block = 0;   ///< the first of its blocks
  std::int64_t source = 0;  ///< slots of its states
  std::int64_t target = 1;
};

RefTensor numbers(const auto& values) {
  RefTensor made({std::ssize(values), 1, 1, 1});
  std::ranges::copy(values, made.data.begin());
  return made;
}

/// Steps that are computed by plain references, and once more by a device, with the same caches.
class Steps {
 public:
  Steps(const std::string& path, Device& device) : file_(*gguf::File::open(path)), device_(device) {
    definition_ = std::move(*read_model(file_, {.more = test_architectures()}));
  }

  /// The logits of all tokens.
  Logits run(const std::vector<Part>& parts) {
    std::int64_t count = 0;
    for (const Part& part : parts) count += std::ssize(part.tokens);
    const StepShape shape = {.tokens = count,
                             .outputs = count,
                             .context = kContext,
                             .cache_type = DType::kF32,
                             .sequences = std::ssize(parts),
                             .state_slots = kSlots};
    auto built = definition_->build(shape);
    EXPECT_TRUE(built) << built.error().message();
    const auto step = std::make_shared<const StepGraph>(std::move(*built));
    std::vector<RefTensor> leaves = leaves_of(*step, parts);
    const auto values = reference_run(step->graph, leaves);
    EXPECT_TRUE(values) << values.error().message();
    expect_the_same_of_device(step, leaves, *values);
    caches_.clear();
    for (const NodeId cache : step->caches) caches_.push_back((*values)[cache]);
    const RefTensor& logits = (*values)[step->logits.id];
    return {logits.data.begin(), logits.data.end()};
  }

 private:
  std::vector<RefTensor> leaves_of(const StepGraph& step, const std::vector<Part>& parts) const {
    std::vector<RefTensor> leaves(step.graph.size());
    for (const WeightLeaf& weight : step.weights) {
      RefTensor values(max_sizes(weight.info->tensor.shape));
      std::ranges::copy(values_of(file_, *weight.info), values.data.begin());
      leaves[weight.leaf] = std::move(values);
    }
    for (std::size_t i = 0; i < step.caches.size(); ++i) {
      const NodeId leaf = step.caches[i];
      leaves[leaf] =
          caches_.empty() ? RefTensor(max_sizes(step.graph.node(leaf).result.shape)) : caches_[i];
    }
    std::vector<std::int64_t> tokens, positions, rows, table, sources, targets;
    RefTensor sequences({3, std::ssize(parts), 1, 1});
    for (const Part& part : parts) {
      const std::int64_t length = part.length + std::ssize(part.tokens);
      const auto sequence = std::ssize(sources);
      sequences.at(2, sequence) = static_cast<double>(table.size());
      for (std::size_t i = 0; i < part.tokens.size(); ++i) {
        tokens.push_back(part.tokens[i]);
        positions.push_back(part.length + static_cast<std::int64_t>(i));
        rows.push_back(part.block * kCacheBlock + positions.back());
      }
      for (std::int64_t i = 0; i * kCacheBlock < length; ++i) table.push_back(part.block + i);
      sequences.at(0, sequence) = static_cast<double>(tokens.size());
      sequences.at(1, sequence) = static_cast<double>(length);
      sources.push_back(part.source);
      targets.push_back(part.target);
    }
    table.resize(to_size(step.block_count.max));
    std::vector<std::int64_t> ids(tokens.size());
    std::iota(ids.begin(), ids.end(), 0);
    leaves[step.tokens.id] = numbers(tokens);
    leaves[step.positions.id] = numbers(positions);
    leaves[step.cache_rows.id] = numbers(rows);
    leaves[step.sequences.id] = sequences;
    leaves[step.block_table.id] = numbers(table);
    for (const WindowCaches& window : step.windows) {
      leaves[window.cache_rows.id] = numbers(rows);
      leaves[window.block_table.id] = numbers(table);
    }
    leaves[step.output_ids.id] = numbers(ids);
    if (step.states.empty()) return leaves;
    leaves[step.state_sources.id] = numbers(sources);
    leaves[step.state_targets.id] = numbers(targets);
    return leaves;
  }

  void expect_the_same_of_device(const std::shared_ptr<const StepGraph>& step,
                                 const std::vector<RefTensor>& leaves,
                                 const std::vector<RefTensor>& expected) {
    const std::shared_ptr<const Graph> graph(step, &step->graph);
    std::map<NodeId, RefTensor> by_id;
    for (NodeId id = 0; id < graph->size(); ++id) {
      if (graph->node(id).is_leaf()) by_id.emplace(id, leaves[id]);
    }
    Device* const devices[] = {&device_};
    const auto run = GraphRun::create(graph, devices, by_id);
    ASSERT_TRUE(run) << run.error().message();
    const Status done = (*run)->plan().run();
    ASSERT_TRUE(done) << done.error().message();
    const auto near = [&](const Result<RefTensor>& got, NodeId node) {
      ASSERT_TRUE(got) << got.error().message();
      ASSERT_EQ(got->data.size(), expected[node].data.size());
      for (std::size_t i = 0; i < got->data.size(); ++i)
        ASSERT_NEAR(got->data[i], expected[node].data[i], kTolerance) << graph->describe(node);
    };
    near((*run)->output(step->logits.id), step->logits.id);
    for (const NodeId cache : step->caches) near((*run)->leaf(cache), cache);
  }

  gguf::File file_;
  Device& device_;
  std::unique_ptr<ModelDefinition> definition_;
  std::vector<RefTensor> caches_;
};

class Architectures : public ::testing::TestWithParam<std::string_view> {
 protected:
  Architectures() {
    Options options;
    options.threads = 2;
    registry_ = std::move(*Registry::create(options));
    write({.architecture = GetParam(), .layers = GetParam() == kMixed ? 6 : 2});
  }
  void write(const TestModelOptions& options) { write_test_model(path_, options); }
  Device& cpu() { return *registry_->devices().back(); }

  Result<std::unique_ptr<Session>> open(const SessionOptions& options) {
    LoadOptions load;
    load.architectures = test_architectures();
    SHUNT_ASSIGN(const auto model, Model::load(path_, *registry_, load));
    return Session::create(model, options);
  }

  static std::span<const float> of_token(const Logits& logits, std::size_t token) {
    const auto each = to_size(kSessionVocabulary);
    return std::span(logits).subspan(token * each, each);
  }

  TempFolder folder_;
  const std::string path_ = folder_.file("model.gguf");
  std::unique_ptr<Registry> registry_;
};

INSTANTIATE_TEST_SUITE_P(, Architectures, ::testing::Values(kWindows, kHybrid, kMixed),
                         [](const auto& of) { return std::string(of.param); });

TEST_P(Architectures, AreKnownOnlyIfTheyAreGiven) {
  const auto model = Model::load(path_, *registry_);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(model.error().message(), HasSubstr("is not supported; Shunt supports llama"));
  const std::string other = folder_.file("other.gguf");
  write_edited(path_, other, [](EditedFile& file) {
    file.set("general.architecture", {gguf::ValueType::kString, std::string("other")});
  });
  LoadOptions load;
  load.architectures = test_architectures();
  const auto unknown = Model::load(other, *registry_, load);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message(),
              AllOf(HasSubstr("Shunt supports llama, "), HasSubstr(", windows, hybrid, mixed")));
  const auto known = Model::load(path_, *registry_, load);
  ASSERT_TRUE(known) << known.error().message();
  EXPECT_EQ((*known)->info().architecture, GetParam());
}

/// The second step continues from the caches and states of the first one, beside another sequence.
TEST_P(Architectures, StepsContinueFromCachesAndStates) {
  const Tokens tokens = some_tokens(100, 1), other = some_tokens(30, 2);
  Steps alone(path_, cpu());
  const Logits expected = alone.run({{.tokens = tokens}});
  Steps alone_too(path_, cpu());
  const Logits expected_other = alone_too.run({{.tokens = other}});
  Steps together(path_, cpu());
  const Tokens start(tokens.begin(), tokens.begin() + 59), rest(tokens.begin() + 59, tokens.end());
  const Part first = {.tokens = start, .block = 1, .target = 2};
  const Part second = {.tokens = rest, .length = 59, .block = 1, .source = 2, .target = 2};
  const Logits before = together.run({first});
  const Logits both = together.run({{.tokens = other, .target = 3}, second});
  for (const std::size_t token : {0U, 30U, 58U})
    EXPECT_LE(difference(of_token(before, token), of_token(expected, token)), kTolerance);
  for (const std::size_t token : {0U, 29U})
    EXPECT_LE(difference(of_token(both, token), of_token(expected_other, token)), kTolerance);
  for (const std::size_t token : {59U, 60U, 99U})
    EXPECT_LE(difference(of_token(both, 30 + token - 59), of_token(expected, token)), kTolerance);
}

TEST_P(Architectures, SessionsGiveTheLogitsOfPlainReferences) {
  const Tokens tokens = some_tokens(150, 1);
  const Logits expected = Steps(path_, cpu()).run({{.tokens = tokens}});
  const auto session = open({.context = 200, .cache_type = DType::kF32, .batch = 64});
  ASSERT_TRUE(session) << session.error().message();
  std::size_t done = 0;
  for (const std::size_t count : {1U, 1U, 40U, 7U, 1U, 80U, 20U}) {
    const auto logits = (*session)->append(std::span(tokens).subspan(done, count));
    ASSERT_TRUE(logits) << logits.error().message();
    done += count;
    EXPECT_LE(difference(*logits, of_token(expected, done - 1)), kTolerance) << done;
  }
  ASSERT_EQ(done, tokens.size());
}

using WindowLayers = Architectures;
INSTANTIATE_TEST_SUITE_P(, WindowLayers, ::testing::Values(kWindows),
                         [](const auto& of) { return std::string(of.param); });

/// One layer, so that nothing carries older tokens on.
TEST_P(WindowLayers, OlderTokensAreNotSeen) {
  write({.architecture = kWindows, .layers = 1, .window = 40});
  const auto session = open({.context = 200, .cache_type = DType::kF32});
  ASSERT_TRUE(session) << session.error().message();
  const auto logits_of = [&](const Tokens& tokens) {
    EXPECT_TRUE((*session)->truncate(0));
    const auto logits = (*session)->append(tokens);
    EXPECT_TRUE(logits);
    return Logits(logits->begin(), logits->end());
  };
  const Tokens tokens = some_tokens(100, 1);
  const Logits wanted = logits_of(tokens);
  for (const std::size_t at : {0U, 59U, 60U, 99U}) {
    Tokens other = tokens;
    other[at] = (other[at] + 1) % static_cast<std::int32_t>(kSessionVocabulary);
    EXPECT_EQ(difference(logits_of(other), wanted) > kTolerance, at >= 60) << at;
  }
}

}  // namespace
}  // namespace shunt::test::engine_architectures_test
