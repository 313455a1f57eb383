// The text of a template, and where in it something is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "shunt/error.h"

namespace shunt::text::jinja {

class Source {
 public:
  /// Line ends become "\n", and one at the end of the text is dropped: as Jinja reads a file.
  explicit Source(std::string_view text);

  std::string_view text() const { return text_; }
  /// The same error with "chat template, line 3, column 9: " in front. Both count from 1.
  Error locate(std::size_t offset, Error error) const;

 private:
  std::string text_;
};

}  // namespace shunt::text::jinja
