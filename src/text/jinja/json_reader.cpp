// JSON to values.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shunt/message.h"
#include "text/jinja/json_text.h"
#include "text/utf8.h"

namespace shunt::text::jinja {
namespace {

/// Deeper than any tool's description; templates may put it into lists of their own.
constexpr std::size_t kMostJsonNesting = kMostNesting / 2;

/// Takes the parts of a JSON text and builds the value. Its functions have the names that
/// nlohmann::json::sax_parse() calls.
class JsonReader {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  explicit JsonReader(Budget& budget) : budget_(budget) {}

  bool null() { return add(Value(None{})); }
  bool boolean(bool flag) { return add(Value(flag)); }
  bool number_integer(number_integer_t number) { return add(Value(std::int64_t{number})); }
  bool number_unsigned(number_unsigned_t number) {
    if (number <= static_cast<number_unsigned_t>(INT64_MAX)) {
      return add(Value(static_cast<std::int64_t>(number)));
    }
    return add_big(std::to_string(number));
  }
  bool number_float(number_float_t number, const string_t& digits) {
    if (digits.find_first_of(".eE") == string_t::npos) return add_big(digits);
    return add(Value(number));
  }
  bool string(string_t& text) { return add(Value::text(std::move(text), false)); }
  bool binary(binary_t&) { return false; }
  bool start_object(std::size_t) { return open(true); }
  bool key(string_t& text) {
    open_.back().key = std::move(text);
    return true;
  }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(false); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::json::exception&) {
    error_ = invalid("invalid JSON at byte {}", at);
    return false;
  }

  Result<Value> take(bool complete) {
    if (error_) return std::move(*error_);
    if (!complete || !result_) return invalid("invalid JSON");
    return std::move(*result_);
  }

 private:
  struct Container {
    bool is_object;
    std::string key;
    Mapping mapping;
    std::vector<Value> items;
  };

  bool add_big(std::string digits) {
    return add(Value(BigInteger{std::make_shared<const std::string>(std::move(digits))}));
  }

  bool add(Value value) {
    if (open_.empty()) {
      result_ = std::move(value);
    } else if (open_.back().is_object) {
      Container& object = open_.back();
      object.mapping.set(Value::text(std::move(object.key), false), std::move(value), budget_);
    } else {
      open_.back().items.push_back(std::move(value));
    }
    return true;
  }

  bool open(bool is_object) {
    if (open_.size() >= kMostJsonNesting) {
      error_ = invalid("JSON is nested more than {} deep", kMostJsonNesting);
      return false;
    }
    open_.push_back({is_object, {}, {}, {}});
    return true;
  }

  bool close() {
    Container done = std::move(open_.back());
    open_.pop_back();
    auto value = done.is_object ? make_mapping(std::move(done.mapping))
                                : make_sequence(std::move(done.items));
    if (!value) {
      error_ = std::move(value.error());
      return false;
    }
    return add(std::move(*value));
  }

  Budget& budget_;
  std::vector<Container> open_;
  std::optional<Value> result_;
  std::optional<Error> error_;
};

}  // namespace

Result<Value> from_json(std::string_view json, Budget& budget) {
  if (!is_valid_utf8(json)) return invalid("invalid JSON: it is not valid UTF-8");
  JsonReader reader(budget);
  const bool complete = nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  return reader.take(complete);
}

}  // namespace shunt::text::jinja
