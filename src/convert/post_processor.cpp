#include "convert/post_processor.h"

#include <array>

#include "convert/json_text.h"
#include "shunt/gguf.h"
#include "shunt/message.h"

namespace shunt {

namespace {

using Json = nlohmann::json;
using Ids = std::vector<std::int64_t>;

/// A member of an object; null if there is none.
const Json& part_of(const Json& object, const char* name) {
  static const Json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

class PostProcessorReader {
 public:
  PostProcessorReader(const std::string& path, FolderVocabulary& vocabulary)
      : path_(path), vocabulary_(vocabulary) {}

  Status read(const Json& node) {
    SHUNT_TRY(read_step(node));
    if (before_.size() > 1 || after_.size() > 1) {
      vocabulary_.notes.push_back(fmt::format(
          "{}: post_processor adds {} tokens in front of a text and {} behind it; the file has "
          "none of these, as there may be one each",
          path_, before_.size(), after_.size()));
      before_.clear();
      after_.clear();
      separator_.reset();
    }
    vocabulary_.add_bos = !before_.empty();
    vocabulary_.add_eos = !after_.empty();
    if (!before_.empty()) vocabulary_.opening = before_[0];
    if (!after_.empty()) vocabulary_.closing = after_[0];
    vocabulary_.separator = separator_;
    const bool differ = vocabulary_.kind == "bert" && separator_ && separator_ != after_[0];
    if (differ) {
      vocabulary_.notes.push_back(fmt::format(
          "{}: post_processor puts tokens {} and {} between two texts; the file has the first one, "
          "as a WordPiece tokenizer has one token for both",
          path_, after_[0], *separator_));
    }
    return ok();
  }

 private:
  Error bad(const std::string& what) const {
    return fail(ErrorCode::kBadFile, "{}: post_processor {}", path_, what);
  }

  Status read_step(const Json& node) {
    const Json& type = part_of(node, "type");
    if (node.is_null() || type == Json("ByteLevel")) return ok();
    if (type == Json("TemplateProcessing")) return read_template(node);
    if (type == Json("BertProcessing") || type == Json("RobertaProcessing")) {
      SHUNT_TRY(add(part_of(node, "cls"), before_));
      SHUNT_TRY(add(part_of(node, "sep"), after_));
      if (type == Json("RobertaProcessing")) separator_ = after_.back();
      return ok();
    }
    const Json& steps = part_of(node, "processors");
    if (type != Json("Sequence") || !steps.is_array()) {
      return fail(ErrorCode::kUnsupported,
                  "{}: post_processor.type is {}; known are ByteLevel, TemplateProcessing, "
                  "BertProcessing, RobertaProcessing and a Sequence of these",
                  path_, describe_json(type));
    }
    for (const Json& step : steps) SHUNT_TRY(read_step(step));
    return ok();
  }

  /// A token of BertProcessing: a text and an id.
  Status add(const Json& pair, Ids& to) const {
    const bool good = pair.is_array() && pair.size() == 2;
    return add_id(good ? pair[1] : Json(), to);
  }

  Status add_id(const Json& id, Ids& to) const {
    const auto count = vocabulary_.tokens.size();
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= count) {
      return bad(
          fmt::format("adds token {}; an id below {} is expected", describe_json(id), count));
    }
    to.push_back(id.get<std::int64_t>());
    return ok();
  }

  /// The form for one text: its name is A.
  Status read_template(const Json& node) {
    const Json& single = part_of(node, "single");
    if (!single.is_array()) return bad("has no array \"single\"");
    bool behind = false;
    for (const Json& piece : single) {
      if (part_of(piece, "Sequence").is_object()) {
        behind = true;
        continue;
      }
      SHUNT_TRY(add_token(node, piece, behind ? after_ : before_));
    }
    return read_pair(node);
  }

  /// The form for two texts, A and B, of which only the token after that which ends A is kept.
  Status read_pair(const Json& node) {
    const Json& pair = part_of(node, "pair");
    if (!pair.is_array()) return ok();
    int texts = 0;
    Ids between;
    for (const Json& piece : pair) {
      if (part_of(piece, "Sequence").is_object()) {
        ++texts;
      } else if (texts == 1) {
        SHUNT_TRY(add_token(node, piece, between));
      }
    }
    if (texts == 2 && between.size() == 2 && after_ == Ids{between[0]}) separator_ = between[1];
    return ok();
  }

  /// A piece of a template that is no text.
  Status add_token(const Json& node, const Json& piece, Ids& to) const {
    const Json& name = part_of(part_of(piece, "SpecialToken"), "id");
    if (!name.is_string()) return bad("has a piece that is no text and no token");
    const Json& token =
        part_of(part_of(node, "special_tokens"), name.get_ref<const std::string&>().c_str());
    const Json& ids = part_of(token, "ids");
    if (!ids.is_array() || ids.empty())
      return bad(fmt::format("lacks the ids of {}", describe_json(name)));
    for (const Json& id : ids) SHUNT_TRY(add_id(id, to));
    return ok();
  }

  const std::string& path_;
  FolderVocabulary& vocabulary_;
  Ids before_;
  Ids after_;
  std::optional<std::int64_t> separator_;  // second of two between the texts of a pair
};

}  // namespace

Status read_post_processor(const Json& tokenizer, const std::string& path,
                           FolderVocabulary& vocabulary) {
  return PostProcessorReader(path, vocabulary).read(part_of(tokenizer, "post_processor"));
}

}  // namespace shunt
