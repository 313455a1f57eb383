#include "convert/sentencepiece_model.h"

#include <bit>
#include <cmath>

#include "base/to_size.h"
#include "shunt/message.h"
#include "tensor/byte_order.h"

namespace shunt {

namespace {

/// The kinds of a field's content.
enum class Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// A field of a message: a number, or bytes.
struct Field {
  std::uint64_t number = 0;
  Wire wire = Wire::kVarint;
  std::uint64_t value = 0;
  std::span<const std::byte> bytes;
};

/// Reads the fields of a message, one after another.
class Fields {
 public:
  /// `start` is the offset of the message in the file, for messages of errors.
  Fields(std::span<const std::byte> bytes, std::size_t start, const std::string& name)
      : bytes_(bytes), start_(start), name_(name) {}

  bool at_end() const { return at_ == bytes_.size(); }
  /// The offset of the bytes of the field that was read last.
  std::size_t content_start() const { return content_; }

  Result<Field> next() {
    SHUNT_ASSIGN(const std::uint64_t tag, varint());
    Field field;
    field.number = tag >> 3U;
    field.wire = static_cast<Wire>(tag & 7U);
    switch (field.wire) {
      case Wire::kVarint: {
        SHUNT_ASSIGN(field.value, varint());
        return field;
      }
      case Wire::kFixed32:
      case Wire::kFixed64: {
        SHUNT_ASSIGN(field.bytes, take(field.wire == Wire::kFixed32 ? 4 : 8));
        return field;
      }
      case Wire::kBytes: {
        SHUNT_ASSIGN(const std::uint64_t size, varint());
        SHUNT_ASSIGN(field.bytes, take(size));
        return field;
      }
    }
    return bad(fmt::format("a field of kind {}", tag & 7U));
  }

  Error bad(const std::string& what) const {
    return fail(ErrorCode::kBadFile, "{}: byte {}: {}; no vocabulary of SentencePiece", name_,
                start_ + at_, what);
  }

 private:
  Result<std::uint64_t> varint() {
    constexpr unsigned kBits = 7;
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += kBits) {
      if (at_end()) return bad("the end within a number");
      const auto byte = std::to_integer<std::uint8_t>(bytes_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if ((byte & 0x80U) == 0) return value;
    }
    return bad("a number of more than 64 bits");
  }

  Result<std::span<const std::byte>> take(std::uint64_t size) {
    if (size > bytes_.size() - at_)
      return bad(fmt::format("{} bytes of a field, but {} are left", size, bytes_.size() - at_));
    content_ = start_ + at_;
    const auto taken = bytes_.subspan(at_, to_size(size));
    at_ += taken.size();
    return taken;
  }

  std::span<const std::byte> bytes_;
  std::size_t start_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::size_t content_ = 0;
};

std::string text_of_bytes(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Numbers of fields in sentencepiece_model.proto.
constexpr std::uint64_t kPieces = 1;
constexpr std::uint64_t kTrainer = 2;
constexpr std::uint64_t kNormalizer = 3;

class ModelReader {
 public:
  explicit ModelReader(const std::string& name) : name_(name) {}

  Result<FolderVocabulary> read(std::span<const std::byte> bytes) {
    Fields fields(bytes, 0, name_);
    while (!fields.at_end()) {
      SHUNT_ASSIGN(const Field field, fields.next());
      if (field.wire != Wire::kBytes) continue;
      Fields inside(field.bytes, fields.content_start(), name_);
      if (field.number == kPieces) SHUNT_TRY(read_piece(inside));
      if (field.number == kTrainer) SHUNT_TRY(read_trainer(inside));
      if (field.number == kNormalizer) SHUNT_TRY(read_normalizer(inside));
    }
    if (vocabulary_.tokens.empty()) return fields.bad("no pieces");
    return finish();
  }

 private:
  Status read_piece(Fields fields) {
    text::Token token;
    while (!fields.at_end()) {
      SHUNT_ASSIGN(const Field field, fields.next());
      if (field.number == 1 && field.wire == Wire::kBytes) token.text = text_of_bytes(field.bytes);
      if (field.number == 2 && field.wire == Wire::kFixed32)
        token.score = load_little<float>(field.bytes.data());
      if (field.number == 3 && field.wire == Wire::kVarint) {
        if (field.value < 1 || field.value > 6)
          return fields.bad(fmt::format("a piece of type {}", field.value));
        token.type = static_cast<text::TokenType>(field.value);
      }
    }
    if (!std::isfinite(token.score)) return fields.bad("a score that is not finite");
    vocabulary_.tokens.push_back(std::move(token));
    return ok();
  }

  Status read_trainer(Fields fields) {
    while (!fields.at_end()) {
      SHUNT_ASSIGN(const Field field, fields.next());
      if (field.wire != Wire::kVarint) continue;
      // Ids are of 32 bits, and -1 is none.
      const auto id = static_cast<std::int64_t>(static_cast<std::int32_t>(field.value));
      if (field.number == 3) model_type_ = field.value;
      if (field.number == 40) vocabulary_.unk = id;
      if (field.number == 41) vocabulary_.bos = id;
      if (field.number == 42) vocabulary_.eos = id;
      if (field.number == 43) vocabulary_.pad = id;
    }
    return ok();
  }

  Status read_normalizer(Fields fields) {
    while (!fields.at_end()) {
      SHUNT_ASSIGN(const Field field, fields.next());
      if (field.number == 2 && field.wire == Wire::kBytes)
        vocabulary_.charsmap = text_of_bytes(field.bytes);
      if (field.wire != Wire::kVarint) continue;
      if (field.number == 3) vocabulary_.add_space_prefix = field.value != 0;
      if (field.number == 4) vocabulary_.remove_extra_whitespaces = field.value != 0;
    }
    return ok();
  }

  Result<FolderVocabulary> finish() {
    constexpr std::uint64_t kUnigram = 1;
    constexpr std::uint64_t kBpe = 2;
    if (model_type_ != kUnigram && model_type_ != kBpe) {
      return fail(ErrorCode::kUnsupported,
                  "{}: trainer_spec.model_type is {}; known are 1 (unigram) and 2 (bpe)", name_,
                  model_type_);
    }
    vocabulary_.has_scores = true;
    vocabulary_.kind = model_type_ == kBpe ? "llama" : "t5";
    if (model_type_ == kBpe) {
      vocabulary_.charsmap.clear();
      vocabulary_.remove_extra_whitespaces.reset();
    }
    const auto count = std::ssize(vocabulary_.tokens);
    for (auto* const id :
         {&vocabulary_.unk, &vocabulary_.bos, &vocabulary_.eos, &vocabulary_.pad}) {
      if (*id && **id < 0) id->reset();
      if (*id && **id >= count) {
        return fail(ErrorCode::kBadFile, "{}: trainer_spec has the id {}; there are {} pieces",
                    name_, **id, count);
      }
    }
    return std::move(vocabulary_);
  }

  const std::string& name_;
  FolderVocabulary vocabulary_;
  std::uint64_t model_type_ = 1;  // the default of the format
};

}  // namespace

Result<FolderVocabulary> parse_sentencepiece(std::span<const std::byte> bytes,
                                             const std::string& name) {
  return ModelReader(name).read(bytes);
}

}  // namespace shunt
