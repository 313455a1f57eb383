// Sessions under random operations, some of which are cancelled or fail. A plain account has the
// tokens of each sequence and the rows that they take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <optional>
#include <random>

#include "base/to_size.h"
#include "model/definition.h"
#include "shunt/engine.h"
#include "support/models.h"
#include "support/sanitized.h"
#include "support/session_tokens.h"
#include "support/test_architectures.h"
#include "support/test_device.h"
#include "support/test_model.h"

namespace shunt::test::engine_session_random_test {
namespace {

using Logits = std::vector<float>;

constexpr std::string_view kLlama = "llama";
constexpr std::int64_t kSequences = 4;
constexpr std::int64_t kContext = 300;
constexpr int kSlower = kSanitized ? 10 : 1;
/// A device keeps states in double precision within a step, and steps differ from those alone.
constexpr float kToleranceOfStates = 1e-4F;

/// The tokens of sequences, and which of them share rows because of forks.
struct Account {
  struct Sequence {
    Tokens tokens = {};
    std::vector<std::int64_t> blocks = {};  ///< each has a number that no other one had
    std::string scope = {};
  };
  std::vector<Sequence> sequences = std::vector<Sequence>(to_size(kSequences));
  std::int64_t next_block = 0;

  Sequence& at(std::int64_t sequence) { return sequences[to_size(sequence)]; }

  void truncate(std::int64_t sequence, std::int64_t length) {
    at(sequence).tokens.resize(to_size(length));
    at(sequence).blocks.resize(to_size((length + kCacheBlock - 1) / kCacheBlock));
  }
  void fork(std::int64_t from, std::int64_t to, std::int64_t length) {
    at(to) = at(from);
    truncate(to, length);
  }
  /// A sequence gets a copy of a shared block before it writes into it.
  void make_last_writable(std::int64_t sequence) {
    Sequence& own = at(sequence);
    if (own.tokens.size() % to_size(kCacheBlock) == 0) return;
    std::int64_t users = 0;
    for (const Sequence& each : sequences)
      users += std::ranges::count(each.blocks, own.blocks.back());
    if (users > 1) own.blocks.back() = next_block++;
  }
  void append(std::int64_t sequence, std::span<const std::int32_t> more) {
    make_last_writable(sequence);
    Sequence& own = at(sequence);
    own.tokens.insert(own.tokens.end(), more.begin(), more.end());
    while (std::ssize(own.blocks) * kCacheBlock < std::ssize(own.tokens))
      own.blocks.push_back(next_block++);
  }

  /// Each row that a sequence uses, once.
  std::int64_t rows() const {
    std::map<std::int64_t, std::int64_t> used;
    for (const Sequence& each : sequences) {
      for (std::size_t i = 0; i < each.blocks.size(); ++i) {
        const std::int64_t last =
            std::ssize(each.tokens) - static_cast<std::int64_t>(i) * kCacheBlock;
        std::int64_t& most = used[each.blocks[i]];
        most = std::max(most, std::min(last, kCacheBlock));
      }
    }
    std::int64_t all = 0;
    for (const auto& [block, most] : used) all += most;
    return all;
  }
  /// The different prefixes of all sequences, each of which needs a row.
  std::int64_t prefixes() const {
    std::int64_t all = 0;
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      std::size_t known = 0;
      for (std::size_t j = 0; j < i; ++j) {
        if (sequences[j].scope != sequences[i].scope) continue;
        const auto end = std::ranges::mismatch(sequences[i].tokens, sequences[j].tokens).in1;
        known = std::max(known, to_size(end - sequences[i].tokens.begin()));
      }
      all += std::ssize(sequences[i].tokens) - static_cast<std::int64_t>(known);
    }
    return all;
  }
};

struct Param {
  std::string_view architecture;
  bool reuse = false;
  int operations = 0;
  bool host_cache = false;
};

class EngineSessionRandom : public ::testing::TestWithParam<Param> {
 protected:
  EngineSessionRandom() {
    if (GetParam().architecture == kLlama) {
      EXPECT_TRUE(write_synth_model(path_, tiny_shape()));
    } else {
      write_test_model(path_, {.architecture = GetParam().architecture});
    }
    Options options;
    options.threads = 1;
    registry_ = std::move(*Registry::create(options));
    model_ = load(device_, cpu_);
    session_ = *Session::create(model_, session_options());
    alone_ = *Session::create(load(same_, *registry_->devices().back()),
                              {.context = 512, .cache_type = DType::kF32});
    device_.on_launch = [this](NodeId) {
      if (until_cancel_ > 0 && --until_cancel_ == 0) cancel_ = true;
    };
  }

