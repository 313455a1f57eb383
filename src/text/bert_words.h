// How BERT's tokenizers normalise text and cut it into words. Devlin et al., "BERT" (2019), and its
// published BasicTokenizer: control characters go, ideographs and punctuation are words of their
// own, spaces separate words, accents are stripped and letters become small as the model says.
#pragma once

#include <string>
#include <string_view>

namespace shunt::text {

struct BertRules {
  bool lower_case = true;
  bool strip_accents = true;
};

/// Words of a text, one after the other.
class BertWords {
 public:
  /// `text` is valid UTF-8 and must live as long as this.
  BertWords(std::string_view text, const BertRules& rules) : rest_(text), rules_(rules) {}

  /// The next word, which stays valid until the next call; empty at the end.
  std::string_view next();

 private:
  bool take_run();
  void normalise_run();
  void cut_word();

  std::string_view rest_;
  BertRules rules_;
  std::u32string run_;    ///< characters between spaces, normalised
  std::size_t used_ = 0;  ///< of run_
  std::u32string scratch_;
  std::string word_;
};

}  // namespace shunt::text
