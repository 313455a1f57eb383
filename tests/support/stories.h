// Models that tell stories, and the results of independent implementations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/gguf_bytes.h"

namespace shunt::test {

/// A model and the likeliest continuation of a prompt.
struct Stories {
  std::string count() const { return std::to_string(ids.size()); }  ///< for -n

  std::string path;
  std::string prompt;
  std::vector<std::int32_t> prompt_ids;
  std::string text;               ///< the prompt and the likeliest tokens behind it
  std::vector<std::int32_t> ids;  ///< of these tokens
  std::vector<double> logits;     ///< behind the prompt, by token
};

/// The model that comes with Shunt; the values are numpy's, in double precision
/// (tests/oracle/default_model.py).
const Stories& stories();
/// Another result of that program for the model: a field of its file.
template <class T>
T stories_value(const std::string& name);
/// A text for it: documents with their ends.
std::string stories_text_path();

/// stories260K of ../shared, whose values llama2.c's arithmetic gave; must be there.
Stories stories_260k();

/// The model that comes with Shunt with the same weights in F32: no rounding of the activations
/// that they are multiplied with. In a folder that goes with it.
class F32Stories {
 public:
  F32Stories();
  const std::string& path() const { return path_; }

 private:
  TempFolder folder_;
  std::string path_;
};

}  // namespace shunt::test