  std::shared_ptr<const Model> load(TestDevice& device, Device& cpu) {
    LoadOptions options;
    options.architectures = test_architectures();
    options.placement.rules_only = true;
    options.session = session_options();
    const std::vector<Device*> devices = {&device, &cpu};
    auto model = Model::load(path_, devices, options);
    EXPECT_TRUE(model) << model.error().message();
    return *model;
  }
  static SessionOptions session_options() {
    SessionOptions options;
    options.context = kContext;
    options.sequences = kSequences;
    options.cache_type = DType::kF32;
    options.reuse_prefixes = GetParam().reuse;
    options.checkpoints = 3;
    if (GetParam().host_cache) options.host_cache_bytes = 1 << 20;
    return options;
  }

  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(random_() % to_size(count));
  }
  bool one_of(std::int64_t count) { return below(count) == 0; }

  /// Tokens of few texts, which continue as another sequence may have done.
  Tokens more_for(std::int64_t sequence) {
    const Tokens& tokens = account_.at(sequence).tokens;
    const Tokens& text = texts_[to_size(below(2))];
    const std::int64_t count = 1 + below(one_of(4) ? 150 : 30);
    Tokens more(text.begin() + std::ssize(tokens), text.begin() + std::ssize(tokens) + count);
    if (one_of(8)) more[to_size(below(count))] = static_cast<std::int32_t>(below(3));
    return more;
  }

  /// The logits after these tokens in a session of their own.
  const Logits& alone(const Tokens& tokens) {
    Logits& known = known_[tokens];
    if (!known.empty()) return known;
    EXPECT_TRUE(alone_->truncate(0));
    const auto logits = alone_->append(tokens);
    EXPECT_TRUE(logits) << logits.error().message();
    return known = {logits->begin(), logits->end()};
  }

  enum class Trouble : std::uint8_t { kNone, kCancel, kFailure };
  Trouble some_trouble() {
    if (one_of(8)) return Trouble::kCancel;
    return one_of(6) ? Trouble::kFailure : Trouble::kNone;
  }
  void start(Trouble trouble, std::int64_t calls) {
    cancel_ = trouble == Trouble::kCancel && one_of(4);
    if (trouble == Trouble::kCancel) until_cancel_ = to_size(1 + below(calls));
    if (trouble == Trouble::kFailure) device_.fail_at({.any = to_size(1 + below(calls))});
  }
  void stop() {
    device_.fail_at({});
    cancel_ = false;
    until_cancel_ = 0;
  }

  void append(Trouble trouble);
  void append_cached();
  std::int64_t kept(const Tokens& text);
  void evict();
  void save(Trouble trouble);
  void restore(Trouble trouble);
  void operation();
  void check();

  /// Whether the context has room for the account's rows.
  std::optional<bool> fits(const Account& after) const {
    if (after.rows() <= kContext) return true;
    if (!GetParam().reuse || after.prefixes() > kContext) return false;
    return std::nullopt;  // it depends on the blocks that are shared
  }

