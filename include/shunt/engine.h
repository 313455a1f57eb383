/// \file
/// Language models: open a GGUF file, feed tokens, get text. Include it for several sessions of a
/// model, sampling options, or logits. llm.h needs fewer lines for one session.
///
/// \code
/// SHUNT_ASSIGN(const auto model, Model::load("model.gguf", *registry));
/// SHUNT_ASSIGN(const auto session, Session::create(model));
/// SHUNT_ASSIGN(const auto prompt, model->tokenizer().encode("Once upon a time"));
/// const auto print = [](std::string_view text) { std::cout << text; };
/// SHUNT_TRY(generate(*session, prompt, {.max_tokens = 32}, print));
/// \endcode
///
/// Threads: a Model may be used from many threads; a Session and a Sampler belong to one at a time.
/// Cancelling may come from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/adapters.h"
#include "shunt/costs.h"
#include "shunt/device.h"
#include "shunt/error.h"
#include "shunt/explain.h"
#include "shunt/ledger.h"
#include "shunt/placement_policy.h"
#include "shunt/plan.h"
#include "shunt/pooling.h"
#include "shunt/registry.h"
#include "shunt/tensor.h"
#include "shunt/text.h"
#include "shunt/trace.h"
#include "shunt/verify.h"

namespace shunt {

/// The properties of a model.
struct ModelInfo {
  std::string architecture;  ///< "llama"
  std::string name;          ///< the name in the file; may be empty
  std::int64_t layers = 0;
  std::int64_t width = 0;       ///< length of an embedding
  std::int64_t vocabulary = 0;  ///< number of tokens
  /// Numbers of a result: logits of each token of the vocabulary, or an embedding's.
  std::int64_t outputs = 0;
  bool gives_embeddings = false;  ///< results are embeddings, not logits
  /// Tokens see those after them, too: a text is computed in one step, and its results are
  /// embeddings.
  bool is_encoder = false;
  std::optional<EmbeddingPooling> pooling = {};  ///< that the file names, for embeddings of texts
  /// The names of the scores that its classifier head makes of a text; none: it has no head. The
  /// names are empty if the file has none.
  std::vector<std::string> labels = {};
  std::int64_t context = 0;      ///< tokens it was trained for
  std::int64_t state_bytes = 0;  ///< of a sequence's states of a fixed size; 0: it has none
  /// In some layers a token sees only the last tokens: the different numbers of them, with the
  /// token itself. Caches of these layers have no rows for tokens that nothing sees any more.
  std::vector<std::int64_t> windows = {};
  std::uint64_t weights = 0;  ///< number of them, without those of adapters
  std::uint64_t weight_bytes = 0;
  std::vector<AdapterInfo> adapters = {};  ///< of LoadOptions::adapters, in that order
};

/// Unsupported, naming the remedy, for a model whose results are embeddings: it has no logits to
/// pick tokens by, or to score them.
Status expect_logits(const ModelInfo& model);

/// The path of the model that comes with Shunt, which writes very short stories and answers simple
/// questions (models/README.md): a GGUF file in the folder `shunt` next to the library. NotFound,
/// naming the path, if it is not there.
Result<std::string> default_model();

/// The types that a KV cache may have: F32, F16, BF16, Q8_0 and Q4_0.
std::span<const DType> cache_types();

/// Options of Session::create().
struct SessionOptions {
  static constexpr std::int64_t kMaxContext = std::int64_t{1} << 24;
  /// Sequences that have room for a whole context by default. Texts of many sequences seldom all
  /// fill it.
  static constexpr std::int64_t kFullContexts = 8;
  /// Tokens of prompt and continuation, those of all sequences together, at most kMaxContext; 0:
  /// for each of up to kFullContexts sequences the model's own, at most 4096.
  std::int64_t context = 0;
  std::int64_t sequences = 1;  ///< at most 4096
  /// F32, F16, BF16, Q8_0 or Q4_0. Where the heads of keys or values are not whole blocks of the
  /// type, the cache is decoded to F32 for each step, which takes time, and memory for one layer.
  DType cache_type = DType::kF16;
  std::int64_t batch = 512;  ///< tokens of a prompt that are computed at once
  /// Whether tokens that begin as those of another sequence use its cache, also after that sequence
  /// was truncated, as long as there is room. Blocks of 64 tokens are found by their tokens and all
  /// tokens before. Logits may differ in the last digits from those without, as with other batches.
  bool reuse_prefixes = false;
  /// With reuse_prefixes: bytes of host memory that keep blocks of the cache of devices once others
  /// need the room. Their rows are copied back instead of computed again. It is allocated at once,
  /// in whole blocks. A note has the reason if none is: less than a block, no room, or a cache that
  /// is in host memory already. 0: none. At most kMaxHostCache. Invalid without reuse_prefixes.
  std::uint64_t host_cache_bytes = 0;
  static constexpr std::uint64_t kMaxHostCache = std::uint64_t{1} << 50;
  /// Copies of states that the session keeps, for models that have states of a fixed size (state
  /// space models, linear attention). From a copy a sequence goes back, is forked, or continues
  /// the tokens of another one; the tokens after the copy are computed again. Without any, all are.
  /// A copy is made every 512 tokens, and at the last whole block of each prompt and message
  /// (SequenceTokens::message_ends). Each takes ModelInfo::state_bytes. -1: as many as
  /// checkpoint_bytes hold. At most one for each block of the context. Less than -1 is invalid.
  std::int64_t checkpoints = -1;
  /// Bytes for them, if their number is -1. -1: 256 MiB, and at least one copy. Less is invalid.
  std::int64_t checkpoint_bytes = -1;
  std::shared_ptr<Trace> trace = {};  ///< gets every action of the session; may be null
  /// The most threads of the host that compute its steps (Plan::set_threads()); 0: all.
  int threads = 0;
  /// The adapters that each sequence uses until Session::set_adapters() gives it others.
  std::vector<AdapterUse> adapters = {};
};

/// The consequence of a device that fails.
enum class DeviceErrorMode : std::uint8_t {
  kFail,      ///< it is an error; a later call may try again
  kFallback,  ///< the model continues without the device, permanently
};

/// The reaction to a device that fails while a model is loaded or used. A failure of the CPU, or of
/// something outside of devices, is always an error.
struct DeviceErrorPolicy {
  DeviceErrorMode mode = DeviceErrorMode::kFail;
  /// Gets a line for each device that is left out, and for each session whose tokens are computed
  /// again. It also gets lines about refused memory of sessions, and about fallbacks that loading
  /// did not report. Called by the thread that found the failure, possibly
  /// by several at once, as long as the model or a session lives. It must not use the model or a
  /// session. May be empty.
  std::function<void(std::string_view line)> log = {};
};

/// The memory of the CPU's weights.
enum class WeightMode : std::uint8_t {
  /// Copies if that pays: the CPU is the only device, and half of the system's available memory is
  /// enough for them. Else the mapped file.
  kAuto,
  kMapped,  ///< the weights in place in the mapped file: processes share them, no time to
            ///< load
  kCopied,  ///< copies of those that the CPU is faster with in memory of its own, as it lays them
            ///< out
};
/// "auto", "mapped", "copied".
std::string_view to_string(WeightMode mode);

/// How a model is divided among several devices.
enum class SplitMode : std::uint8_t {
  kLayers,  ///< each weight is on one device; layer by layer
  kRows,    ///< the matrices of each layer are split, with the attention heads and their caches
};
/// "layers", "rows".
std::string_view to_string(SplitMode mode);

/// Options of a model that is divided among devices: LoadOptions::split.
struct SplitOptions {
  SplitMode mode = SplitMode::kLayers;
  /// The share of each device in order, relative to the others; each from 1 to kMostShare; two at
  /// least. Empty: one share for each device but the CPU.
  std::vector<std::int64_t> shares = {};
  static constexpr std::int64_t kMostShare = 1000000;
};

struct Architecture;

/// Options of Model::load() and Engine::open().
struct LoadOptions {
  std::vector<std::string> devices = {};  ///< by name; empty: all
  /// Called repeatedly while weights are loaded, with the bytes done and the total; may be empty.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
  PlacementPolicy placement = {};  ///< pins, placement file, costs, streaming, fallback
  /// Options of later sessions: the loader leaves room for one of them.
  SessionOptions session = {};
  /// Bytes of each device but the CPU that stay reserved. If not given, 5% of the free bytes, at
  /// least 64 MiB, at most a quarter.
  std::optional<std::uint64_t> memory_margin = {};
  /// The memory of the CPU's weights. If there is no memory for copies, kAuto gives a note, and
  /// kCopied is OutOfMemory.
  WeightMode weights = WeightMode::kAuto;
  DeviceErrorPolicy on_device_error = {};
  /// Invalid shares, more shares than devices and matrices with fewer pieces than shares are
  /// InvalidArgument.
  SplitOptions split = {};
  /// Sessions give embeddings of tokens instead of logits: the last layer's results, normed.
  /// Unsupported for architectures that can't. Encoders do so in any case.
  bool embeddings = false;
  /// Exact names of tensors and keys that the model may leave aside although it would use them if
  /// Shunt could: the results are those of another model. InvalidArgument for others.
  std::vector<std::string> ignore = {};
  /// Paths of adapters in GGUF files (adapters.h) that are loaded beside the model. A session
  /// chooses among them for each sequence. BadFile or Unsupported, naming file and tensor, for one
  /// that does not fit the model.
  std::vector<std::string> adapters = {};
  /// For the library's own use: architectures of files beside those of the library. They must
  /// outlive the call.
  std::vector<const Architecture*> architectures = {};
};

struct ModelState;
class CurrentState;

/// A loaded model: weights in memory, tokenizer. Const after load, except that devices which fail
/// may be left out (LoadOptions::on_device_error). The registry must outlive it.
class Model {
 public:
  /// NotFound, Io, BadFile, Unsupported (also if its fallback policy denies the placement),
  /// OutOfMemory or Device, naming file and place; Error::device() is the device that failed, if
  /// one did.
  static Result<std::shared_ptr<const Model>> load(const std::string& path,
                                                   const Registry& registry,
                                                   const LoadOptions& options = {});
  /// The same with devices by falling priority, a CPU last, which must outlive it; options.devices
  /// is ignored.
  static Result<std::shared_ptr<const Model>> load(const std::string& path,
                                                   std::span<Device* const> devices,
                                                   const LoadOptions& options = {});
  /// How load() makes one.
  Model(std::shared_ptr<const ModelState> state, text::Tokenizer tokenizer);
  ~Model();

