// Files with trained models: the model alone, or also the state that training needs to go on.
#pragma once

#include <string>

#include "shunt/gguf.h"
#include "shunt/train.h"
#include "train/parameters.h"

namespace shunt {

/// All of `file` with the parameters' values instead of its own.
Status write_weights(const std::string& path, const gguf::File& file, const Parameters& parameters);
/// The same with all parts of the parameters that last, the number of steps, and descriptions of
/// the file, text and options that they were made of.
Status write_checkpoint(const std::string& path, const gguf::File& start,
                        const Parameters& parameters, const TrainingText& text,
                        const TrainOptions& options, std::int64_t steps);
/// Fills in those parts, and returns the number of steps. Invalid if the file is no checkpoint, or
/// if it was made of another file or text, or with other options.
Result<std::int64_t> read_checkpoint(const gguf::File& checkpoint, const gguf::File& start,
                                     Parameters& parameters, const TrainingText& text,
                                     const TrainOptions& options);

}  // namespace shunt
