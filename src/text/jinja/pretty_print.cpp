#include "text/jinja/pretty_print.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/attribute_path.h"
#include "text/jinja/text_functions.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace shunt::text::jinja {
namespace {

constexpr std::int64_t kPrintedWidth = 80;

using Entries = std::vector<const Mapping::Entry*>;

/// By their keys. Those of types without an order are sorted by the names of the types.
Result<Entries> sorted_entries_of(const Mapping& mapping, Budget& budget) {
  std::map<std::string_view, std::vector<KeyedValue>> groups;
  for (std::size_t i = 0; i < mapping.entries().size(); ++i) {
    const Value& key = mapping.entries()[i].first;
    const std::string_view group = is_number(key) ? "int" : type_name(key);
    groups[group].push_back({key, Value(static_cast<std::int64_t>(i))});
  }
  Entries entries;
  entries.reserve(mapping.entries().size());
  for (const auto& [group, keyed] : groups) {
    const auto sorted = sort_by_key(keyed, false, budget);
    if (!sorted && budget.is_spent()) return budget.spent();
    // Tuples may have no order either.
    for (std::size_t i = 0; i < keyed.size(); ++i) {
      const Value& number = sorted ? (*sorted)[i] : keyed[i].value;
      entries.push_back(&mapping.entries()[static_cast<std::size_t>(*number.as<std::int64_t>())]);
    }
  }
  return entries;
}

/// A list or tuple that is shown with its elements; null for all others.
const Sequence* listed_sequence(const Value& value) {
  const Sequence* sequence = value.as_sequence();
  const bool is_listed_kind =
      sequence != nullptr && !sequence->is_group && sequence->kind <= Sequence::Kind::kTuple;
  return is_listed_kind ? sequence : nullptr;
}

class PrettyPrinter {
 public:
  explicit PrettyPrinter(Budget& budget) : budget_(budget) {}

  /// `indent`: characters in front of the value, and of its further lines. `allowance`: those that
  /// follow its last line. `level`: 0 for the value that is printed as a whole.
  Status print(const Value& value, std::int64_t indent, std::int64_t allowance, int level) {
    TracedText shown;
    SHUNT_TRY(append_in_order(shown, value));
    if (count_characters(shown.view()) > kPrintedWidth - indent - allowance) {
      const Text* text = value.as<Text>();
      if (text != nullptr && !text->safe && !text->text->empty())
        return print_text(*text->text, indent, allowance, level == 0);
      if (const Mapping* mapping = value.as_mapping())
        return print_mapping(*mapping, indent, allowance, level + 1);
      if (const Sequence* sequence = listed_sequence(value))
        return print_elements(*sequence, indent, allowance, level + 1);
    }
    out_.append(shown);
    return budget_.fits(out_.size());
  }

  TracedText take() { return std::move(out_); }

 private:
  /// repr(), with the keys of dicts sorted.
  Status append_in_order(TracedText& out, const Value& value) {
    const Mapping* mapping = value.as_mapping();
    const Sequence* sequence = listed_sequence(value);
    if (mapping == nullptr && sequence == nullptr) return append_repr(out, value, budget_);
    if (!budget_.spend(1)) return budget_.spent();
    const bool is_tuple = sequence != nullptr && sequence->kind == Sequence::Kind::kTuple;
    out.append(mapping != nullptr ? "{" : is_tuple ? "(" : "[", false);
    bool first = true;
    const auto append = [&](const Value& element) -> Status {
      if (!first) out.append(", ", false);
      first = false;
      return append_in_order(out, element);
    };
    if (mapping != nullptr) {
      SHUNT_ASSIGN(const Entries entries, sorted_entries_of(*mapping, budget_));
      for (const Mapping::Entry* entry : entries) {
        SHUNT_TRY(append(entry->first));
        out.append(": ", false);
        SHUNT_TRY(append_in_order(out, entry->second));
      }
    } else {
      for (const Value& element : sequence->items) SHUNT_TRY(append(element));
      if (is_tuple && sequence->items.size() == 1) out.append(",", false);
    }
    out.append(mapping != nullptr ? "}" : is_tuple ? ")" : "]", false);
    return budget_.fits(out.size());
  }

  Status begin_line(std::string_view before, std::int64_t indent) {
    SHUNT_TRY(budget_.make(static_cast<std::size_t>(indent)));
    SHUNT_TRY(budget_.fits(out_.size() + static_cast<std::size_t>(indent)));
    out_.append(before, false);
    out_.append("\n", false);
    out_.append(std::string(static_cast<std::size_t>(indent), ' '), false);
    return ok();
  }

