/// \file
/// Models of random weights: any architecture that Shunt supports, any type, with a tokenizer that
/// works. They measure speed and memory, and test whole programs, without a download.
///
/// \code
/// const SynthOptions options = {.layers = 16, .width = 2048, .feed_forward = 8192};
/// SHUNT_TRY(write_synth_model("random.gguf", options));
/// \endcode
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "shunt/error.h"
#include "shunt/gguf.h"
#include "shunt/tensor.h"

namespace shunt {

struct SynthOptions {
  /// One of those that Shunt supports. Numbers that have no option here are those of small models
  /// of the architecture.
  std::string architecture = "llama";
  std::int64_t layers = 2;
  std::int64_t width = 64;  ///< length of an embedding
  std::int64_t feed_forward = 192;
  std::int64_t heads = 4;
  std::int64_t kv_heads = 2;
  std::int64_t vocabulary = 512;  ///< number of tokens
  std::int64_t context = 2048;
  /// 0: none, or 8 if the architecture has experts in any case. More is invalid for an architecture
  /// without experts.
  std::int64_t experts = 0;
  /// By a token; 0: 2. More is invalid for a model without experts.
  std::int64_t experts_used = 0;
  /// Rows of an expert; 0: a quarter of feed_forward. More is invalid for a model without experts.
  std::int64_t expert_feed_forward = 0;
  DType dtype = DType::kF32;  ///< of the matrices, any that weights can have; norms are F32
  std::uint64_t seed = 1;
  std::string name = {};  ///< the file's general.name; empty: its sizes and seed
  bool tied = false;      ///< the embedding is the output matrix as well
  /// The description of the tokenizer, and the number of tokens, are taken from this file; none: a
  /// tokenizer is made up.
  std::optional<gguf::File> tokenizer = {};
};

/// Invalid, naming the number that is out of range or does not fit the others or the type.
Status check_synth_options(const SynthOptions& options);

/// The amount of data written.
struct SynthResult {
  std::uint64_t weights = 0;
  std::uint64_t weight_bytes = 0;
};

/// Called before each tensor, with bytes done and in all. An error ends it: no file is left then.
using SynthProgress = std::function<Status(std::uint64_t done, std::uint64_t total)>;

/// Writes a GGUF file that other programs open, too. Weights are random with
/// mean 0 and variance 1 / (inputs of their matrix), norms are 1. The same options give the same
/// bytes on every machine. One tensor at a time is in memory.
Result<SynthResult> write_synth_model(const std::string& path, const SynthOptions& options,
                                      const SynthProgress& progress = {});

}  // namespace shunt
