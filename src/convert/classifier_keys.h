// The head of a classifier in a folder.
#pragma once

#include "convert/converted_folder.h"
#include "convert/file_keys.h"

namespace shunt {

/// Adds the head and its keys if the folder has one. BadFile for one of another shape than the
/// model's; Unsupported for a head of tokens instead of texts, or one that reads their mean.
Status add_classifier(const ConvertedFolder& folder, Description& description, FileKeys& keys);

}  // namespace shunt
