// Values to JSON.
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/attribute_path.h"
#include "text/jinja/json_text.h"
#include "text/jinja/operators.h"
#include "text/utf8.h"

namespace shunt::text::jinja {
namespace {

constexpr std::array<std::pair<char, std::string_view>, 7> kShortEscapes = {{{'"', "\\\""},
                                                                             {'\\', "\\\\"},
                                                                             {'\n', "\\n"},
                                                                             {'\r', "\\r"},
                                                                             {'\t', "\\t"},
                                                                             {'\f', "\\f"},
                                                                             {'\b', "\\b"}}};

class JsonWriter {
 public:
  JsonWriter(const JsonFormat& format, Budget& budget) : format_(format), budget_(budget) {}

  Status write(const Value& value) {
    if (!budget_.spend(1)) return budget_.spent();
    if (const TracedText* text = value.as_text()) return write_text(*text);
    if (const Mapping* mapping = value.as_mapping()) return write_mapping(*mapping);
    if (const Sequence* sequence = value.as_sequence()) return write_sequence(value, *sequence);
    SHUNT_ASSIGN(const std::string scalar, scalar_text(value));
    out_.append(scalar, true);
    return ok();
  }

  TracedText take() { return std::move(out_); }

 private:
  static Result<std::string> scalar_text(const Value& value) {
    if (value.is_none()) return std::string("null");
    if (const bool* flag = value.as<bool>()) return std::string(*flag ? "true" : "false");
    if (const auto* integer = value.as<std::int64_t>()) return std::to_string(*integer);
    if (const BigInteger* big = value.as<BigInteger>()) return *big->digits;
    if (const double* number = value.as<double>()) {
      if (std::isnan(*number)) return std::string("NaN");
      if (std::isinf(*number)) return std::string(*number < 0 ? "-Infinity" : "Infinity");
      return float_text(*number);
    }
    SHUNT_TRY(require_defined(value));
    return invalid("a '{}' has no JSON", type_name(value));
  }

  /// Large indentions and separators count, too.
  Status check_size() {
    const std::size_t added = out_.size() - checked_;
    checked_ = out_.size();
    SHUNT_TRY(budget_.make(added));
    return budget_.fits(out_.size());
  }

  void punctuate(std::string_view text) { out_.append(text, false); }

  void break_line() {
    if (!format_.indention) return;
    punctuate("\n");
    for (int i = 0; i < depth_; ++i) out_.append(*format_.indention);
  }

  std::string escape_of(char32_t c) const {
    for (const auto& [character, escape] : kShortEscapes) {
      if (c == static_cast<char32_t>(character)) return std::string(escape);
    }
    const auto code = static_cast<std::uint32_t>(c);
    if (code >= 0x20 && (code < 0x7F || !format_.ascii)) return {};
    if (code < 0x10000) return fmt::format("\\u{:04x}", code);
    const std::uint32_t rest = code - 0x10000;
    return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
  }

  Status write_text(const TracedText& text) {
    SHUNT_TRY(budget_.make(text.size()));
    const std::string_view view = text.view();
    punctuate("\"");
    std::size_t copied = 0;
    for (std::size_t i = 0; i < view.size();) {
      const auto byte = static_cast<unsigned char>(view[i]);
      const bool is_plain = byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7F;
      if (is_plain && (byte < 0x7F || !format_.ascii)) {
        ++i;
        continue;
      }
      const std::size_t size = utf8_size(view.substr(i));
      const std::string escape = escape_of(utf8_code_point(view.substr(i)));
      if (!escape.empty()) {
        out_.append(text, copied, i - copied);
        out_.append(escape, text.from_template_at(i));
        copied = i + size;
      }
      i += size;
    }
    out_.append(text, copied, view.size() - copied);
    punctuate("\"");
    return ok();
  }

  Status write_key(const Value& key) {
    if (const TracedText* text = key.as_text()) return write_text(*text);
    if (key.as_sequence() != nullptr) {
      return invalid("keys of JSON are texts, numbers or none, not '{}'", type_name(key));
    }
    SHUNT_ASSIGN(std::string scalar, scalar_text(key));
    return write_text(TracedText(std::move(scalar), true));
  }

  /// Indices of the entries by their keys; none if they stay in order.
  Result<std::vector<Value>> order_of(const Mapping& mapping) {
    std::vector<KeyedValue> keyed;
    if (!format_.sorts_keys) return std::vector<Value>();
    for (const auto& entry : mapping.entries()) {
      keyed.push_back({entry.first, Value(static_cast<std::int64_t>(keyed.size()))});
    }
    return sort_by_key(std::move(keyed), false, budget_);
  }

  Status write_mapping(const Mapping& mapping) {
    if (mapping.entries().empty()) {
      punctuate("{}");
      return ok();
    }
    SHUNT_ASSIGN(const std::vector<Value> order, order_of(mapping));
    punctuate("{");
    ++depth_;
    for (std::size_t i = 0; i < mapping.entries().size(); ++i) {
      const std::size_t index =
          order.empty() ? i : static_cast<std::size_t>(*order[i].as<std::int64_t>());
      const auto& [key, value] = mapping.entries()[index];
      if (i > 0) out_.append(format_.item_separator);
      break_line();
      SHUNT_TRY(write_key(key));
      out_.append(format_.key_separator);
      SHUNT_TRY(write(value));
      SHUNT_TRY(check_size());
    }
    --depth_;
    break_line();
    punctuate("}");
    return check_size();
  }

  Status write_sequence(const Value& value, const Sequence& sequence) {
    if (sequence.kind > Sequence::Kind::kTuple) {
      return invalid("a '{}' has no JSON", type_name(value));
    }
    if (sequence.items.empty()) {
      punctuate("[]");
      return ok();
    }
    punctuate("[");
    ++depth_;
    for (std::size_t i = 0; i < sequence.items.size(); ++i) {
      if (i > 0) out_.append(format_.item_separator);
      break_line();
      SHUNT_TRY(write(sequence.items[i]));
      SHUNT_TRY(check_size());
    }
    --depth_;
    break_line();
    punctuate("]");
    return check_size();
  }

  const JsonFormat& format_;
  Budget& budget_;
  TracedText out_;
  std::size_t checked_ = 0;  ///< bytes of it that took steps
  int depth_ = 0;
};

}  // namespace

Result<TracedText> to_json(const Value& value, const JsonFormat& format, Budget& budget) {
  JsonWriter writer(format, budget);
  SHUNT_TRY(writer.write(value));
  return writer.take();
}

}  // namespace shunt::text::jinja
