// The model of a folder by the keys of the file that is made.
#pragma once

#include "convert/converted_folder.h"
#include "convert/file_keys.h"
#include "model/description.h"

namespace shunt {

/// The description of the file with these keys. Adds the key for the layers with windows, if the
/// architecture has it and would have windows in others. BadFile for numbers that contradict each
/// other; Unsupported if layers are of other kinds than config.json says.
Result<Description> describe_folder(const ConvertedFolder& folder, FileKeys& keys);

}  // namespace shunt
