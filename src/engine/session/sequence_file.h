// A session's sequences and files of them: which rows of the caches are in a file, and the checks
// of a file against a session.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/file.h"
#include "engine/session/block_pool.h"
#include "engine/session/layer_content.h"
#include "engine/session/saved_sequence.h"
#include "engine/session/sequence_replacement.h"
#include "engine/session/session_plans.h"

namespace shunt {

/// Writes the tokens of a sequence, and the rows and states of those that are computed. No copies
/// may be pending. `model`: its fingerprint.
Status save_sequence(const SessionPlans& plans, BlockPool& pool, LayerContent& layers,
                     std::int64_t sequence, std::uint64_t model, const std::string& path);

/// A file whose header has been checked. Errors name its path.
class SequenceFile {
 public:
  /// NotFound, Io, BadFile or Unsupported.
  static Result<SequenceFile> open(const std::string& path);
  /// Invalid for another model's fingerprint; BadFile if a token is not of the vocabulary.
  Status check_model(std::uint64_t model, std::int64_t vocabulary) const;
  /// Replaces a sequence by the file's. No copies may be pending. Invalid if the caches are others,
  /// or if the tokens do not fit; BadFile if the rows are damaged. After an error the sequence has
  /// its tokens; those rows that were overwritten count as lost.
  Status restore(SessionPlans& plans, BlockPool& pool, LayerContent& layers,
                 std::int64_t sequence) const;

 private:
  SequenceFile(std::string path, InputFile file) : path_(std::move(path)), file_(std::move(file)) {}
  SavedBytes bytes() const;
  Status check_caches(const SessionPlans& plans) const;
  Error context_is_full(const BlockPool& pool) const;
  Status replace(SessionPlans& plans, BlockPool& pool, LayerContent& layers,
                 std::int64_t sequence) const;
  Status write_rows(SessionPlans& plans, std::optional<std::size_t> window,
                    std::span<const MissingRows> missing) const;
  Status write_windows(SessionPlans& plans, WindowRows& windows, std::int64_t sequence) const;
  Status write_states(SessionPlans& plans, std::int64_t slot) const;

  std::string path_;
  InputFile file_;
  ReadHeader header_ = {};
};

}  // namespace shunt
