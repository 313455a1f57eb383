// Sequences that are saved to a file and restored: the text goes on bit-equal. Files that are wrong
// in any way are refused, and the sequence stays as it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "engine/session/xxh64.h"
#include "shunt/engine.h"
#include "support/gguf_bytes.h"
#include "support/models.h"
#include "support/privileges.h"
#include "support/session_tokens.h"
#include "support/shared.h"
#include "support/test_device.h"

namespace shunt::test::engine_saved_sequences_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Logits = std::vector<float>;

SynthOptions model_options() {
  SynthOptions options;
  options.vocabulary = kSessionVocabulary;
  return options;
}

SessionOptions session_options(std::int64_t sequences = 1, DType type = DType::kF16) {
  SessionOptions options;
  options.context = 600;
  options.sequences = sequences;
  options.cache_type = type;
  return options;
}

LoadOptions load_options(const SessionOptions& session) {
  LoadOptions options;
  options.session = session;
  options.placement.rules_only = true;
  options.memory_margin = 0;
  return options;
}

Tokens joined(Tokens first, const Tokens& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

class EngineSavedSequences : public ::testing::Test {
 protected:
  EngineSavedSequences() { model_ = load({cpu()}, load_options(session_options())); }

  Device* cpu() const { return registry_->devices().back(); }

  std::shared_ptr<const Model> load(const std::vector<Device*>& devices,
                                    const LoadOptions& options) const {
    auto model = Model::load(file_.path(), devices, options);
    EXPECT_TRUE(model) << model.error().message();
    return model ? *model : nullptr;
  }
  std::unique_ptr<Session> open(const SessionOptions& options) const {
    return open(model_, options);
  }
  static std::unique_ptr<Session> open(const std::shared_ptr<const Model>& model,
                                       const SessionOptions& options) {
    auto session = Session::create(model, options);
    EXPECT_TRUE(session) << session.error().message();
    return session ? std::move(*session) : nullptr;
  }
  static Logits append(Session& session, const Tokens& tokens, std::int64_t sequence = 0) {
    const SequenceTokens piece = {sequence, tokens};
    const auto logits = session.append_each({&piece, 1});
    EXPECT_TRUE(logits) << logits.error().message();
    return logits ? Logits(logits->begin(), logits->end()) : Logits();
  }
  /// Single tokens, then many at once.
  static Logits go_on(Session& session, std::int64_t sequence = 0) {
    Logits all;
    for (const Tokens& more : {Tokens{7}, Tokens{299}, some_tokens(70, 5), Tokens{1}}) {
      const Logits logits = append(session, more, sequence);
      all.insert(all.end(), logits.begin(), logits.end());
    }
    return all;
  }
  static Tokens tokens_of(const Session& session, std::int64_t sequence = 0) {
    const auto tokens = session.tokens(sequence);
    return {tokens.begin(), tokens.end()};
  }
  static void expect_ok(const Status& status) { EXPECT_TRUE(status) << status.error().message(); }
  static void expect_error(const Status& status, ErrorCode code, const std::string& part) {
    ASSERT_FALSE(status) << part;
    EXPECT_EQ(status.error().code(), code) << status.error().message();
    EXPECT_THAT(status.error().message(), HasSubstr(part));
  }

  /// A file of 100 tokens, the last ones computed one by one.
  std::string save_100(const SessionOptions& options) const {
    const auto session = open(options);
    append(*session, some_tokens(97, 1));
    for (const std::int32_t token : {3, 4, 5}) append(*session, {token});
    std::string path = folder_.file("saved");
    expect_ok(session->save(0, path));
    return path;
  }

  TempFolder folder_;
  SynthModel file_{model_options()};
  std::unique_ptr<Registry> registry_ = *Registry::create({});
  std::shared_ptr<const Model> model_;
};

class EngineSavedSequencesOfType : public EngineSavedSequences,
                                   public ::testing::WithParamInterface<DType> {};

TEST_P(EngineSavedSequencesOfType, GoOnBitEqualInANewModel) {
  const SessionOptions options = session_options(1, GetParam());
  for (const std::size_t length : {1, 63, 64, 65, 200}) {
    SCOPED_TRACE(length);
    const std::string path = folder_.file("saved");
    const Tokens tokens = some_tokens(length, 1);
    const auto session = open(options);
    append(*session, tokens);
    append(*session, {9});
    expect_ok(session->save(0, path));
    const Logits expected = go_on(*session);

    const auto registry = *Registry::create({});
    const std::vector<Device*> devices = {registry->devices().back()};
    const auto restored = open(load(devices, load_options(options)), options);
    append(*restored, some_tokens(90, 2));
    expect_ok(restored->restore(0, path));
    EXPECT_EQ(tokens_of(*restored), joined(tokens, {9}));
    EXPECT_EQ(go_on(*restored), expected);
    EXPECT_EQ(restored->computed(), 90 + 73) << "none of the file's tokens";
  }
}

INSTANTIATE_TEST_SUITE_P(, EngineSavedSequencesOfType, ::testing::ValuesIn(cache_types()),
                         [](const auto& type) { return std::string(to_string(type.param)); });

/// Rows of 32 keys and as many values in each of two layers.
TEST_F(EngineSavedSequences, HaveRowsOfTheirTokensOnly) {
  const std::uintmax_t bytes = std::filesystem::file_size(save_100(session_options()));
  EXPECT_GE(bytes, 100U * (2 * 2 * 32 * 2 + 4));
  EXPECT_LE(bytes, 100U * (2 * 2 * 32 * 2 + 4) + 400);
}

struct Layout {
  const char* name;
  std::function<void(std::vector<TestDeviceConfig>&, LoadOptions&)> set;
};

/// The caches are on one device, on two by layers, on two by heads; devices that compute later.
TEST_F(EngineSavedSequences, GoOnBitEqualWithCachesOnDevices) {
  const Layout layouts[] = {
      {"one device", [](auto&, auto&) {}},
      {"layers",
       [](auto& configs, auto& options) {
         configs.push_back({.name = "test1"});
         options.placement.pins = {{".* of layer 0", "test0"}, {".* of layer 1", "test1"}};
       }},
      {"device and CPU",
       [](auto&, auto& options) {
         options.placement.pins = {{".* of layer 0", "test0"}, {".* of layer 1", "cpu0"}};
       }},
      {"rows",
       [](auto& configs, auto& options) {
         configs.push_back({.name = "test1"});
         options.split = {SplitMode::kRows, {1, 1}};
       }},
  };
  for (const Layout& layout : layouts) {
    for (const bool asynchronous : {false, true}) {
      SCOPED_TRACE(std::string(layout.name) + (asynchronous ? ", asynchronous" : ""));
      TestWorld world;
      const SessionOptions options = session_options(2);
      LoadOptions loading = load_options(options);
      std::vector<TestDeviceConfig> configs = {{.name = "test0"}};
      layout.set(configs, loading);
      std::vector<std::unique_ptr<TestDevice>> own;
      std::vector<Device*> devices;
      for (TestDeviceConfig& config : configs) {
        if (asynchronous) config.world = &world;
        devices.push_back(own.emplace_back(std::make_unique<TestDevice>(config)).get());
      }
      devices.push_back(cpu());
      const std::string path = folder_.file("saved");
      Logits expected;
      {
        const auto session = open(load(devices, loading), options);
        for (const auto& device : own)
          EXPECT_GT(session->ledger().bytes(device->name(), Purpose::kCache), 0U);
        append(*session, some_tokens(20, 3), 1);
        append(*session, some_tokens(100, 1));
        expect_ok(session->save(0, path));
        expected = go_on(*session);
      }
      const auto restored = open(load(devices, loading), options);
      expect_ok(restored->restore(1, path));
      EXPECT_EQ(go_on(*restored, 1), expected);
      EXPECT_EQ(restored->computed(), 73);
    }
  }
}

/// Rows that a device has computed, restored to a session on the CPU.
TEST_F(EngineSavedSequences, MoveBetweenDevices) {
  TestDevice device({.name = "test0"});
  const SessionOptions options = session_options(1, DType::kF32);
  const std::string path = folder_.file("saved");
  const auto session = open(load({&device, cpu()}, load_options(options)), options);
  append(*session, some_tokens(100, 1));
  expect_ok(session->save(0, path));
  const Logits expected = go_on(*session);
  const auto restored = open(options);
  expect_ok(restored->restore(0, path));
  const Logits logits = go_on(*restored);
  ASSERT_EQ(logits.size(), expected.size());
  EXPECT_LE(difference(logits, expected), kLogitsTolerance * 10);
}

/// The sequence that is replaced shares blocks, and so does a sequence that is saved.
TEST_F(EngineSavedSequences, ReplaceOneOfSeveralForks) {
  const std::string path = folder_.file("saved");
  SessionOptions options = session_options(4);
  options.context = 800;
  const Tokens prompt = some_tokens(100, 1);
  const auto play = [&](bool restores) {
    const auto session = open(options);
    append(*session, prompt);
    EXPECT_TRUE(session->fork(0, 1));
    EXPECT_TRUE(session->fork(0, 2, 70));
    append(*session, {8, 9}, 1);
    if (restores) {
      expect_ok(session->save(1, path));
      expect_ok(session->restore(2, path));
      EXPECT_EQ(tokens_of(*session, 2), joined(prompt, {8, 9}));
      expect_ok(session->restore(3, path));
    }
    std::vector<Logits> all = {go_on(*session, 0), go_on(*session, 1)};
    if (!restores) return all;
    for (const std::int64_t sequence : {2, 3})
      EXPECT_EQ(go_on(*session, sequence), all[1]) << sequence;
    return all;
  };
  EXPECT_EQ(play(true), play(false));
}

TEST_F(EngineSavedSequences, ReplaceThemselves) {
  const auto session = open(session_options());
  append(*session, some_tokens(100, 1));
  const std::string path = folder_.file("saved");
  expect_ok(session->save(0, path));
  const Logits expected = go_on(*session);
  for (int i = 0; i < 2; ++i) {
    expect_ok(session->restore(0, path));
    EXPECT_EQ(session->length(), 100);
    EXPECT_EQ(go_on(*session), expected);
  }
}

TEST_F(EngineSavedSequences, MayBeEmpty) {
  const auto session = open(session_options(2));
  const std::string path = folder_.file("saved");
  expect_ok(session->save(1, path));
  append(*session, some_tokens(10, 1));
  expect_ok(session->restore(0, path));
  EXPECT_EQ(session->length(), 0);
  EXPECT_EQ(session->taken(), 0);
}

TEST_F(EngineSavedSequences, MayFillTheContext) {
  SessionOptions options = session_options();
  options.context = 100;
  const std::string path = save_100(session_options());
  const auto session = open(options);
  append(*session, some_tokens(100, 9));
  expect_ok(session->restore(0, path));
  EXPECT_EQ(session->length(), 100);
  EXPECT_FALSE(session->append(Tokens{1}));
}

TEST_F(EngineSavedSequences, RestoredBlocksAreFoundByOthersOfTheScope) {
  const Tokens prompt = some_tokens(200, 1);
  SessionOptions options = session_options(4);
  options.reuse_prefixes = true;
  const std::string path = folder_.file("saved");
  {
    const auto session = open(options);
    append(*session, prompt);
    expect_ok(session->save(0, path));
  }
  const auto session = open(options);
  ASSERT_TRUE(session->set_scope(0, "alice"));
  ASSERT_TRUE(session->set_scope(1, "alice"));
  ASSERT_TRUE(session->set_scope(2, "bob"));
  ASSERT_TRUE(session->set_scope(3, "alice"));
  expect_ok(session->restore(0, path));
  append(*session, prompt, 1);
  EXPECT_EQ(session->computed(), 8);
  append(*session, prompt, 2);
  EXPECT_EQ(session->computed(), 8 + 200);
  // Blocks that the cache has are shared.
  const std::int64_t taken = session->taken();
  expect_ok(session->restore(3, path));
  EXPECT_EQ(session->taken(), taken + 8);
  EXPECT_EQ(append(*session, {5}, 3), append(*session, {5}, 0));
}

TEST_F(EngineSavedSequences, GenerateContinuesAfterRestoredTokens) {
  const Tokens prompt = some_tokens(50, 1);
  GenerateOptions options;
  options.max_tokens = 20;
  options.ignore_end = true;
  options.sampling = {.temperature = 0, .repeat_penalty = 2};
  const auto whole = generate(*open(session_options()), prompt, options, {});
  ASSERT_TRUE(whole) << whole.error().message();
  const auto session = open(session_options());
  append(*session, Tokens(prompt.begin(), prompt.begin() + 40));
  const std::string path = folder_.file("saved");
  expect_ok(session->save(0, path));
  const auto restored = open(session_options());
  expect_ok(restored->restore(0, path));
  for (const std::int64_t wrong : {-1, 50, 51}) {
    options.cached = wrong;
    const auto refused = generate(*restored, prompt, options, {});
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
  }
  options.cached = 40;
  const auto rest = generate(*restored, prompt, options, {});
  ASSERT_TRUE(rest) << rest.error().message();
  EXPECT_EQ(rest->tokens, whole->tokens);
}

/// The rows of a sequence are lost with a device.
TEST_F(EngineSavedSequences, WithoutRowsAreComputedAgain) {
  TestDevice device({.name = "test0"});
  const SessionOptions options = session_options(2, DType::kF32);
  LoadOptions loading = load_options(options);
  loading.on_device_error.mode = DeviceErrorMode::kFallback;
  const auto session = open(load({&device, cpu()}, loading), options);
  const Tokens prompt = some_tokens(150, 1);
  append(*session, prompt, 1);
  device.fail_at({.launch = 1});
  append(*session, {1}, 0);
  ASSERT_TRUE(device.has_failed());
  const std::string path = folder_.file("saved");
  expect_ok(session->save(1, path));
  const auto restored = open(options);
  expect_ok(restored->restore(0, path));
  EXPECT_EQ(tokens_of(*restored), prompt);
  const Logits expected = append(*session, {5}, 1);
  EXPECT_LE(difference(append(*restored, {5}), expected), kLogitsTolerance);
  EXPECT_EQ(restored->computed(), 151);
}

// ---- wrong files

/// A model so small that its file can be cut at every length.
class WrongSavedSequences : public EngineSavedSequences {
 protected:
  WrongSavedSequences() {
    auto model = Model::load(tiny_.path(), *registry_);
    EXPECT_TRUE(model) << model.error().message();
    model_ = *model;
  }

  /// Two sequences that share blocks.
  std::unique_ptr<Session> two_forks() const {
    auto session = open(session_options(2));
    append(*session, some_tokens(70, 4));
    EXPECT_TRUE(session->fork(0, 1, 66));
    return session;
  }
  std::vector<std::byte> saved_bytes() const {
    const auto session = open(session_options());
    append(*session, {1, 2, 3});
    const std::string path = folder_.file("saved");
    expect_ok(session->save(0, path));
    const std::string bytes = read_file(path);
    const auto view = std::as_bytes(std::span(bytes));
    return {view.begin(), view.end()};
  }
  Status restore(Session& session, std::span<const std::byte> bytes) const {
    return session.restore(0, folder_.write("wrong", bytes));
  }

  static SynthOptions tiny() {
    SynthOptions options = tiny_shape();
    options.vocabulary = kSessionVocabulary;
    return options;
  }

  SynthModel tiny_{tiny()};
};

TEST_F(WrongSavedSequences, OfEveryLengthAreRejected) {
  const std::vector<std::byte> bytes = saved_bytes();
  ASSERT_LT(bytes.size(), 5000U);
  const auto session = two_forks();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const Status restored = restore(*session, std::span(bytes).first(length));
    ASSERT_FALSE(restored) << length;
    ASSERT_EQ(restored.error().code(), ErrorCode::kBadFile) << restored.error().message();
    ASSERT_THAT(restored.error().message(), HasSubstr(folder_.file("wrong") + ": byte "));
    ASSERT_EQ(session->length(), 70);
  }
  EXPECT_EQ(go_on(*session), go_on(*two_forks()));
  expect_ok(restore(*session, bytes));
}

