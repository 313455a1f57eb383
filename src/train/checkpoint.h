// Files with what was trained: a model, or also what it takes to go on.
#pragma once

#include <string>

#include "shunt/gguf.h"
#include "shunt/train.h"
#include "train/parameters.h"

namespace shunt {

/// All of `file` with the parameters' values instead of its own.
Status write_weights(const std::string& path, const gguf::File& file, const Parameters& parameters);
/// The same with all parts of the parameters that last, the number of steps, and what text and
/// options they were made with.
Status write_checkpoint(const std::string& path, const gguf::File& file,
                        const Parameters& parameters, const TrainingText& text,
                        const TrainOptions& options, std::int64_t steps);
/// Fills in those parts, and returns the number of steps; 0 if the file is no checkpoint. Invalid
/// if it was made with other options or another text.
Result<std::int64_t> read_checkpoint(const gguf::File& file, Parameters& parameters,
                                     const TrainingText& text, const TrainOptions& options);

}  // namespace shunt
