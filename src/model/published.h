// How models are published, as Hugging Face folders: the names of their tensors and numbers, and
// what conversion does to them. An architecture states what differs from the usual.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "model/description.h"
#include "model/slot.h"

namespace shunt {

/// The rows of a published tensor that a weight is made of.
enum class Rows : std::uint8_t {
  kAll,
  kFirstHalf,
  kSecondHalf,
  kEven,
  kOdd,
  kAllButTwo,  ///< the first two are left out
};

/// The order of rows, where it differs.
enum class Order : std::uint8_t {
  kSame,
  /// Pairs that rope turns are halves of a head there, and neighbours here.
  kRopePairs,
  kLatentKeys,    ///< of heads that have rows for keys, then for values; columns become rows
  kLatentValues,  ///< the others
  kDeltaInput,    ///< of heads of keys that have queries, keys, values and gates
  kDeltaGate,     ///< the last of these
  /// Heads of values that share a head of keys are neighbours there, and `key_heads` apart here.
  kDeltaTiles,
  kDeltaTileColumns,  ///< of a matrix that reads them
};

/// What is done to each number.
enum class Element : std::uint8_t { kSame, kAddOne, kNegativeExp };

/// A published tensor that a weight is made of.
struct PublishedTensor {
  WeightSlot slot = WeightSlot::kCount;
  /// Without the prefixes of modules around layers, and without "layers.N." of those of layers.
  /// "{}" is the number of an expert: there is a tensor for each.
  std::string_view name;
  Rows rows = Rows::kAll;
  bool transposed = false;  ///< has inputs in rows
  Order order = Order::kSame;
  Element element = Element::kSame;
  bool not_in_first = false;  ///< the first layer may lack it
};

/// How a number of config.json is read.
enum class ConfigKind : std::uint8_t { kCount, kNumber, kFlag, kText };

/// A number of config.json that a key of GGUF has.
struct ConfigNumber {
  std::string_view key;   ///< behind the architecture's prefix
  std::string_view from;  ///< alternatives, separated by "|"; dots separate levels
  ConfigKind kind = ConfigKind::kCount;
  /// Without it in config.json: "-" leaves out the key; empty is an error.
  std::string_view otherwise = {};
};

/// A value of config.json that the architecture's graph has built in.
struct ConfigLimit {
  std::string_view from;     ///< as ConfigNumber::from
  std::string_view allowed;  ///< JSON, alternatives separated by "|"; a missing one is allowed
};

/// What tables of numbers do not say. convert/config_rules.cpp has each.
enum class ConfigRule : std::uint8_t {
  kHeads,          ///< sizes of heads
  kRopeDims,       ///< the elements of a head that rope turns
  kRope,           ///< base and scaling
  kWindowRope,     ///< the base of layers with windows
  kWindow,         ///< tokens that a token sees
  kWindowPattern,  ///< the same, and the layers that have the window
  kNoWindow,       ///< a window shortens the context
  kLeadingDense,   ///< layers before the first one with experts
  kSigmoidRouter,
  kLatent,      ///< sizes of latent attention
  kLatentRope,  ///< base and scaling
  kDeltaNet,
  kConvolutions,  ///< layers that are short convolutions have no heads of keys
  kLfmFeedForward,
  kStateSpace,
  kSpaceLayers,  ///< layers that are state spaces have no heads of keys
  kMambaOnly,
  kTemperature,  ///< of queries, by position
  kNoRope,       ///< rope.scaling.type is "none"
  kGemma4,
  kLlama4,
  kRopeSections,
  kQueryScale,  ///< of Gemma's scores
  kEncoder,     ///< tokens see those after them; kinds of tokens, and pooling
  kPositions,   ///< the first two positions are not used
};

/// A kind of folder: a model_type of config.json.
struct Published {
  std::string_view types;         ///< model_type, alternatives separated by "|"
  std::string_view architecture;  ///< of GGUF
  /// A flag of config.json that is true in these folders only; empty: none.
  std::string_view only_with = {};
  std::vector<ConfigNumber> numbers = {};
  std::vector<ConfigRule> rules = {};
  std::vector<ConfigLimit> limits = {};
  /// Of slots whose tensors have other names or conversions than usual. The first that a folder has
  /// counts.
  std::vector<PublishedTensor> tensors = {};
};

/// Whether its models are encoders.
bool is_encoder(const Published& model);

/// The tensors that a weight may be made of, in order: those of `model`, or the usual ones.
std::vector<PublishedTensor> published_tensors(const Published& model, WeightSlot slot);

/// Numbers of nearly every decoder.
std::vector<ConfigNumber> decoder_numbers(std::initializer_list<ConfigNumber> more = {});
/// The same with those of experts.
std::vector<ConfigNumber> routed_numbers(std::initializer_list<ConfigNumber> more = {});
/// Numbers of nearly every encoder, and the key of its norms' epsilon.
std::vector<ConfigNumber> encoder_numbers(std::string_view epsilon,
                                          std::initializer_list<ConfigNumber> more = {});
/// hidden_act is "silu", and no other rule.
std::vector<ConfigLimit> silu_only(std::initializer_list<ConfigLimit> more = {});
/// Queries and keys, and their biases, as models have them whose rope turns neighbours.
std::vector<PublishedTensor> paired(std::initializer_list<PublishedTensor> more = {});
/// Weights of norms that are multiplied by 1 + w there.
std::vector<PublishedTensor> one_more(std::initializer_list<PublishedTensor> norms);

}  // namespace shunt