TEST_F(WrongSavedSequences, WithAnyByteChangedAreRejected) {
  std::vector<std::byte> bytes = saved_bytes();
  const auto session = two_forks();
  for (std::byte& byte : bytes) {
    for (const int change : {0x01, 0xff}) {
      const std::byte before = byte;
      byte ^= static_cast<std::byte>(change);
      ASSERT_FALSE(restore(*session, bytes)) << &byte - bytes.data() << " xor " << change;
      byte = before;
    }
    ASSERT_EQ(session->taken(), 70);
  }
  EXPECT_EQ(go_on(*session), go_on(*two_forks()));
}

/// Changes a file's header, and makes its checksum right again.
std::vector<std::byte> with_header(std::vector<std::byte> bytes,
                                   const std::function<void(std::span<std::byte>)>& change) {
  change(bytes);
  std::uint64_t size = 0;  // at byte 12
  for (std::size_t i = 0; i < 8; ++i)
    size |= std::to_integer<std::uint64_t>(bytes[12 + i]) << (8 * i);
  const std::span<std::byte> header = std::span(bytes).first(static_cast<std::size_t>(size) - 8);
  const std::uint64_t checksum = xxh64(header);
  for (std::size_t i = 0; i < 8; ++i)
    bytes[header.size() + i] = static_cast<std::byte>(checksum >> (8 * i));
  return bytes;
}

