// The parts of a folder that a file is made of.
#pragma once

#include <span>
#include <string>

#include "convert/config.h"
#include "convert/tensor_folder.h"
#include "model/published.h"

namespace shunt {

/// Everything that a folder has for a file.
struct ConvertedFolder {
  const Config& config;
  const TensorFolder& tensors;
  const Published& model;
  std::span<const std::string> ignored;  ///< names of tensors that the user leaves aside
};

}  // namespace shunt
