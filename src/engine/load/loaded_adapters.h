// The adapters that are loaded beside a model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/adapters/adapter_stacks.h"
#include "model/definition.h"

namespace shunt {

struct LoadedAdapters {
  std::vector<AdapterFile> files = {};
  std::shared_ptr<const AdapterStacks> stacks = {};  ///< null: there are none

  std::vector<AdapterInfo> infos() const;
  /// Bytes of host memory.
  std::uint64_t bytes() const { return stacks == nullptr ? 0 : stacks->bytes().size(); }
  /// A line about them for the user, if there are any.
  std::optional<std::string> note() const;
};

/// Reads adapters of a model: its definition computes them from now on, and its file has their
/// matrices as a further part. Errors name file and tensor.
Result<LoadedAdapters> load_adapters(std::span<const std::string> paths, gguf::File& file,
                                     ModelDefinition& definition);

}  // namespace shunt