  TempFolder folder_;
  const std::string path_ = folder_.file("model.gguf");
  std::unique_ptr<Registry> registry_;
  TestDevice device_{TestDeviceConfig{}};
  TestDevice cpu_{{.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true}};
  TestDevice same_{TestDeviceConfig{}};
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session> alone_;
  std::atomic<bool> cancel_ = false;
  std::size_t until_cancel_ = 0;
  std::mt19937 random_{3};
  std::array<Tokens, 2> texts_ = {some_tokens(1000, 1), some_tokens(1000, 2)};
  std::map<Tokens, Logits> known_;
  Account account_;
  std::map<std::string, Tokens> saved_;  // by path
  std::map<std::string, int> counts_;
  std::uint32_t next_new_ = 1000;  // of a text that no sequence had
};

void EngineSessionRandom::append(Trouble trouble) {
  std::vector<std::int64_t> which;
  for (std::int64_t i = 0; i < kSequences; ++i) {
    if (one_of(3)) which.push_back(i);
  }
  if (which.empty()) which.push_back(below(kSequences));
  std::ranges::shuffle(which, random_);
  std::vector<Tokens> tokens;
  for (const std::int64_t sequence : which) tokens.push_back(more_for(sequence));
  std::vector<SequenceTokens> pieces;
  for (std::size_t i = 0; i < which.size(); ++i)
    pieces.push_back({which[i], tokens[i], !one_of(4)});
  Account after = account_;
  Account failed = account_;  // sequences may have copies of shared blocks afterwards
  bool is_full = false;
  for (std::size_t i = 0; i < which.size(); ++i) {
    after.append(which[i], tokens[i]);
    is_full = is_full || !fits(after).value_or(true);
    if (!is_full) failed.make_last_writable(which[i]);
  }
  start(trouble, 60);
  const auto logits = session_->append_each(pieces, &cancel_);
  const bool has_failed = device_.has_failed();
  const bool cancelled = cancel_;
  stop();
  if (!logits) {
    const ErrorCode code = logits.error().code();
    if (code == ErrorCode::kInvalidArgument) {
      ASSERT_FALSE(fits(after).value_or(false)) << logits.error().message();
      ++counts_["full"];
    } else if (code == ErrorCode::kCancelled) {
      ASSERT_TRUE(cancelled);
      ++counts_["cancelled"];
    } else {
      ASSERT_EQ(code, ErrorCode::kDevice) << logits.error().message();
      ASSERT_TRUE(has_failed);
      ++counts_["failed"];
    }
    account_ = failed;
    return;
  }
  ASSERT_TRUE(fits(after).value_or(true));
  account_ = after;
  ++counts_["appended"];
  std::size_t at = 0;
  const auto each = to_size(kSessionVocabulary);
  const bool compare = one_of(4);
  for (const SequenceTokens& piece : pieces) {
    if (!piece.logits) continue;
    const auto own = logits->subspan(each * at++, each);
    if (!compare) continue;
    const float most = GetParam().architecture == kHybrid ? kToleranceOfStates : 0;
    ASSERT_LE(difference(own, alone(account_.at(piece.sequence).tokens)), most)
        << "sequence " << piece.sequence;
    ++counts_["compared"];
  }
  ASSERT_EQ(logits->size(), at * each);
}

void EngineSessionRandom::append_cached() {
  const std::int64_t sequence = below(kSequences);
  const std::int64_t blocks = std::ssize(account_.at(sequence).tokens) / kCacheBlock;
  const std::int64_t whole = below(blocks + 1) * kCacheBlock;
  ASSERT_TRUE(session_->truncate(whole, sequence));
  account_.truncate(sequence, whole);
  const Tokens& text = texts_[to_size(below(2))];
  const Tokens more(text.begin() + whole, text.begin() + whole + 1 + below(200));
  const auto found = session_->append_cached(sequence, more);
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_LT(*found, std::ssize(more));
  if (*found > 0) ++counts_["found"];
  if (*found > 0) account_.append(sequence, std::span(more).first(to_size(*found)));
}