  /// The properties of the model. Constant.
  const ModelInfo& info() const;
  /// The tokenizer of its file. A copy may outlive the model.
  const text::Tokenizer& tokenizer() const;
  /// Memory in use now by the weights, and by each device outside of buffers. Weights of a device
  /// that was left out are freed when the last session has followed or ended.
  Ledger ledger() const;
  /// The predicted memory of weights and a session of LoadOptions::session, as decided before
  /// anything was allocated: the sum of ledger() and that session's. Memory of devices outside of
  /// buffers was measured then; ledger() measures it again, and steps may have added to it.
  Ledger predicted() const;
  /// The loader's decisions about memory, a line per device: "test0: layers 0 to 11 (12 of 16), 1.2
  /// GiB of 1.4 GiB (64.0 MiB reserved)". Then a line for each refusal of memory, each device
  /// that was left out, weights in another type, and weights without memory for a copy.
  std::vector<std::string> notes() const;
  /// Weights that their device has in another type than the file, in the order of the file, with
  /// the error of the conversion. to_lines() makes sentences of them, which are among the notes.
  std::vector<TranscodedWeight> transcoded() const;
  /// Its current state; replaced when a device is left out.
  std::shared_ptr<const ModelState> state() const;
  /// For the library's own use: where state() is replaced.
  CurrentState& current() const { return *current_; }

