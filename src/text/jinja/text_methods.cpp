// Methods of texts that make texts.
#include <array>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/builtin.h"
#include "text/jinja/format.h"
#include "text/jinja/operators.h"
#include "text/jinja/run.h"
#include "text/jinja/text_functions.h"
#include "text/jinja/unicode.h"

namespace shunt::text::jinja {
namespace {

const TracedText& self_text(const Inputs& inputs) {
  return *inputs.self.as_text();
}

/// The text, after steps for its size.
template <class Function>
Result<Value> changed(const Inputs& inputs, Function function) {
  SHUNT_TRY(inputs.run.budget().make(self_text(inputs).size()));
  return Value::text(function(self_text(inputs)), inputs.self.as<Text>()->safe);
}

template <CharacterMap map>
Result<Value> in_other_case(const Inputs& inputs) {
  return changed(inputs, [](const TracedText& text) { return map_characters(text, map); });
}

Result<Value> capitalized(const Inputs& inputs) {
  return changed(inputs, capitalize);
}

template <bool left, bool right>
Result<Value> stripped(const Inputs& inputs) {
  SHUNT_ASSIGN(const TracedText* characters, inputs.text(0));
  return changed(inputs, [&](const TracedText& text) {
    return strip(text, characters, {left, right});
  });
}

template <bool from_back>
Result<Value> split_text(const Inputs& inputs) {
  SHUNT_ASSIGN(const TracedText* separator, inputs.text(0));
  SHUNT_ASSIGN(const std::int64_t most, inputs.integer(1, -1));
  if (separator != nullptr && separator->empty()) return invalid("a separator is not empty");
  SHUNT_ASSIGN(auto parts,
               split(self_text(inputs), separator, {most, from_back}, inputs.run.budget()));
  return make_text_list(std::move(parts));
}

Result<Value> split_into_lines(const Inputs& inputs) {
  SHUNT_ASSIGN(auto lines,
               split_lines(self_text(inputs), inputs.flag(0, false), inputs.run.budget()));
  return make_text_list(std::move(lines));
}

template <bool from_back>
Result<Value> partitioned(const Inputs& inputs) {
  SHUNT_ASSIGN(const TracedText* separator, inputs.text(0));
  if (separator == nullptr || separator->empty()) return invalid("a separator is not empty");
  const TracedText& text = self_text(inputs);
  const std::size_t found =
      from_back ? text.view().rfind(separator->view()) : text.view().find(separator->view());
  std::vector<TracedText> parts(3);
  if (found == std::string_view::npos) {
    parts[from_back ? 2 : 0] = text;
  } else {
    const std::size_t behind = found + separator->size();
    parts[0] = text.part(0, found);
    parts[1] = text.part(found, separator->size());
    parts[2] = text.part(behind, text.size() - behind);
  }
  return make_text_list(std::move(parts), Sequence::Kind::kTuple);
}

Result<Value> replaced(const Inputs& inputs) {
  SHUNT_ASSIGN(const TracedText* old, inputs.text(0));
  SHUNT_ASSIGN(const TracedText* by, inputs.text(1));
  SHUNT_ASSIGN(const std::int64_t most, inputs.integer(2, -1));
  if (old == nullptr || by == nullptr) return invalid("replace() needs two texts");
  SHUNT_ASSIGN(TracedText text, replace(self_text(inputs), *old, *by, most, inputs.run.budget()));
  return Value::text(std::move(text));
}

template <bool suffix>
Result<Value> without_affix(const Inputs& inputs) {
  SHUNT_ASSIGN(const TracedText* affix, inputs.text(0));
  if (affix == nullptr) return invalid("expected a str");
  return changed(inputs, [&](const TracedText& text) {
    const std::size_t rest = text.size() - std::min(text.size(), affix->size());
    if (suffix) return text.view().ends_with(affix->view()) ? text.part(0, rest) : text;
    return text.view().starts_with(affix->view()) ? text.part(affix->size(), rest) : text;
  });
}

Result<Value> joined(const Inputs& inputs) {
  SHUNT_ASSIGN(const SequencePointer items, elements_of(*inputs[0], inputs.run.budget()));
  TracedText result;
  for (std::size_t i = 0; i < items->items.size(); ++i) {
    const TracedText* item = items->items[i].as_text();
    if (item == nullptr) {
      SHUNT_TRY(require_defined(items->items[i]));
      return invalid("join() needs texts, not '{}'", type_name(items->items[i]));
    }
    if (i > 0) result.append(self_text(inputs));
    result.append(*item);
    SHUNT_TRY(inputs.run.budget().make(item->size() + self_text(inputs).size()));
  }
  SHUNT_TRY(inputs.run.budget().make(result.size()));
  return Value::text(std::move(result));
}

enum class Place : std::uint8_t { kLeft, kCenter, kRight };

template <Place place>
Result<Value> padded(const Inputs& inputs) {
  SHUNT_ASSIGN(const std::int64_t width, inputs.integer(0, 0));
  SHUNT_ASSIGN(const TracedText* given, inputs.text(1));
  const std::string_view fill = given == nullptr ? " " : given->view();
  if (count_characters(fill) != 1) return invalid("the fill character is one character");
  const TracedText& text = self_text(inputs);
  Budget& budget = inputs.run.budget();
  const std::int64_t missing =
      std::max<std::int64_t>(std::max<std::int64_t>(width, 0) - count_characters(text.view()), 0);
  SHUNT_ASSIGN(TracedText result, place == Place::kCenter
                                      ? center(text, width, fill, budget)
                                      : pad(text, place == Place::kRight ? missing : 0,
                                            place == Place::kRight ? 0 : missing, fill, budget));
  return Value::text(std::move(result));
}

Result<Value> filled_with_zeros(const Inputs& inputs) {
  SHUNT_ASSIGN(const std::int64_t width, inputs.integer(0, 0));
  const TracedText& text = self_text(inputs);
  const std::int64_t missing = std::max<std::int64_t>(width, 0) - count_characters(text.view());
  const bool has_sign = text.view().starts_with('+') || text.view().starts_with('-');
  TracedText result = text.part(0, has_sign ? 1 : 0);
  SHUNT_ASSIGN(const TracedText digits,
               pad(text.part(result.size(), text.size() - result.size()),
                   std::max<std::int64_t>(missing, 0), 0, "0", inputs.run.budget()));
  result.append(digits);
  return Value::text(std::move(result));
}

Result<Value> with_spaces_for_tabs(const Inputs& inputs) {
  SHUNT_ASSIGN(const std::int64_t size, inputs.integer(0, 8));
  const TracedText& text = self_text(inputs);
  TracedText result;
  std::int64_t column = 0;
  std::size_t copied = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text.view()[i];
    if (c == '\t') {
      const std::int64_t spaces = size > 0 ? size - column % size : 0;
      result.append(text, copied, i - copied);
      SHUNT_TRY(inputs.run.budget().make(static_cast<std::size_t>(spaces)));
      result.append(std::string(static_cast<std::size_t>(spaces), ' '), text.from_template_at(i));
      SHUNT_TRY(inputs.run.budget().make(result.size() / 1024));
      copied = i + 1;
      column += spaces;
    } else if (c == '\n' || c == '\r') {
      column = 0;
    } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
      ++column;
    }
  }
  result.append(text, copied, text.size() - copied);
  SHUNT_TRY(inputs.run.budget().make(result.size()));
  return Value::text(std::move(result));
}

