#include "text/jinja/value.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "shunt/message.h"

namespace shunt::text::jinja {
namespace {

/// Mappings of more entries find a text by its hash.
constexpr std::size_t kIndexedFrom = 12;

}  // namespace

Value Value::text(TracedText text, bool safe) {
  return Value(Text{std::make_shared<const TracedText>(std::move(text)), safe});
}

Value Value::text(std::string bytes, bool from_template) {
  return text(TracedText(std::move(bytes), from_template));
}

const TracedText* Value::as_text() const {
  const Text* text = as<Text>();
  return text == nullptr ? nullptr : text->text.get();
}

const Sequence* Value::as_sequence() const {
  const SequencePointer* pointer = as<SequencePointer>();
  return pointer == nullptr ? nullptr : pointer->get();
}

const Mapping* Value::as_mapping() const {
  const MappingPointer* pointer = as<MappingPointer>();
  return pointer == nullptr ? nullptr : pointer->get();
}

std::size_t Mapping::index_of(std::string_view key) const {
  if (!by_text_.empty()) {
    const auto found = by_text_.find(key);
    return found == by_text_.end() ? kNoEntry : found->second;
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const TracedText* text = entries_[i].first.as_text();
    if (text != nullptr && text->view() == key) return i;
  }
  return kNoEntry;
}

const Value* Mapping::find(std::string_view key) const {
  const std::size_t index = index_of(key);
  return index == kNoEntry ? nullptr : &entries_[index].second;
}

std::size_t Mapping::index_of(const Value& key, Budget& budget) const {
  if (const TracedText* text = key.as_text()) return index_of(text->view());
  if (!is_hashable(key)) return kNoEntry;
  for (std::size_t i = 0; i < entries_.size() && budget.spend(1); ++i) {
    if (equal(entries_[i].first, key, budget)) return i;
  }
  return kNoEntry;
}

const Value* Mapping::find(const Value& key, Budget& budget) const {
  const std::size_t index = index_of(key, budget);
  return index == kNoEntry ? nullptr : &entries_[index].second;
}

void Mapping::index(std::size_t entry) {
  if (const TracedText* text = entries_[entry].first.as_text()) by_text_[text->view()] = entry;
}

void Mapping::set(Value key, Value value, Budget& budget) {
  nesting_ = std::max({nesting_, 1 + nesting_of(key), 1 + nesting_of(value)});
  const std::size_t existing = index_of(key, budget);
  if (existing != kNoEntry) {
    entries_[existing].second = std::move(value);
    return;
  }
  entries_.emplace_back(std::move(key), std::move(value));
  if (entries_.size() == kIndexedFrom) {
    for (std::size_t i = 0; i < entries_.size(); ++i) index(i);
  } else if (entries_.size() > kIndexedFrom) {
    index(entries_.size() - 1);
  }
}

Result<Value> make_sequence(std::vector<Value> items, Sequence::Kind kind) {
  std::uint32_t nesting = 0;
  for (const Value& item : items) nesting = std::max(nesting, nesting_of(item));
  if (nesting >= kMostNesting) {
    return invalid("lists and mappings are nested more than {} deep", kMostNesting);
  }
  auto sequence = std::make_shared<Sequence>();
  sequence->kind = kind;
  sequence->items = std::move(items);
  sequence->nesting = nesting + 1;
  return Value(SequencePointer(std::move(sequence)));
}

Value make_range_of(std::vector<Value> items, const RangeBounds& range) {
  auto sequence = std::make_shared<Sequence>();
  sequence->kind = Sequence::Kind::kRange;
  sequence->items = std::move(items);
  sequence->range = range;
  return Value(SequencePointer(std::move(sequence)));
}

Result<Value> make_group(Value grouper, Value list) {
  SHUNT_ASSIGN(const Value tuple,
               make_sequence({std::move(grouper), std::move(list)}, Sequence::Kind::kTuple));
  auto group = std::make_shared<Sequence>(*tuple.as_sequence());
  group->is_group = true;
  return Value(SequencePointer(std::move(group)));
}

Result<Value> make_mapping(Mapping mapping) {
  if (mapping.nesting() > kMostNesting) {
    return invalid("lists and mappings are nested more than {} deep", kMostNesting);
  }
  return Value(MappingPointer(std::make_shared<const Mapping>(std::move(mapping))));
}

std::uint32_t nesting_of(const Value& value) {
  if (const Sequence* sequence = value.as_sequence()) return sequence->nesting;
  if (const Mapping* mapping = value.as_mapping()) return mapping->nesting();
  return 0;
}

bool is_true(const Value& value) {
  std::int64_t room = 0;
  if (const std::int64_t* integer = integer_of(value, room)) return *integer != 0;
  if (const double* number = value.as<double>()) return *number != 0;
  if (const TracedText* text = value.as_text()) return !text->empty();
  if (const Mapping* mapping = value.as_mapping()) return !mapping->entries().empty();
  if (const Sequence* sequence = value.as_sequence()) {
    return sequence->kind == Sequence::Kind::kIterator || !sequence->items.empty();
  }
  return !value.is_undefined() && !value.is_none();
}

Value integer_value(std::string digits) {
  const std::size_t sign = digits.starts_with('-') ? 1 : 0;
  const std::size_t first = std::min(digits.find_first_not_of('0', sign), digits.size());
  digits.erase(sign, first - sign);
  if (digits.size() == sign) return Value(std::int64_t{0});
  std::int64_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (read.ec == std::errc()) return Value(number);
  return Value(BigInteger{std::make_shared<const std::string>(std::move(digits))});
}

double double_of(const BigInteger& big) {
  return std::strtod(big.digits->c_str(), nullptr);
}

Error beyond_64_bits() {
  return invalid("integers are limited to 64 bits");
}

const std::int64_t* integer_of(const Value& value, std::int64_t& room) {
  if (const bool* flag = value.as<bool>()) {
    room = *flag ? 1 : 0;
    return &room;
  }
  return value.as<std::int64_t>();
}

bool is_number(const Value& value) {
  return value.as<bool>() != nullptr || value.as<std::int64_t>() != nullptr ||
         value.as<double>() != nullptr || value.as<BigInteger>() != nullptr;
}

bool is_hashable(const Value& value) {
  if (const Sequence* sequence = value.as_sequence()) {
    if (sequence->kind == Sequence::Kind::kTuple) {
      return std::all_of(sequence->items.begin(), sequence->items.end(), is_hashable);
    }
    return sequence->kind != Sequence::Kind::kList;
  }
  return value.as_mapping() == nullptr;
}

}  // namespace shunt::text::jinja
