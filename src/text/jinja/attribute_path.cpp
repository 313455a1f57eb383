#include "text/jinja/attribute_path.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "text/jinja/run.h"
#include "text/jinja/text_functions.h"
#include "text/jinja/unicode.h"

namespace shunt::text::jinja {
namespace {

Value key_of(std::string_view part) {
  std::int64_t number = 0;
  const bool starts = !part.empty() && is_digit(static_cast<unsigned char>(part.front()));
  if (starts && std::from_chars(part.data(), part.data() + part.size(), number).ptr ==
                    part.data() + part.size())
    return Value(number);
  return Value::text(std::string(part), true);
}

Result<Value> step(Run& run, const Value& value, const Value& key, const Value* otherwise) {
  SHUNT_ASSIGN(Value next, item_of(run, value, key));
  const bool replaces = next.is_undefined() && otherwise != nullptr && !otherwise->is_none();
  if (replaces) next = *otherwise;
  return next;
}

Result<Value> follow(Run& run, Value value, std::string_view path, const Value* otherwise) {
  while (true) {
    const std::size_t end = std::min(path.find('.'), path.size());
    SHUNT_ASSIGN(value, step(run, value, key_of(path.substr(0, end)), otherwise));
    if (end == path.size()) return value;
    path.remove_prefix(end + 1);
  }
}

}  // namespace

Result<Value> attribute_at(Run& run, const Value& element, const Value* path,
                           const Value* otherwise) {
  if (path == nullptr || path->is_none()) return element;
  const TracedText* text = path->as_text();
  if (text != nullptr) return follow(run, element, text->view(), otherwise);
  return step(run, element, *path, otherwise);
}

Result<Value> attributes_at(Run& run, const Value& element, const Value* paths, bool keeps_case) {
  const auto key = [&](const Value& value) { return keeps_case ? value : without_case(value); };
  const TracedText* text = paths == nullptr ? nullptr : paths->as_text();
  std::vector<Value> keys;
  if (text == nullptr) {
    SHUNT_ASSIGN(const Value value, attribute_at(run, element, paths));
    keys.push_back(key(value));
    return make_sequence(std::move(keys), Sequence::Kind::kTuple);
  }
  std::string_view rest = text->view();
  while (true) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    SHUNT_ASSIGN(const Value value, follow(run, element, rest.substr(0, end), nullptr));
    keys.push_back(key(value));
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  return make_sequence(std::move(keys), Sequence::Kind::kTuple);
}

Value without_case(const Value& value) {
  const TracedText* text = value.as_text();
  return text == nullptr ? value : Value::text(map_characters(*text, map_lower));
}

Result<std::vector<Value>> sort_by_key(std::vector<KeyedValue> keyed, bool reverse,
                                       Budget& budget) {
  // Runs of `length` are sorted and are merged in pairs. An error in a comparison ends it, which
  // std::stable_sort() does not allow.
  std::vector<KeyedValue> merged(keyed.size());
  for (std::size_t length = 1; length < keyed.size(); length *= 2) {
    for (std::size_t begin = 0; begin < keyed.size(); begin += 2 * length) {
      const std::size_t middle = std::min(begin + length, keyed.size());
      const std::size_t end = std::min(middle + length, keyed.size());
      std::size_t left = begin;
      std::size_t right = middle;
      for (std::size_t to = begin; to < end; ++to) {
        bool takes_right = left == middle;
        if (left < middle && right < end) {
          const auto [a, b] = reverse ? std::pair(left, right) : std::pair(right, left);
          SHUNT_ASSIGN(takes_right, less(keyed[a].key, keyed[b].key, budget));
        }
        merged[to] = std::move(keyed[takes_right ? right++ : left++]);
      }
    }
    keyed.swap(merged);
  }
  std::vector<Value> values;
  values.reserve(keyed.size());
  for (KeyedValue& each : keyed) values.push_back(std::move(each.value));
  return values;
}

}  // namespace shunt::text::jinja
