// A request on its way, as the batcher's thread knows it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/batch/batch_task.h"
#include "shunt/batcher.h"

namespace shunt {

struct BatchJob {
  BatchRequest request;
  std::shared_ptr<BatchTask> task;
  Sampler sampler;
  std::vector<std::int32_t> tokens = {};  // of the prompt, then those picked
  std::string scope = {};                 // with the adapter
  std::vector<std::uint64_t> keys = {};   // prefix_keys() of the tokens when it was admitted
  std::int64_t sequence = -1;             // -1: it waits
  std::int64_t appended = 0;              // tokens that the sequence has
  double arrived = 0;
  double admitted = -1;  // for the first time
  double answered = -1;  // the first token
  double deadline = 0;
  bool reader_is_slow = false;
  BatchResult result = {};

  std::int64_t left() const { return std::ssize(tokens) - appended; }
  bool generates() const { return result.picked_tokens > 0 && left() == 1; }
  std::span<const std::int32_t> picked() const {
    return std::span(tokens).subspan(request.tokens.size());
  }
};

}  // namespace shunt
