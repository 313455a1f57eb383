#include "convert/json_text.h"

#include <unordered_set>
#include <vector>

#include "base/file.h"
#include "base/to_size.h"
#include "shunt/gguf.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// The offset of the first bracket that is nested too deep, or npos. The parser recurses when it
/// frees what it has read.
std::size_t too_deep_at(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '[' || c == '{') {
      if (++depth > kMostJsonDepth) return i;
    }
    if (c == ']' || c == '}') --depth;
  }
  return std::string_view::npos;
}

/// Finds a member that an object has twice. The parser would keep the last. Its functions have the
/// names that nlohmann::json::sax_parse() calls. The parser's own callback takes quadratic time for
/// objects in an object.
class TwiceFinder {
 public:
  using Json = nlohmann::json;

  static bool null() { return true; }
  static bool boolean(bool) { return true; }
  static bool number_integer(Json::number_integer_t) { return true; }
  static bool number_unsigned(Json::number_unsigned_t) { return true; }
  static bool number_float(Json::number_float_t, const Json::string_t&) { return true; }
  static bool string(Json::string_t&) { return true; }
  static bool binary(Json::binary_t&) { return true; }
  static bool start_array(std::size_t) { return true; }
  static bool end_array() { return true; }
  static bool parse_error(std::size_t, const std::string&, const Json::exception&) { return false; }

  bool start_object(std::size_t) {
    open_.emplace_back();
    return true;
  }
  bool end_object() {
    open_.pop_back();
    return true;
  }
  /// False ends the search.
  bool key(Json::string_t& name) {
    Object& object = open_.back();
    object.name = name;
    if (object.names.insert(name).second) return true;
    for (const Object& each : open_)
      found_ += (found_.empty() ? "" : ".") + gguf::printable(each.name);
    return false;
  }
  /// The names of the objects around it, and its own; empty: there is none.
  const std::string& found() const { return found_; }

 private:
  struct Object {
    std::unordered_set<std::string> names;
    std::string name;  ///< of the member that is read
  };
  std::vector<Object> open_;
  std::string found_;
};

/// The reason in the parser's message, without its own prefix.
std::string reason_of(const std::string& message) {
  const std::size_t at = message.find("] ");
  return message.substr(at == std::string::npos ? 0 : at + 2, 200);
}

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text, const std::string& name) {
  if (const std::size_t at = too_deep_at(text); at != std::string_view::npos) {
    return fail(ErrorCode::kBadFile, "{}: byte {}: JSON is nested deeper than {} levels", name, at,
                kMostJsonDepth);
  }
  try {
    nlohmann::json value = nlohmann::json::parse(text.begin(), text.end());
    TwiceFinder twice;
    nlohmann::json::sax_parse(text.begin(), text.end(), &twice);
    if (twice.found().empty()) return value;
    return fail(ErrorCode::kBadFile,
                "{}: {} is there twice; a member of an object is expected once", name,
                twice.found());
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorCode::kBadFile, "{}: no valid JSON: {}", name,
                gguf::printable(reason_of(error.what()), 200));
  }
}

Result<nlohmann::json> read_json_file(const std::string& path, std::uint64_t most_bytes) {
  SHUNT_ASSIGN(const InputFile file, InputFile::open(path));
  if (file.size() > most_bytes) {
    return fail(ErrorCode::kBadFile, "{}: {} bytes; at most {} are expected", path, file.size(),
                most_bytes);
  }
  std::vector<char> text(to_size(file.size()));
  SHUNT_TRY(file.read(0, std::as_writable_bytes(std::span(text))));
  return parse_json({text.data(), text.size()}, path);
}

std::string describe_json(const nlohmann::json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  if (value.is_string()) return gguf::printable(value.get_ref<const std::string&>());
  return value.dump();
}

}  // namespace shunt