 private:
  ModelInfo info_;
  text::Tokenizer tokenizer_;
  std::unique_ptr<CurrentState> current_;
};

/// Bytes that a session allocates in addition to the weights.
struct SessionMemory {
  std::uint64_t cache = 0;  ///< with SessionOptions::host_cache_bytes
  std::uint64_t activations = 0;
};

/// Blocks of 64 tokens in host memory: SessionOptions::host_cache_bytes. Blocks in caches of
/// windows are not counted.
struct HostCacheUse {
  std::int64_t blocks = 0;    ///< that there is room for
  std::int64_t used = 0;      ///< of these, now
  std::int64_t saved = 0;     ///< copied from the cache so far
  std::int64_t restored = 0;  ///< copied back to it so far
};

/// Tokens for one of a session's sequences.
struct SequenceTokens {
  std::int64_t sequence = 0;
  std::span<const std::int32_t> tokens = {};
  bool logits = true;  ///< whether the logits of the last token are wanted
  /// Tokens of the same prompt that later calls append; 0: it ends here. A model with states keeps
  /// a copy of them at the last whole block of a prompt, which may end in this call or in a later
  /// one. Without a number (-1) the prompt ends here if the logits are wanted.
  std::int64_t following = -1;
  /// Lengths of the sequence at the ends of messages, in any order, also beyond these tokens. A
  /// model with states keeps a copy at the last whole block of each message. So editing a later
  /// message computes none of the blocks before again. Must stay until the call returns.
  std::span<const std::int64_t> message_ends = {};
  /// Of an encoder whose tokens have two types: the tokens of the sequence from this one on are of
  /// the second type, as those of BERT's second text. -1: none is.
  std::int64_t second_text = -1;
};

/// Sequences of tokens with their cache, which are computed together: a weight that is read is used
/// for all of them. Most sessions have one sequence, number 0. Sequences are independent of each
/// other, and divide the context as they grow.
///
/// A device that fails is named by the error (Error::device(), node(), vendor()). After any error
/// the session has the tokens it had before, and may be used again. With DeviceErrorMode::kFallback
/// there is no such error as long as other devices remain: the call continues without the device,
/// and computes the tokens of its cache again. Sessions that also used the device do so at their
/// next call.
class Session {
 public:
  /// Invalid for invalid options; OutOfMemory; Device; Unsupported if PlacementPolicy::fallback
  /// denies the placement.
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const Model> model,
                                                 const SessionOptions& options = {});
  ~Session();

