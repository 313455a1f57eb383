// A value of a template: Python's none, bool, int, float, str, list, tuple and dict, Jinja's
// undefined, and objects that only a template has (functions, namespaces, loops).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "shunt/error.h"
#include "text/jinja/budget.h"
#include "text/jinja/traced_text.h"

namespace shunt::text::jinja {

class Object;
class Value;
struct Sequence;
class Mapping;

/// A name that has no value. It prints as nothing, and most other uses are errors with `reason`.
struct Undefined {
  const std::string* name = nullptr;      ///< in the template's syntax tree; may be null
  const char* reason = "is not defined";  ///< goes on behind the name
};
struct None {};
/// An integer beyond 64 bits: a sign for negative ones, then digits without zeros in front. It can
/// be printed and compared; arithmetic with it is an error.
struct BigInteger {
  std::shared_ptr<const std::string> digits;
};
/// A str. `safe` is that of Markup: `+` then escapes the other side.
struct Text {
  std::shared_ptr<const TracedText> text;
  bool safe = false;
};
using SequencePointer = std::shared_ptr<const Sequence>;
using MappingPointer = std::shared_ptr<const Mapping>;

class Value {
 public:
  using Variant = std::variant<Undefined, None, bool, std::int64_t, double, BigInteger, Text,
                               SequencePointer, MappingPointer, Object*>;
  Value() = default;
  Value(Variant variant) : variant_(std::move(variant)) {}  // NOLINT: every alternative is a value

  static Value text(TracedText text, bool safe = false);
  static Value text(std::string bytes, bool from_template);

  template <class T>
  const T* as() const {
    return std::get_if<T>(&variant_);
  }
  bool is_undefined() const { return as<Undefined>() != nullptr; }
  bool is_none() const { return as<None>() != nullptr; }
  /// The text of a str, else null.
  const TracedText* as_text() const;
  const Sequence* as_sequence() const;
  const Mapping* as_mapping() const;
  const Variant& variant() const { return variant_; }

 private:
  Variant variant_;
};

/// Containers may be nested this deep.
inline constexpr std::uint32_t kMostNesting = 200;

/// The arguments of range().
struct RangeBounds {
  std::int64_t start = 0, stop = 0, step = 1;
};

struct Sequence {
  enum class Kind : std::uint8_t {
    kList,
    kTuple,
    kRange,
    kKeys,  ///< dict.keys(): has a length, but no elements by number; so have the next two
    kValues,
    kItems,
    kIterator,  ///< the result of a filter such as map: can be walked once
  };
  Kind kind = Kind::kList;
  std::vector<Value> items;
  std::uint32_t nesting = 1;   ///< levels of containers, this one included
  mutable bool spent = false;  ///< an iterator that was walked
  bool is_group = false;       ///< a tuple of groupby, whose elements are grouper and list
  RangeBounds range = {};      ///< if it is one
};

/// A dict: keeps the order of insertion.
class Mapping {
 public:
  using Entry = std::pair<Value, Value>;

  const std::vector<Entry>& entries() const { return entries_; }
  std::uint32_t nesting() const { return nesting_; }
  const Value* find(std::string_view key) const;
  /// Null also for a key that Python could not hash.
  const Value* find(const Value& key, Budget& budget) const;
  /// An existing key keeps its place.
  void set(Value key, Value value, Budget& budget);

 private:
  static constexpr std::size_t kNoEntry = ~std::size_t{0};
  std::size_t index_of(std::string_view key) const;
  std::size_t index_of(const Value& key, Budget& budget) const;
  void index(std::size_t entry);

  std::vector<Entry> entries_;
  std::unordered_map<std::string_view, std::size_t> by_text_;  ///< once there are many
  std::uint32_t nesting_ = 1;
};

/// Invalid argument if containers are nested deeper than kMostNesting.
Result<Value> make_sequence(std::vector<Value> items, Sequence::Kind kind = Sequence::Kind::kList);
Result<Value> make_mapping(Mapping mapping);
/// A range with these elements.
Value make_range_of(std::vector<Value> items, const RangeBounds& range);
/// A tuple of groupby.
Result<Value> make_group(Value grouper, Value list);

/// Levels of containers; 0 for everything else.
std::uint32_t nesting_of(const Value& value);

/// Python's name: "int", "str", "dict", ...
std::string_view type_name(const Value& value);
/// Python's bool(). A bool of an object is true.
bool is_true(const Value& value);
/// An integer of any size, of decimal digits behind "-" or nothing.
Value integer_value(std::string digits);
/// The float next to it; infinite beyond the largest one.
double double_of(const BigInteger& big);
/// That an operation takes or gives an integer beyond 64 bits.
Error beyond_64_bits();
/// bool or int, as Python's arithmetic has it; null for others.
const std::int64_t* integer_of(const Value& value, std::int64_t& room);
bool is_number(const Value& value);
/// Whether it can be a key.
bool is_hashable(const Value& value);

/// Python's ==. False once the budget is spent.
bool equal(const Value& a, const Value& b, Budget& budget);
/// Python's <. Invalid argument for types that have no order.
Result<bool> less(const Value& a, const Value& b, Budget& budget);

/// Appends Python's str(): a str itself, and nothing for undefined. The origin of numbers, True and
/// None is the template; that of the punctuation of lists and mappings is not.
Status append_text(TracedText& out, const Value& value, Budget& budget);
/// Appends Python's repr().
Status append_repr(TracedText& out, const Value& value, Budget& budget);
/// repr() of a float: the shortest digits that read back as the same number.
std::string float_text(double number);

}  // namespace shunt::text::jinja