/// The number of a text's first tokens that the cache has. All sequences are empty.
std::int64_t EngineSessionRandom::kept(const Tokens& text) {
  const auto found = session_->append_cached(0, std::span(text).first(to_size(kContext) - 20));
  EXPECT_TRUE(found) << found.error().message();
  EXPECT_TRUE(session_->truncate(0, 0));
  return found.value_or(0);
}

/// New tokens take all of the context: blocks that no sequence has lose their content, or it goes
/// to the host.
void EngineSessionRandom::evict() {
  for (std::int64_t i = 0; i < kSequences; ++i) {
    ASSERT_TRUE(session_->truncate(0, i));
    account_.truncate(i, 0);
  }
  const Tokens& text = texts_[to_size(below(2))];
  const std::int64_t before = kept(text);
  for (std::uint32_t i = 0; i < 2; ++i) {
    const Tokens more = some_tokens(to_size(kContext), next_new_++);
    const auto logits = session_->append(more);
    ASSERT_TRUE(logits) << logits.error().message();
    account_.append(0, more);
    check();
    if (HasFatalFailure()) return;
    ASSERT_TRUE(session_->truncate(0, 0));
    account_.truncate(0, 0);
  }
  const std::int64_t after = kept(text);
  ASSERT_LE(after, before);
  if (after < before) ++counts_["evicted"];
  // Of a model with states, the copies of them may be gone.
  if (!GetParam().host_cache || GetParam().architecture == kHybrid) return;
  ASSERT_EQ(after, before);
  if (after > 0) ++counts_["kept by the host"];
}

void EngineSessionRandom::save(Trouble trouble) {
  const std::int64_t sequence = below(kSequences);
  const std::string path = folder_.file("saved" + std::to_string(below(3)));
  start(trouble, 6);
  const Status saved = session_->save(sequence, path);
  const bool has_failed = device_.has_failed();
  stop();
  if (saved) {
    saved_[path] = account_.at(sequence).tokens;
    ++counts_["saved"];
  } else {
    ASSERT_TRUE(has_failed) << saved.error().message();
    ++counts_["save failed"];
  }
  ASSERT_EQ(folder_.list().size(), 1 + saved_.size()) << "a file is left";
}

void EngineSessionRandom::restore(Trouble trouble) {
  if (saved_.empty()) return;
  const auto& [path, tokens] = *std::next(saved_.begin(), below(std::ssize(saved_)));
  const std::int64_t sequence = below(kSequences);
  Account after = account_;
  after.truncate(sequence, 0);
  after.append(sequence, tokens);
  start(trouble == Trouble::kCancel ? Trouble::kNone : trouble, 12);
  const Status restored = session_->restore(sequence, path);
  const bool has_failed = device_.has_failed();
  stop();
  if (restored) {
    ASSERT_TRUE(fits(after).value_or(true));
    account_ = after;
    ++counts_["restored"];
  } else if (restored.error().code() == ErrorCode::kInvalidArgument) {
    ASSERT_FALSE(fits(after).value_or(false)) << restored.error().message();
    ++counts_["restored too much"];
  } else {
    ASSERT_TRUE(has_failed) << restored.error().message();
    ++counts_["restore failed"];
  }
}