  /// Appends tokens and computes them. The logits of the last one, valid until the next call;
  /// `info().vocabulary` of them. Invalid if a token is not of the vocabulary or the context has no
  /// room for all. Cancelled if `cancel` becomes true. Unsupported if this needs a plan whose
  /// placement PlacementPolicy::fallback denies. Otherwise the error of a device.
  Result<std::span<const float>> append(std::span<const std::int32_t> tokens,
                                        const std::atomic<bool>* cancel = nullptr);
  /// The same for several sequences at once, none of them twice: the logits of each one's last
  /// token, in the order they are named, without those that are not wanted. After an error none of
  /// them has new tokens.
  Result<std::span<const float>> append_each(std::span<const SequenceTokens> more,
                                             const std::atomic<bool>* cancel = nullptr);
  /// As the first one, for any sequence, with the logits of every token. They are handed over batch
  /// by batch: `visit(first, logits)` with the number of the batch's first token among `tokens`,
  /// and its logits one token after the other. Each batch is handed over once, also after errors.
  /// `from`: the first of `tokens` whose logits are wanted. None are computed for those before.
  Status append_all(
      std::span<const std::int32_t> tokens,
      const std::function<void(std::size_t first, std::span<const float> logits)>& visit,
      const std::atomic<bool>* cancel = nullptr, std::int64_t sequence = 0, std::int64_t from = 0);
  /// The same for several sequences at once, none of them twice: `visit(number, first, logits)`
  /// with the number of the sequence in `more`. Errors are those of append_each().
  Status append_all_each(std::span<const SequenceTokens> more,
                         const std::function<void(std::size_t number, std::size_t first,
                                                  std::span<const float> logits)>& visit,
                         const std::atomic<bool>* cancel = nullptr);
  /// Forgets all tokens of a sequence from `length` on. Invalid if it has not as many, or is not
  /// there.
  Status truncate(std::int64_t length, std::int64_t sequence = 0);
  /// Makes sequence `to` the first `length` tokens of `from`; -1: all. Both go on independently.
  /// They share the cache rows of these tokens; the first one to write into a shared block of rows
  /// gets a copy of it. The tokens of `to` are forgotten. It has scope and adapters of `from`.
  /// Invalid if `from` has not as many tokens, or one of them is not there.
  Status fork(std::int64_t from, std::int64_t to, std::int64_t length = -1);
  /// With reuse_prefixes: appends the first of these tokens that the cache has, in whole blocks of
  /// 64, and never the last one. Returns their number. 0 if the sequence's length is no multiple of
  /// 64. Of a model with states: those up to the last copy of their states. Invalid as append().
  Result<std::int64_t> append_cached(std::int64_t sequence, std::span<const std::int32_t> tokens);
  /// With reuse_prefixes: the cache of a sequence is used only by sequences of the same scope, such
  /// as the name of a user. Empty at first. Forgets the sequence's tokens. Invalid if it is not
  /// there.
  Status set_scope(std::int64_t sequence, std::string scope);
  /// The adapters whose changes the weights have for a sequence; none: the model's own weights.
  /// Sequences of a step may use different ones, at any scales. An adapter that is named twice has
  /// the sum. Forgets the sequence's tokens, unless these uses have the effect of those before. The
  /// cache of a sequence is used only by sequences with the same adapters. Invalid for an adapter
  /// that was not loaded, for a scale that is not finite, or if the sequence is not there. If it
  /// uses more at once than any sequence before, the next step makes the plans again, which takes
  /// memory.
  Status set_adapters(std::int64_t sequence, std::span<const AdapterUse> uses);
  /// Those of a sequence; none if it is not there. Valid until they are set.
  std::span<const AdapterUse> adapters(std::int64_t sequence = 0) const;
  /// Writes a sequence to a file: its tokens, and the cache rows of those that were computed. The
  /// file replaces an existing one once all of it is on the disk. After an error the path is as it
  /// was. NotFound or Io; Invalid if the sequence is not there; the error of a device.
  Status save(std::int64_t sequence, const std::string& path);
  /// Replaces a sequence by one that a session of the same model has saved, in this process or in
  /// another. It goes on as the saved one; its scope and adapters stay. After an error it has the
  /// tokens it had before. NotFound or Io. BadFile if the file is damaged. Unsupported for a newer
  /// version of the format. Invalid for another model, other adapters or scales, another type of
  /// cache, other SplitOptions, or if the context has no room for it.
  ///
  /// A model is recognised by its architecture's numbers, its tokenizer, its tensors, and a sample
  /// of their data. With reuse_prefixes, whole blocks that the cache has already are used instead
  /// of those in the file.
  Status restore(std::int64_t sequence, const std::string& path);

