// The words of a placement file: plain, or in double quotes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shunt/error.h"
#include "shunt/graph.h"

namespace shunt {

struct Word {
  std::string text;
  bool quoted = false;
};

/// As it is written: plain if it is made of letters, digits and "._-/:+" only, else in double
/// quotes with \" \\ and \xNN.
std::string quote_word(std::string_view text);
/// The words of a line, up to "#". Invalid if a quoted word does not end, or has an escape that
/// does not exist.
Result<std::vector<Word>> split_words(std::string_view line);

/// The word for a node's op: its name, or a leaf's role.
std::string op_word(const Node& node);

}  // namespace shunt
