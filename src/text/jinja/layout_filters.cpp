// Filters that lay a text out: lines of a width, values over several lines, links.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/builtin.h"
#include "text/jinja/links.h"
#include "text/jinja/operators.h"
#include "text/jinja/pretty_print.h"
#include "text/jinja/run.h"
#include "text/jinja/text_functions.h"
#include "text/jinja/unicode.h"
#include "text/jinja/wrap_text.h"
#include "text/utf8.h"

namespace shunt::text::jinja {
namespace {

Result<Value> wrapped_input(const Inputs& inputs) {
  const TracedText* text = inputs.self.as_text();
  if (text == nullptr) {
    SHUNT_TRY(require_defined(inputs.self));
    return invalid("wordwrap() needs a str, not '{}'", type_name(inputs.self));
  }
  Budget& budget = inputs.run.budget();
  WrapOptions options;
  if (inputs[0] != nullptr && inputs[0]->is_none()) return invalid("wordwrap() needs a width");
  SHUNT_ASSIGN(options.width, inputs.integer(0, options.width));
  options.breaks_long_words = inputs.flag(1, true);
  SHUNT_ASSIGN(const TracedText* given, inputs.text(2));
  options.breaks_on_hyphens = inputs.flag(3, true);
  SHUNT_ASSIGN(const auto lines, split_lines(*text, false, budget));
  if (options.width < 1 && !lines.empty())
    return invalid("wordwrap() needs a width of 1 at least, not {}", options.width);
  const TracedText separator = given == nullptr ? TracedText("\n", true) : *given;
  SHUNT_ASSIGN(TracedText wrapped, wrap_lines(lines, options, separator, budget));
  return Value::text(std::move(wrapped));
}

Result<Value> printed_input(const Inputs& inputs) {
  SHUNT_ASSIGN(TracedText text, pretty_print(inputs.self, inputs.run.budget()));
  return Value::text(std::move(text));
}

/// How links are written.
struct LinkStyle {
  const std::int64_t* most_shown = nullptr;  ///< characters of an address
  TracedText attributes;
  std::vector<std::string> schemes;
};

/// A word in three parts: brackets in front of an address, the address, punctuation behind it.
struct LinkWord {
  std::size_t begin = 0, end = 0;  ///< of the address
};

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size()))
    ++count;
  return count;
}

/// A closing bracket belongs to an address that has its opening one.
LinkWord parts_of_word(std::string_view word) {
  constexpr std::array<std::string_view, 3> kOpening = {"(", "<", "&lt;"};
  constexpr std::array<std::string_view, 6> kTrailing = {")", ">", ".", ",", "\n", "&gt;"};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kPairs = {
      {{"(", ")"}, {"<", ">"}, {"&lt;", "&gt;"}}};
  LinkWord parts{0, word.size()};
  for (bool found = true; found;) {
    found = false;
    for (const std::string_view each : kOpening) {
      if (!word.substr(parts.begin).starts_with(each)) continue;
      parts.begin += each.size();
      found = true;
    }
  }
  for (bool found = true; found;) {
    found = false;
    for (const std::string_view each : kTrailing) {
      const std::string_view rest = word.substr(parts.begin, parts.end - parts.begin);
      if (!rest.ends_with(each)) continue;
      parts.end -= each.size();
      found = true;
    }
  }
  for (const auto& [opening, closing] : kPairs) {
    const std::string_view address = word.substr(parts.begin, parts.end - parts.begin);
    const std::size_t opened = count_of(address, opening);
    if (opened <= count_of(address, closing)) continue;
    std::size_t moved = std::min(opened, count_of(word.substr(parts.end), closing));
    for (; moved > 0; --moved) parts.end = word.find(closing, parts.end) + closing.size();
  }
  return parts;
}

/// Text of a tag around an address. It is not the template's, whoever wrote the address.
void append_tag(TracedText& out, std::string_view before, const TracedText& address,
                const TracedText* attributes) {
  out.append("<a href=\"", false);
  out.append(before, false);
  out.append(address);
  out.append("\"", false);
  if (attributes != nullptr) out.append(*attributes);
  out.append(">", false);
}

void append_shown(TracedText& out, const TracedText& address, const std::int64_t* most) {
  const std::int64_t count = most == nullptr ? 0 : count_characters(address.view());
  if (most == nullptr || count <= *most) return out.append(address);
  const std::int64_t kept = *most >= 0 ? *most : std::max<std::int64_t>(count + *most, 0);
  out.append(address, 0, offset_of_character(address.view(), kept));
  out.append("...", false);
}