  /// The model it was created with.
  const Model& model() const;
  /// SessionOptions::sequences.
  std::int64_t sequences() const;
  std::int64_t length(std::int64_t sequence = 0) const;  ///< tokens so far; 0 if it is not there
  /// The tokens so far; none if the sequence is not there. Valid until the session is changed.
  std::span<const std::int32_t> tokens(std::int64_t sequence = 0) const;
  std::int64_t context() const;  ///< tokens there is room for
  /// Tokens in the context: those of all sequences, and those that several share once.
  std::int64_t taken() const;
  /// Tokens that its steps have computed so far: less than were appended where sequences share
  /// their cache, and more where tokens were computed again.
  std::int64_t computed() const;
  /// The use of host memory for blocks of the cache.
  HostCacheUse host_cache() const;
  /// Bytes that it has allocated.
  SessionMemory memory() const;
  /// Its memory, without weights, by device and purpose.
  Ledger ledger() const;
  /// Decisions about memory, as Model::notes(), refusals of devices, tokens that were computed
  /// again, and the time that drivers took to load kernels.
  std::vector<std::string> notes() const;
  /// That of its options.
  Trace* trace() const;

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Options of Sampler::create(). Each states the value that switches it off, if there is one.
struct SamplingOptions {
  float temperature = 0.8F;  ///< 0: always the likeliest token
  std::int32_t top_k = 40;   ///< only the k likeliest; 0: all
  float top_p = 0.95F;       ///< only the likeliest that together reach this probability; 1: all
  float min_p = 0.05F;       ///< only those at least this times as likely as the likeliest; 0: all
  float repeat_penalty =
      1;  ///< divides positive and multiplies negative logits of recent tokens; 1: none
  float frequency_penalty = 0;     ///< subtracted for each time a token is among the recent ones
  float presence_penalty = 0;      ///< subtracted once for each recent token
  std::int32_t penalty_last = 64;  ///< how many tokens are recent
  std::uint64_t seed = 0;
};

/// Picks tokens. The same seed, options and logits give the same tokens.
class Sampler {
 public:
  /// Invalid, naming the option, if one is out of its range.
  static Result<Sampler> create(const SamplingOptions& options);
  /// Counts a token as recent: those of the prompt, and each that was picked.
  void accept(std::int32_t token);
  /// The next token. Logits that are not numbers are never picked; Invalid if there is no other.
  Result<std::int32_t> pick(std::span<const float> logits);

