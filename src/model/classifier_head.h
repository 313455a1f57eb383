// The classifier head of a file, which makes scores of a text's embedding.
#pragma once

#include <string>
#include <vector>

#include "model/architecture_keys.h"
#include "model/description.h"

namespace shunt {

/// Adds the head and its weights if the file has one. BadFile for names that are not as many as
/// scores, for a file that is to rank texts, but has no head, and for one with a part of a head
/// that needs another part. Unsupported for a norm that heads of the architecture lack.
Status read_head(ArchitectureKeys& keys, Description& model);

/// Adds a head with a score for each of these names.
void add_head(Description& model, std::vector<std::string> labels);

}  // namespace shunt