Result<Value> formatted(const Inputs& inputs) {
  return format_braces(inputs.run, self_text(inputs), inputs.all);
}

constexpr std::array kTextMethods = {
    Builtin{"strip", "chars", stripped<true, true>},
    Builtin{"split", "sep maxsplit", split_text<false>},
    Builtin{"replace", "old! new! count", replaced},
    Builtin{"lstrip", "chars", stripped<true, false>},
    Builtin{"rstrip", "chars", stripped<false, true>},
    Builtin{"upper", "", in_other_case<map_upper>},
    Builtin{"lower", "", in_other_case<map_lower>},
    Builtin{"title", "", in_other_case<map_title>},
    Builtin{"capitalize", "", capitalized},
    Builtin{"format", "*", formatted},
    Builtin{"join", "iterable!", joined},
    Builtin{"rsplit", "sep maxsplit", split_text<true>},
    Builtin{"splitlines", "keepends", split_into_lines},
    Builtin{"partition", "sep!", partitioned<false>},
    Builtin{"rpartition", "sep!", partitioned<true>},
    Builtin{"removeprefix", "prefix!", without_affix<false>},
    Builtin{"removesuffix", "suffix!", without_affix<true>},
    Builtin{"swapcase", "", in_other_case<map_swapped>},
    Builtin{"casefold", "", in_other_case<map_folded>},
    Builtin{"center", "width! fillchar", padded<Place::kCenter>},
    Builtin{"ljust", "width! fillchar", padded<Place::kLeft>},
    Builtin{"rjust", "width! fillchar", padded<Place::kRight>},
    Builtin{"zfill", "width!", filled_with_zeros},
    Builtin{"expandtabs", "tabsize", with_spaces_for_tabs},
};

}  // namespace

std::span<const Builtin> text_methods() {
  return kTextMethods;
}

}  // namespace shunt::text::jinja