TEST_F(WrongSavedSequences, WithTokensOutsideTheVocabularyAreRejected) {
  const auto session = two_forks();
  const std::vector<std::byte> bytes = saved_bytes();
  expect_ok(restore(*session, with_header(bytes, [](std::span<std::byte> header) {
    header[52] = std::byte{7};  // the first token
  })));
  EXPECT_EQ(tokens_of(*session), (Tokens{7, 2, 3}));
  for (const std::size_t at : {52U + 3, 60U + 1}) {
    expect_error(
        restore(
            *session,
            with_header(bytes, [&](std::span<std::byte> header) { header[at] = std::byte{0x80}; })),
        ErrorCode::kBadFile, "is not one of the model's 300");
  }
  EXPECT_EQ(tokens_of(*session), (Tokens{7, 2, 3}));
}

TEST_F(WrongSavedSequences, OfANewerVersionAreRejected) {
  const auto session = two_forks();
  std::vector<std::byte> bytes = saved_bytes();
  bytes[8] = std::byte{2};
  expect_error(restore(*session, bytes), ErrorCode::kUnsupported, "version 2 is not supported");
  EXPECT_EQ(session->length(), 70);
}

/// All numbers of the header, as a program on a big-endian machine might have written them.
TEST_F(WrongSavedSequences, WithBigEndianNumbersAreRejected) {
  const auto session = two_forks();
  std::vector<std::byte> bytes = saved_bytes();
  std::reverse(bytes.begin() + 8, bytes.begin() + 12);
  for (std::ptrdiff_t at = 12; at < 52; at += 8)
    std::reverse(bytes.begin() + at, bytes.begin() + at + 8);
  expect_error(restore(*session, bytes), ErrorCode::kBadFile, "its numbers are big-endian");
}

