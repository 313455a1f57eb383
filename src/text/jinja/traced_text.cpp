#include "text/jinja/traced_text.h"

#include <algorithm>
#include <utility>

namespace shunt::text::jinja {

TracedText::TracedText(std::string bytes, bool from_template)
    : bytes_(std::move(bytes)), first_from_template_(from_template) {}

void TracedText::append(std::string_view bytes, bool from_template) {
  if (bytes.empty()) return;
  if (bytes_.empty()) {
    first_from_template_ = from_template;
  } else if (from_template_at(bytes_.size()) != from_template) {
    switches_.push_back(bytes_.size());
  }
  bytes_ += bytes;
}

void TracedText::append(const TracedText& other) {
  append(other, 0, other.size());
}

void TracedText::append(const TracedText& other, std::size_t begin, std::size_t size) {
  const std::string_view bytes = other.view();
  const std::size_t end = begin + size;
  auto next = std::upper_bound(other.switches_.begin(), other.switches_.end(), begin);
  bool from_template = other.from_template_at(begin);
  while (begin < end) {
    const std::size_t stop = next == other.switches_.end() ? end : std::min(end, *next++);
    append(bytes.substr(begin, stop - begin), from_template);
    from_template = !from_template;
    begin = stop;
  }
}

TracedText TracedText::part(std::size_t begin, std::size_t size) const {
  TracedText result;
  result.append(*this, begin, size);
  return result;
}

bool TracedText::from_template_at(std::size_t offset) const {
  const auto passed = std::upper_bound(switches_.begin(), switches_.end(), offset);
  const bool changed = (passed - switches_.begin()) % 2 == 1;
  return first_from_template_ != changed;
}

std::vector<TracedText::Piece> TracedText::pieces() const {
  std::vector<Piece> result;
  std::size_t begin = 0;
  bool from_template = first_from_template_;
  for (std::size_t i = 0; i <= switches_.size(); ++i) {
    const std::size_t end = i < switches_.size() ? switches_[i] : bytes_.size();
    if (end > begin) result.push_back({view().substr(begin, end - begin), from_template});
    from_template = !from_template;
    begin = end;
  }
  return result;
}

}  // namespace shunt::text::jinja
