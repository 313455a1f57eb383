#pragma once

#include <memory>

#include "shunt/text.h"
#include "text/model.h"
#include "text/special_tokens.h"

namespace shunt::text {

/// The state that a Tokenizer and its copies share.
struct Tokenizer::State {
  explicit State(Vocabulary v) : vocabulary(std::move(v)), specials(vocabulary.tokens) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Vocabulary vocabulary;
  SpecialTokens specials;
  std::unique_ptr<const Model> model;  ///< refers to `vocabulary`
  bool add_bos = false;
  bool add_eos = false;
};

}  // namespace shunt::text