  Status print_mapping(const Mapping& mapping, std::int64_t indent, std::int64_t allowance,
                       int level) {
    out_.append("{", false);
    ++indent;
    SHUNT_ASSIGN(const Entries entries, sorted_entries_of(mapping, budget_));
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) SHUNT_TRY(begin_line(",", indent));
      TracedText key;
      SHUNT_TRY(append_in_order(key, entries[i]->first));
      out_.append(key);
      out_.append(": ", false);
      const std::int64_t more = count_characters(key.view()) + 2;
      const bool last = i + 1 == entries.size();
      SHUNT_TRY(print(entries[i]->second, indent + more, last ? allowance + 1 : 1, level));
    }
    out_.append("}", false);
    return ok();
  }

  Status print_elements(const Sequence& sequence, std::int64_t indent, std::int64_t allowance,
                        int level) {
    const bool is_tuple = sequence.kind == Sequence::Kind::kTuple;
    const std::string_view close = !is_tuple ? "]" : sequence.items.size() == 1 ? ",)" : ")";
    out_.append(is_tuple ? "(" : "[", false);
    ++indent;
    allowance += static_cast<std::int64_t>(close.size());
    for (std::size_t i = 0; i < sequence.items.size(); ++i) {
      if (i > 0) SHUNT_TRY(begin_line(",", indent));
      const bool last = i + 1 == sequence.items.size();
      SHUNT_TRY(print(sequence.items[i], indent, last ? allowance : 1, level));
    }
    out_.append(close, false);
    return ok();
  }

  /// A part of a text that is shown on a line of its own.
  Status print_part(const TracedText& part, std::int64_t indent, std::size_t& parts) {
    if (parts++ > 0) SHUNT_TRY(begin_line("", indent));
    return append_repr(out_, Value::text(part), budget_);
  }

  /// As parts of its lines, in brackets if there is nothing around it.
  Status print_text(const TracedText& text, std::int64_t indent, std::int64_t allowance,
                    bool is_whole) {
    if (is_whole) {
      ++indent;
      ++allowance;
    }
    const std::int64_t width = kPrintedWidth - indent;
    SHUNT_ASSIGN(const auto lines, split_lines(text, true, budget_));
    TracedText around = std::exchange(out_, {});
    std::size_t parts = 0;
    for (const TracedText& line : lines) {
      const bool last = &line == &lines.back();
      SHUNT_ASSIGN(const bool fits, fits_in(line, last ? width - allowance : width));
      SHUNT_TRY(fits ? print_part(line, indent, parts)
                     : print_words(line, indent, last ? allowance : 0, parts));
    }
    const bool in_brackets = is_whole && parts > 1;
    if (in_brackets) around.append("(", false);
    around.append(out_);
    if (in_brackets) around.append(")", false);
    out_ = std::move(around);
    return budget_.fits(out_.size());
  }

  Result<bool> fits_in(const TracedText& part, std::int64_t width) {
    TracedText shown;
    SHUNT_TRY(append_repr(shown, Value::text(part), budget_));
    return count_characters(shown.view()) <= width;
  }

  /// A line that is too long: as many words as fit in each part.
  Status print_words(const TracedText& line, std::int64_t indent, std::int64_t allowance,
                     std::size_t& parts) {
    const std::string_view view = line.view();
    std::size_t begin = 0;
    std::size_t end = 0;
    while (end < view.size()) {
      const std::size_t more = end_of_word(view, end);
      const bool last = more == view.size();
      const std::int64_t width = kPrintedWidth - indent - (last ? allowance : 0);
      SHUNT_ASSIGN(const bool fits, fits_in(line.part(begin, more - begin), width));
      if (!fits && end > begin) {
        SHUNT_TRY(print_part(line.part(begin, end - begin), indent, parts));
        begin = end;
      }
      end = more;
    }
    return print_part(line.part(begin, end - begin), indent, parts);
  }

  /// Behind a word and the white space that follows it.
  static std::size_t end_of_word(std::string_view view, std::size_t at) {
    for (const bool spaces : {false, true}) {
      while (at < view.size() && is_space(utf8_code_point(view.substr(at))) == spaces)
        at += utf8_size(view.substr(at));
    }
    return at;
  }

  Budget& budget_;
  TracedText out_;
};

}  // namespace

Result<TracedText> pretty_print(const Value& value, Budget& budget) {
  PrettyPrinter printer(budget);
  SHUNT_TRY(printer.print(value, 0, 0, 0));
  TracedText text = printer.take();
  SHUNT_TRY(budget.make(text.size()));
  return text;
}

}  // namespace shunt::text::jinja