TEST_F(WrongSavedSequences, OfAnotherModelAreRejected) {
  const std::vector<std::byte> bytes = saved_bytes();
  SynthOptions seed = tiny();
  seed.seed = 2;
  SynthOptions shape = tiny();
  shape.layers = 3;
  for (const SynthOptions& options : {seed, shape}) {
    const SynthModel other(options);
    auto model = Model::load(other.path(), *registry_);
    ASSERT_TRUE(model) << model.error().message();
    const auto session = open(*model, session_options());
    append(*session, {5});
    expect_error(restore(*session, bytes), ErrorCode::kInvalidArgument,
                 "wrong: it was saved with another model, other adapters or other scales: its "
                 "fingerprint is ");
    EXPECT_EQ(tokens_of(*session), Tokens{5});
  }
}

TEST_F(EngineSavedSequences, OfAnotherKindOfSessionAreRejected) {
  const std::string path = save_100(session_options(1, DType::kF16));
  const auto session = open(session_options(1, DType::kF32));
  append(*session, {5});
  expect_error(session->restore(0, path), ErrorCode::kInvalidArgument,
               "its cache 0 is 'keys of layer 0' (rows of F16, 64 bytes each), not 'keys of layer "
               "0' (rows of F32, 128 bytes each)");
  EXPECT_EQ(tokens_of(*session), Tokens{5});
  // Caches in parts.
  TestDevice first({.name = "test0"}), second({.name = "test1"});
  LoadOptions loading = load_options(session_options());
  loading.split = {SplitMode::kRows, {1, 1}};
  const auto split = open(load({&first, &second, cpu()}, loading), session_options());
  expect_error(split->restore(0, path), ErrorCode::kInvalidArgument,
               "it has the rows of 4 caches, but the session has 8");
}

