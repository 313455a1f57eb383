// The graph of a Builder and the content of its weights.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/aligned_bytes.h"
#include "shunt/builder.h"

namespace shunt {

struct WeightContent {
  NodeId leaf = 0;
  std::shared_ptr<std::byte[]> bytes;
  std::size_t size = 0;
};

struct BuilderState {
  GraphBuilder graph;
  std::vector<WeightContent> weights;
  std::map<std::string, Value, std::less<>> inputs;
  std::map<std::string, Value, std::less<>> outputs;
  std::optional<Error> first_error;
  bool compiled = false;

  /// Keeps the first error of all.
  void failed(const Error& error) {
    if (!first_error) first_error = error;
  }
};

}  // namespace shunt