void EngineSessionRandom::operation() {
  const std::int64_t sequence = below(kSequences);
  const std::int64_t length = std::ssize(account_.at(sequence).tokens);
  const std::int64_t shorter = one_of(3) ? 0 : below(length + 1);
  switch (below(12)) {
    case 0:
    case 1:
      ASSERT_TRUE(session_->truncate(shorter, sequence));
      return account_.truncate(sequence, shorter);
    case 2:
    case 3: {
      const std::int64_t other = below(kSequences);
      const std::int64_t kept = one_of(2) ? length : shorter;
      ASSERT_TRUE(session_->fork(sequence, other, kept));
      return account_.fork(sequence, other, kept);
    }
    case 4:
      if (GetParam().reuse) return one_of(8) ? evict() : append_cached();
      return append(some_trouble());
    case 5:
      if (!one_of(4)) return append(some_trouble());
      account_.truncate(sequence, 0);
      account_.at(sequence).scope = one_of(2) ? "a" : "b";
      ASSERT_TRUE(session_->set_scope(sequence, account_.at(sequence).scope));
      return;
    case 6:
      if (one_of(8)) return save(one_of(3) ? Trouble::kFailure : Trouble::kNone);
      return append(some_trouble());
    case 7:
      return restore(some_trouble());
    default:
      return append(some_trouble());
  }
}

void EngineSessionRandom::check() {
  for (std::int64_t i = 0; i < kSequences; ++i) {
    ASSERT_TRUE(std::ranges::equal(session_->tokens(i), account_.at(i).tokens)) << "sequence " << i;
    ASSERT_EQ(session_->length(i), std::ssize(account_.at(i).tokens));
  }
  const std::int64_t taken = session_->taken();
  if (GetParam().reuse) {
    ASSERT_LE(taken, account_.rows());
    ASSERT_GE(taken, account_.prefixes());
    if (taken < account_.rows()) ++counts_["shared"];
  } else {
    ASSERT_EQ(taken, account_.rows());
  }
  ASSERT_LE(taken, kContext);
}

TEST_P(EngineSessionRandom, TokensAndRowsAreThoseOfAPlainAccount) {
  const auto expect_on_ledger = [&] {
    Ledger all = model_->ledger();
    if (session_) all.add(session_->ledger());
    for (const TestDevice* device : {&device_, &cpu_})
      EXPECT_EQ(device->allocated(), all.allocated(device->name())) << device->name();
  };
  const int operations = GetParam().operations / kSlower;
  for (int i = 0; i < operations; ++i) {
    SCOPED_TRACE("operation " + std::to_string(i));
    operation();
    if (HasFatalFailure()) return;
    check();
    if (HasFatalFailure()) return;
    if (i % 100 != 0) continue;
    expect_on_ledger();
    if (HasFailure()) return;
  }
  std::vector<const char*> expected = {"full",     "cancelled",   "failed",
                                       "appended", "compared",    "saved",
                                       "restored", "save failed", "restore failed"};
  if (GetParam().reuse) expected.insert(expected.end(), {"found", "shared"});
  if (GetParam().host_cache) {
    expected.push_back("kept by the host");
    EXPECT_GT(session_->host_cache().saved, 0);
    EXPECT_GT(session_->host_cache().restored, 0);
  } else if (GetParam().reuse) {
    expected.push_back("evicted");
  }
  if (operations >= 4000) {  // else some may be missing by chance
    for (const char* each : expected) EXPECT_GT(counts_[each], 0) << each;
  }
  for (std::int64_t i = 0; i < kSequences; ++i) ASSERT_TRUE(session_->truncate(0, i));
  EXPECT_EQ(session_->taken(), 0);
  expect_on_ledger();
  session_.reset();
  expect_on_ledger();
}

INSTANTIATE_TEST_SUITE_P(, EngineSessionRandom,
                         ::testing::Values(Param{kLlama, false, 10000}, Param{kHybrid, true, 4000},
                                           Param{kLlama, true, 10000}, Param{kHybrid, false, 1000},
                                           Param{kWindows, true, 1000},
                                           Param{kLlama, true, 10000, true},
                                           Param{kWindows, true, 4000, true},
                                           Param{kHybrid, true, 1000, true}),
                         [](const auto& of) {
                           return std::string(of.param.architecture) +
                                  (of.param.reuse ? "WithReuse" : "") +
                                  (of.param.host_cache ? "AndAHostCache" : "");
                         });

}  // namespace
}  // namespace shunt::test::engine_session_random_test
