// A request on its way, as the thread of the steps knows it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/batch/batch_task.h"
#include "engine/batch/request_queue.h"
#include "shunt/batcher.h"

namespace shunt {

/// A sequence that the session's owner goes on with after the request.
struct OwnSequence {
  std::int64_t number = 0;
  std::int64_t cached = 0;  ///< first tokens of the request that it ends with already
};

struct BatchJob {
  BatchRequest request;
  std::shared_ptr<BatchTask> task;
  Sampler sampler;
  std::optional<OwnSequence> own = {};
  std::int64_t order = 0;                 // smaller is older
  std::vector<std::int32_t> tokens = {};  // of the prompt, then those picked
  std::string scope = {};                 // of keys: with the adapters
  std::vector<std::uint64_t> keys = {};   // prefix_keys() of the tokens when it was admitted
  std::int64_t sequence = -1;             // -1: it waits
  std::int64_t appended = 0;              // of its tokens, those that the sequence has
  std::int64_t scored = -1;               // the next token to score
  double arrived = 0;
  double admitted = -1;  // for the first time
  double answered = -1;  // logits of the first token
  double deadline = 0;
  bool reader_is_slow = false;
  bool keeps_rows = false;  // it runs because it was the oldest of all, and has no token since then
  RequestQueue::Place place = {};  // while it runs
  BatchResult result = {};

  std::int64_t left() const { return std::ssize(tokens) - appended; }
  bool generates() const { return result.picked_tokens > 0 && left() == 1; }
  /// Whether a token follows the prompt.
  bool picks() const { return request.max_tokens != 0; }
  /// Whether tokens of its prompt are still to be scored.
  bool scores() const { return scored >= 0 && scored < std::ssize(request.tokens); }
  std::span<const std::int32_t> picked() const {
    return std::span(tokens).subspan(request.tokens.size());
  }
};

}  // namespace shunt
