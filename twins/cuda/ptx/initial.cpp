#include "cuda/ptx/initial.h"

#include <bit>
#include <cstring>
#include <utility>

#include "cuda/ptx/constants.h"

namespace cuda_twin::ptx {
namespace {

class Initial {
 public:
  Initial(Tokens& tokens, Variable& variable, ModuleNames& names, const Resolve& resolve)
      : tokens_(tokens),
        variable_(variable),
        names_(names),
        resolve_(resolve),
        bytes_(bits_of(variable.type) / 8) {}

  /// Elements of one level of braces, each `stride` elements apart. Returns their number.
  std::optional<std::uint64_t> level(const std::vector<std::uint64_t>& dimensions,
                                     std::size_t depth, std::uint64_t first) {
    std::uint64_t stride = 1;
    for (std::size_t i = depth + 1; i < dimensions.size(); ++i) {
      if (dimensions[i] > kMost / stride) return refuse("the initial value is too large");
      stride *= std::max<std::uint64_t>(dimensions[i], 1);
    }
    if (!tokens_.expect("{")) return std::nullopt;
    std::uint64_t count = 0;
    while (!tokens_.take_sign("}")) {
      if (count > 0 && !tokens_.expect(",")) return std::nullopt;
      if (dimensions[depth] != 0 && count >= dimensions[depth]) {
        return refuse("there are more initial values than elements");
      }
      const std::uint64_t at = first + count * stride;
      if (at > kMost) return refuse("the initial value is too large");
      const bool inner = tokens_.at_sign("{");
      if (inner && depth + 1 >= dimensions.size())
        return refuse("there are more braces than dimensions");
      if (inner ? !level(dimensions, depth + 1, at) : !element(at)) return std::nullopt;
      ++count;
    }
    return count;
  }

  bool element(std::uint64_t index) {
    const std::uint64_t offset = index * bytes_;
    if (!grow(offset + bytes_)) return false;
    if (!at_name()) return number(offset);
    return name(offset);
  }

 private:
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 40;

  std::optional<std::uint64_t> refuse(std::string reason) {
    tokens_.fail(std::move(reason));
    return std::nullopt;
  }

  bool grow(std::uint64_t bytes) {
    if (bytes <= variable_.data.size()) return true;
    names_.initial_bytes += bytes - variable_.data.size();
    if (names_.initial_bytes > tokens_.limits.initial_bytes) {
      return tokens_.fail("initial values exceed " + std::to_string(tokens_.limits.initial_bytes) +
                          " bytes");
    }
    variable_.data.resize(bytes);
    return true;
  }

  /// A name, generic(name) or a mask: 0xff00(name).
  bool at_name() const {
    const Token& token = tokens_.peek();
    if (token.kind == Token::Kind::kWord) return token.text != "WARP_SZ";
    return token.kind == Token::Kind::kNumber && tokens_.peek(1).is(Token::Kind::kSign, "(");
  }

  bool number(std::uint64_t offset) {
    const auto value = read_constant(tokens_);
    if (!value) return false;
    std::uint64_t bits = value->bits;
    const bool floating = kind_of(variable_.type) == Kind::kFloat;
    const bool is_float = value->kind != Literal::Kind::kInteger;
    if (is_float && kind_of(variable_.type) != Kind::kBits && !floating) {
      return tokens_.fail("an integer variable has a float as its initial value");
    }
    if (is_float && !float_bits(*value, bits)) return false;
    if (!is_float && floating) bits = integer_as_float(*value);
    write(offset, bits);
    return true;
  }

