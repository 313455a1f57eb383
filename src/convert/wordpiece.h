// Vocabularies of WordPiece in folders.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "convert/config.h"
#include "convert/folder_vocabulary.h"

namespace shunt {

/// GGUF has words with U+2581 in front, and parts of words without `inside`, such as "##".
void mark_words(FolderVocabulary& vocabulary, std::string_view inside);
/// How a tokenizer.json of this kind changes a text and cuts it. Unsupported, naming `path` and the
/// place, for other steps than BERT's.
Status read_bert_steps(const nlohmann::json& tokenizer, const std::string& path,
                       FolderVocabulary& vocabulary);
/// vocab.txt: a token a line. `settings` is tokenizer_config.json; the embedding has `rows`.
Result<FolderVocabulary> read_vocab_txt(const std::string& path, const Config& settings,
                                        std::int64_t rows);

}  // namespace shunt
