#pragma once

#include <memory>

#include "shunt/text.h"
#include "text/model.h"
#include "text/special_tokens.h"

namespace shunt::text {

/// The state that a Tokenizer and its copies share.
struct Tokenizer::State {
  explicit State(Vocabulary v) : vocabulary(std::move(v)), specials(vocabulary) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Vocabulary vocabulary;
  SpecialTokens specials;
  std::unique_ptr<const Model> model;   ///< refers to `vocabulary`
  std::vector<std::int32_t> ends;       ///< of a generation, ascending
  std::optional<std::int32_t> opening;  ///< added in front of a text
  std::optional<std::int32_t> closing;  ///< added at its end
};

}  // namespace shunt::text