TEST_F(EngineSavedSequences, LongerThanTheRoomAreRejected) {
  const std::string path = save_100(session_options());
  SessionOptions options = session_options();
  options.context = 99;
  const auto brief = open(options);
  append(*brief, {5});
  expect_error(brief->restore(0, path), ErrorCode::kInvalidArgument,
               "its 100 tokens do not fit: the context holds 99, 0 of them taken by others");
  EXPECT_EQ(tokens_of(*brief), Tokens{5});

  options = session_options(2);
  options.context = 180;
  const auto play = [&](bool restores) {
    const auto full = open(options);
    append(*full, some_tokens(90, 2), 0);
    append(*full, some_tokens(81, 3), 1);
    if (restores) {
      expect_error(full->restore(0, path), ErrorCode::kInvalidArgument,
                   "the context holds 180, 81 of them taken by others");
    }
    return std::pair(append(*full, {1, 2}, 0), append(*full, {3}, 1));
  };
  EXPECT_EQ(play(true), play(false)) << "a refused file costs no rows";
  const auto full = open(options);
  append(*full, some_tokens(90, 2), 0);
  append(*full, some_tokens(80, 3), 1);
  expect_ok(full->restore(0, path));
}

TEST_F(EngineSavedSequences, NeedASequenceThatIsThere) {
  const std::string path = save_100(session_options());
  const auto session = open(session_options(2));
  for (const std::int64_t number : {-1, 2}) {
    const std::string text = "there is no sequence " + std::to_string(number);
    expect_error(session->save(number, folder_.file("x")), ErrorCode::kInvalidArgument, text);
    expect_error(session->restore(number, path), ErrorCode::kInvalidArgument, text);
    EXPECT_TRUE(session->tokens(number).empty());
  }
  EXPECT_THAT(folder_.list(), ElementsAre("saved"));
}