 private:
  explicit Sampler(const SamplingOptions& options) : options_(options), random_(options.seed) {}
  struct Candidate {
    std::int32_t token = 0;
    float logit = 0;
    double probability = 0;
  };
  void apply_penalties();
  void keep_likeliest();
  std::int32_t draw();

  SamplingOptions options_;
  std::mt19937_64 random_;
  std::vector<std::int32_t> recent_;  // a ring
  std::size_t recent_next_ = 0;
  std::map<std::int32_t, std::int32_t> recent_count_;
  std::vector<Candidate> candidates_;
};

/// The reason why generation ended.
enum class StopReason : std::uint8_t { kEndOfSequence, kLength, kContextFull, kCancelled };
/// "end of sequence", "length", "context full", "cancelled".
std::string_view to_string(StopReason reason);

/// Options of generate() and Engine::generate().
struct GenerateOptions {
  std::int64_t max_tokens = -1;  ///< -1: until the end of the sequence or of the context
  SamplingOptions sampling = {};
  bool ignore_end = false;  ///< go on after an end-of-sequence token
  /// First tokens of the prompt that the session ends with already: fewer than the prompt has. They
  /// are not appended, but count as recent.
  std::int64_t cached = 0;
  const std::atomic<bool>* cancel =
      nullptr;  ///< set to true by any thread to stop after the current token
};

/// The tokens that generate() picked, and the times it took.
struct GenerateResult {
  std::vector<std::int32_t> tokens;  ///< those picked, an end-of-sequence token not among them
  StopReason stop = StopReason::kLength;
  double prompt_seconds = 0;
  double generate_seconds = 0;
};

/// Feeds the prompt (at least one token), then picks tokens. Invalid for invalid options. `on_text`
/// gets the text as it comes, whole characters only.
Result<GenerateResult> generate(Session& session, std::span<const std::int32_t> prompt,
                                const GenerateOptions& options,
                                const std::function<void(std::string_view)>& on_text);

}  // namespace shunt