  /// A float of the variable's size.
  bool float_bits(const Literal& value, std::uint64_t& bits) {
    const bool single = value.kind == Literal::Kind::kSingle;
    if (bytes_ == 4 && !single) {
      bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(value.bits)));
    } else if (bytes_ == 8 && single) {
      bits = std::bit_cast<std::uint64_t>(
          static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value.bits))));
    } else if (bytes_ != 4 && bytes_ != 8) {
      return tokens_.fail("a float needs a variable of 32 or 64 bits");
    }
    return true;
  }

  std::uint64_t integer_as_float(const Literal& value) const {
    const auto number = static_cast<double>(static_cast<std::int64_t>(value.bits));
    if (bytes_ == 8) return std::bit_cast<std::uint64_t>(number);
    return bytes_ == 4 ? std::bit_cast<std::uint32_t>(static_cast<float>(number)) : value.bits;
  }

  void write(std::uint64_t offset, std::uint64_t bits) {
    for (unsigned i = 0; i < bytes_ && i < 8; ++i) {
      variable_.data[offset + i] = static_cast<std::byte>(bits >> (8 * i));
    }
  }

  bool name(std::uint64_t offset) {
    std::uint64_t mask = 0;
    if (!mask_before_name(mask)) return false;
    if (mask != 0 && tokens_.peek().kind != Token::Kind::kWord) return masked_number(offset, mask);
    Variable::Relocation relocation{offset, {}, 0, false, bytes_};
    relocation.generic = tokens_.peek().is(Token::Kind::kWord, "generic");
    if (relocation.generic) tokens_.next();
    const bool wrapped = relocation.generic && tokens_.take_sign("(");
    const Line line = tokens_.line();
    const auto word = tokens_.expect_word("a name");
    if (!word) return false;
    const auto name = resolve_(*word);
    if (!name) return tokens_.fail_at(line, shown(*word) + " is not declared");
    relocation.name = *name;
    if (wrapped && !tokens_.expect(")")) return false;
    if (!addend(relocation.addend)) return false;
    if (mask != 0) return tokens_.expect(")") && masked(std::move(relocation), mask);
    if (bytes_ != 4 && bytes_ != 8) {
      return tokens_.fail_at(line, "an address needs a variable of 64 bits");
    }
    variable_.relocations.push_back(std::move(relocation));
    return true;
  }

  bool mask_before_name(std::uint64_t& mask) {
    if (tokens_.peek().kind != Token::Kind::kNumber) return true;
    std::string problem;
    mask = literal_of(tokens_.next().text, problem).bits;
    if (!problem.empty()) return tokens_.fail(problem);
    if (mask == 0 || bytes_ != 1) return tokens_.fail("a mask function needs .b8 and a mask");
    return tokens_.expect("(");
  }

  bool addend(std::int64_t& value) {
    if (!tokens_.at_sign("+") && !tokens_.at_sign("-")) return true;
    const auto read = read_integer(tokens_);
    if (!read) return false;
    value = *read;
    return true;
  }

  /// 0xff00(1000 + 546)
  bool masked_number(std::uint64_t offset, std::uint64_t mask) {
    const auto value = read_integer(tokens_);
    if (!value || !tokens_.expect(")")) return false;
    write(offset, (static_cast<std::uint64_t>(*value) & mask) >> std::countr_zero(mask));
    return true;
  }

  /// 0xff(f), 0xff00(f), ... one after the other are the bytes of one address.
  bool masked(Variable::Relocation relocation, std::uint64_t mask) {
    const unsigned byte = static_cast<unsigned>(std::countr_zero(mask)) / 8;
    if (mask != std::uint64_t{0xFF} << (8 * byte))
      return tokens_.fail("a mask has the form 0xFF00");
    if (byte == 0) {
      relocation.bytes = 1;
      variable_.relocations.push_back(std::move(relocation));
      return true;
    }
    const bool follows = !variable_.relocations.empty() &&
                         variable_.relocations.back().name == relocation.name &&
                         variable_.relocations.back().addend == relocation.addend &&
                         variable_.relocations.back().bytes == byte &&
                         variable_.relocations.back().offset + byte == relocation.offset;
    if (!follows) return tokens_.fail("masks must take the bytes of an address in their order");
    variable_.relocations.back().bytes = byte + 1;
    return true;
  }

  Tokens& tokens_;
  Variable& variable_;
  ModuleNames& names_;
  const Resolve& resolve_;
  unsigned bytes_;
};

}  // namespace

bool read_initial(Tokens& tokens, Variable& variable, std::vector<std::uint64_t>& dimensions,
                  ModuleNames& names, const Resolve& resolve) {
  tokens.expect("=");
  if (variable.space != Space::kGlobal && variable.space != Space::kConst) {
    return tokens.fail("only .global and .const variables have initial values");
  }
  Initial initial(tokens, variable, names, resolve);
  std::vector<std::uint64_t> shape = dimensions;
  if (variable.vector > 1) shape.push_back(variable.vector);
  if (shape.empty()) return initial.element(0);
  if (!dimensions.empty() && shape[0] == 0 && shape.size() > 1 && dimensions.size() > 1) {
    for (std::size_t i = 1; i < shape.size(); ++i) {
      if (shape[i] == 0) return tokens.fail("only the first dimension may be left out");
    }
  }
  const auto count = initial.level(shape, 0, 0);
  if (!count) return false;
  if (!dimensions.empty() && dimensions[0] == 0) dimensions[0] = *count;
  return true;
}

}  // namespace cuda_twin::ptx
