// A text that knows of each byte whether the template or a person wrote it. Control tokens are
// recognised only in the template's own text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::text::jinja {

class TracedText {
 public:
  TracedText() = default;
  TracedText(std::string bytes, bool from_template);

  std::string_view view() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }

  void append(std::string_view bytes, bool from_template);
  void append(const TracedText& other);
  /// `size` bytes of `other` from `begin` on. The range must be inside.
  void append(const TracedText& other, std::size_t begin, std::size_t size);
  TracedText part(std::size_t begin, std::size_t size) const;

  /// Whether the byte at `offset` is the template's; of the end, the last one's.
  bool from_template_at(std::size_t offset) const;

  struct Piece {
    std::string_view bytes;
    bool from_template;
  };
  /// Longest runs of one origin, in order; none of them is empty.
  std::vector<Piece> pieces() const;

 private:
  std::string bytes_;
  bool first_from_template_ = true;
  /// Offsets of the bytes that have another origin than the byte before them, ascending.
  std::vector<std::size_t> switches_;
};

}  // namespace shunt::text::jinja