TEST_F(EngineSavedSequences, NeedARegularFile) {
  const auto session = open(session_options());
  append(*session, {5});
  expect_error(session->restore(0, folder_.file("none")), ErrorCode::kNotFound,
               folder_.file("none"));
  expect_error(session->restore(0, folder_.path()), ErrorCode::kIo, "it is a directory");
  ASSERT_EQ(::mkfifo(folder_.file("pipe").c_str(), 0600), 0);
  for (const std::string& path : {std::string("/dev/full"), folder_.file("pipe")}) {
    expect_error(session->restore(0, path), ErrorCode::kIo, "it is a device, pipe or socket");
    expect_error(session->save(0, path), ErrorCode::kIo, "not a regular file");
  }
  expect_error(session->save(0, folder_.file("none/x")), ErrorCode::kNotFound, "none/x");
  EXPECT_EQ(tokens_of(*session), Tokens{5});
}

TEST_F(EngineSavedSequences, StayAsTheyWereInAFolderThatIsNotWritable) {
  const std::string path = save_100(session_options());
  const std::string before = read_file(path);
  const auto session = open(session_options());
  append(*session, {5});
  Status status;
  {
    const WithoutPrivileges user(folder_.path());
    std::error_code not_its_owner;
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0555), not_its_owner);
    status = session->save(0, folder_.file("new"));
  }
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  expect_error(status, ErrorCode::kIo, folder_.file("new"));
  EXPECT_EQ(read_file(path), before);
  EXPECT_THAT(folder_.list(), ElementsAre("saved"));
}