void append_address(TracedText& out, const TracedText& address, const LinkStyle& style) {
  constexpr std::string_view kMail = "mailto:";
  const std::string_view view = address.view();
  const auto end_tag = [&] { out.append("</a>", false); };
  if (is_web_address(view)) {
    const bool has_scheme = view.starts_with("https://") || view.starts_with("http://");
    append_tag(out, has_scheme ? "" : "https://", address, &style.attributes);
    append_shown(out, address, style.most_shown);
    return end_tag();
  }
  if (view.starts_with(kMail) && is_mail_address(view.substr(kMail.size()))) {
    append_tag(out, "", address, nullptr);
    out.append(address, kMail.size(), view.size() - kMail.size());
    return end_tag();
  }
  const bool may_be_mail = view.find('@') != view.npos && !view.starts_with("www.") &&
                           !view.starts_with('@') && view.find(':') == view.npos;
  if (may_be_mail && is_mail_address(view)) {
    append_tag(out, kMail, address, nullptr);
    out.append(address);
    return end_tag();
  }
  const bool has_scheme = std::ranges::any_of(style.schemes, [&](const std::string& scheme) {
    return view != scheme && view.starts_with(scheme);
  });
  if (!has_scheme) return out.append(address);
  append_tag(out, "", address, &style.attributes);
  out.append(address);
  end_tag();
}

/// Appends ' name="value"'.
void append_attribute(TracedText& out, std::string_view name, const TracedText& value) {
  out.append(" ", false);
  out.append(name, false);
  out.append("=\"", false);
  out.append(escape_html(value));
  out.append("\"", false);
}

/// The words of `rel`, sorted, with those that Jinja2 adds.
Result<TracedText> relations(const Inputs& inputs) {
  SHUNT_ASSIGN(const TracedText* rel, inputs.text(3));
  std::set<std::string, std::less<>> names = {"noopener"};
  if (inputs.flag(1, false)) names.insert("nofollow");
  if (rel != nullptr) {
    SHUNT_ASSIGN(const auto words, split(*rel, nullptr, {}, inputs.run.budget()));
    for (const TracedText& word : words) names.emplace(word.view());
  }
  TracedText joined;
  for (const std::string& name : names) {
    if (!joined.empty()) joined.append(" ", false);
    joined.append(name, false);
  }
  return joined;
}

Status read_schemes(const Inputs& inputs, LinkStyle& style) {
  const Value* given = inputs[4];
  if (given == nullptr || given->is_none()) return ok();
  SHUNT_ASSIGN(const SequencePointer schemes, elements_of(*given, inputs.run.budget()));
  for (const Value& scheme : schemes->items) {
    const TracedText* text = scheme.as_text();
    if (text == nullptr || !is_scheme(text->view()))
      return invalid("a scheme is a text such as \"ftp://\" or \"tel:\"");
    style.schemes.emplace_back(text->view());
  }
  return ok();
}

Result<Value> linked_input(const Inputs& inputs) {
  Budget& budget = inputs.run.budget();
  TracedText text;
  SHUNT_TRY(append_text(text, inputs.self, budget));
  const Text* own = inputs.self.as<Text>();
  SHUNT_TRY(budget.make(text.size()));
  if (own == nullptr || !own->safe) text = escape_html(text);
  LinkStyle style;
  SHUNT_ASSIGN(const std::int64_t most_shown, inputs.integer(0, 0));
  if (inputs[0] != nullptr && !inputs[0]->is_none()) style.most_shown = &most_shown;
  SHUNT_ASSIGN(const TracedText rel, relations(inputs));
  append_attribute(style.attributes, "rel", rel);
  SHUNT_ASSIGN(const TracedText* target, inputs.text(2));
  if (target != nullptr && !target->empty()) append_attribute(style.attributes, "target", *target);
  SHUNT_TRY(read_schemes(inputs, style));
  TracedText result;
  const std::string_view view = text.view();
  std::size_t at = 0;
  const auto end_of = [&](bool spaces) {
    std::size_t end = at;
    while (end < view.size() && is_space(utf8_code_point(view.substr(end))) == spaces)
      end += utf8_size(view.substr(end));
    return end;
  };
  while (at < view.size()) {
    const std::size_t spaces = end_of(true);
    result.append(text, at, spaces - at);
    at = spaces;
    const std::size_t end = end_of(false);
    const LinkWord parts = parts_of_word(view.substr(at, end - at));
    result.append(text, at, parts.begin);
    append_address(result, text.part(at + parts.begin, parts.end - parts.begin), style);
    result.append(text, at + parts.end, end - at - parts.end);
    SHUNT_TRY(budget.make(end - at + style.attributes.size()));
    // Looking at a byte takes longer than a copy.
    if (!budget.spend(1 + style.schemes.size() + (end - at) / 8)) return budget.spent();
    SHUNT_TRY(budget.fits(result.size()));
    at = end;
  }
  SHUNT_TRY(budget.make(result.size()));
  return Value::text(std::move(result));
}

constexpr std::array kLayoutFilters = {
    Builtin{"wordwrap", "width break_long_words wrapstring break_on_hyphens", wrapped_input},
    Builtin{"pprint", "", printed_input},
    Builtin{"urlize", "trim_url_limit nofollow target rel extra_schemes", linked_input},
};

}  // namespace

std::span<const Builtin> layout_filters() {
  return kLayoutFilters;
}

}  // namespace shunt::text::jinja