/// A limit on the size of files fails in write(), as a full disk does.
TEST_F(EngineSavedSequences, StayAsTheyWereOnAFullDisk) {
  const std::string path = save_100(session_options());
  const std::string before = read_file(path);
  const auto session = open(session_options());
  append(*session, some_tokens(200, 3));
  struct rlimit all = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &all), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t bytes : {100, 5000, 50000}) {
    const struct rlimit limit = {bytes, all.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    const Status saved = session->save(0, path);
    ::setrlimit(RLIMIT_FSIZE, &all);
    expect_error(saved, ErrorCode::kIo, "cannot write");
    EXPECT_EQ(read_file(path), before);
    EXPECT_THAT(folder_.list(), ElementsAre("saved"));
  }
  std::signal(SIGXFSZ, old_handler);
  expect_ok(session->save(0, path));
  EXPECT_NE(read_file(path), before);
}

// ---- devices that fail

TEST_F(EngineSavedSequences, DeviceErrorsWhileRowsAreReadLeaveNoFile) {
  TestDevice device({.name = "test0"});
  const SessionOptions options = session_options();
  const auto session = open(load({&device, cpu()}, load_options(options)), options);
  append(*session, some_tokens(100, 1));
  std::size_t n = 1;
  for (;; ++n) {
    device.fail_at({.copy = n});
    const Status saved = session->save(0, folder_.file("x"));
    if (!device.has_failed()) {
      expect_ok(saved);
      break;
    }
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().device(), "test0");
    EXPECT_THAT(folder_.list(), IsEmpty());
  }
  EXPECT_EQ(n, 9U) << "4 caches with 2 blocks each";
}

/// A fork's copy of a shared block is still to be made when the other sequence is replaced.
TEST_F(EngineSavedSequences, PendingCopiesAreMadeBeforeRowsAreReplaced) {
  TestDevice device({.name = "test0"});
  const SessionOptions options = session_options(2);
  const auto session = open(load({&device, cpu()}, load_options(options)), options);
  append(*session, some_tokens(200, 8), 0);
  const std::string path = folder_.file("saved");
  expect_ok(session->save(0, path));
  ASSERT_TRUE(session->truncate(0, 0));
  append(*session, some_tokens(100, 1), 0);
  const Logits expected = append(*session, {5}, 0);
  ASSERT_TRUE(session->truncate(100, 0));
  ASSERT_TRUE(session->fork(0, 1));
  const Tokens more = {5};
  const SequenceTokens piece = {1, more};
  device.fail_at({.copy = 1});
  ASSERT_FALSE(session->append_each({&piece, 1}));
  expect_ok(session->restore(0, path));
  EXPECT_EQ(append(*session, {5}, 1), expected);
}

TEST_F(EngineSavedSequences, DeviceErrorsWhileRowsAreWrittenKeepTheTokens) {
  const SessionOptions options = session_options(3, DType::kF32);
  const std::string path = save_100(options);
  const Tokens own = some_tokens(90, 6);
  const auto reference = open(options);
  append(*reference, own);
  const Logits expected = append(*reference, {3});
  for (const DeviceErrorMode mode : {DeviceErrorMode::kFail, DeviceErrorMode::kFallback}) {
    std::size_t n = 1;
    for (;; ++n) {
      TestDevice device({.name = "test0"});
      LoadOptions loading = load_options(options);
      loading.on_device_error.mode = mode;
      const auto session = open(load({&device, cpu()}, loading), options);
      append(*session, own, 0);
      append(*session, own, 1);
      ASSERT_TRUE(session->fork(0, 2, 70));
      device.fail_at({.copy = n});
      const Status restored = session->restore(0, path);
      if (!device.has_failed()) break;
      SCOPED_TRACE(n);
      const bool fails = mode == DeviceErrorMode::kFail;
      ASSERT_EQ(restored.has_value(), !fails);
      EXPECT_EQ(session->length(0), fails ? 90 : 100);
      if (fails) {
        EXPECT_EQ(restored.error().device(), "test0");
        EXPECT_EQ(tokens_of(*session, 0), own);
        EXPECT_LE(difference(append(*session, {3}, 0), expected), 1e-4F);
      }
      EXPECT_LE(difference(append(*session, {3}, 1), expected), 1e-4F);
      EXPECT_EQ(session->length(2), 70);
    }
    EXPECT_GE(n, 9U);
  }
}

}  // namespace
}  // namespace shunt::test::engine_saved_sequences_test
