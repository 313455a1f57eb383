// The interface that every op implements. Builder checks, `shunt ops` and the documentation table
// are derived from it. The test cases of ops are beside them, in NAME_cases.cpp.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/graph.h"
#include "shunt/message.h"

namespace shunt {

class Backward;

/// The memory of an op's result.
enum class Storage : std::uint8_t {
  kOwn,        ///< in memory of its own
  kView,       ///< in its first source's memory, seen another way; nothing is computed
  kIntoFirst,  ///< in its first source's memory, which it writes (all of it or a part)
};

/// An op that reads only those slices of its first source along `dim` whose numbers source `ids`
/// holds, and fails for a number that there is no slice for.
struct Picks {
  int ids = 0;
  int dim = 0;
};

struct OpInfo {
  std::string_view name;                  ///< "rms_norm"
  std::string_view family;                ///< the folder it lives in
  std::string_view summary;               ///< one paragraph with the formula
  std::vector<std::string_view> sources;  ///< their names; one that ends in '?' is optional
  Storage storage = Storage::kOwn;
  std::optional<Picks> picks = {};
  /// Of an op that writes into its first source: the value that it writes in a place depends on
  /// other sources in the same place only. So one of them may be the first source itself; other ops
  /// must not read the memory that they write.
  bool place_by_place = false;
};

/// The tensors of an op's sources; null where an optional one is not given.
using SourceTensors = std::span<const Tensor* const>;

/// The result of a shape rule.
struct Inferred {
  Tensor tensor;
  std::int64_t offset = 0;  ///< of a view: bytes from the start of the first source
};

/// A tensor of the plain reference: contiguous, in double precision.
struct RefTensor {
  Sizes sizes = {1, 1, 1, 1};
  Sizes most = {};  ///< sizes at the maximum of dynamic dimensions; 0: as in `sizes`
  std::vector<double> data;

  RefTensor() = default;
  explicit RefTensor(const Sizes& s)
      : sizes(s), data(static_cast<std::size_t>(s[0] * s[1] * s[2] * s[3])) {}
  std::size_t index(std::int64_t i0, std::int64_t i1, std::int64_t i2, std::int64_t i3) const {
    return static_cast<std::size_t>(((i3 * sizes[2] + i2) * sizes[1] + i1) * sizes[0] + i0);
  }
  std::int64_t most_of(std::size_t dim) const { return std::max(most[dim], sizes[dim]); }
  double& at(std::int64_t i0, std::int64_t i1 = 0, std::int64_t i2 = 0, std::int64_t i3 = 0) {
    return data[index(i0, i1, i2, i3)];
  }
  double at(std::int64_t i0, std::int64_t i1 = 0, std::int64_t i2 = 0, std::int64_t i3 = 0) const {
    return data[index(i0, i1, i2, i3)];
  }
};
using RefSources = std::span<const RefTensor* const>;

class Op {
 public:
  Op() = default;
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;
  virtual ~Op() = default;

  virtual const OpInfo& info() const = 0;
  /// Whether parameters are of the type that the op takes. A graph has no node with other ones.
  virtual bool accepts(const Params&) const { return true; }
  /// The shape rule. Checks types, shapes and parameters; the caller adds op and operands to the
  /// message.
  virtual Result<Inferred> infer(SourceTensors sources, const Params& params) const = 0;
  /// The plain meaning, from the documented formula, in double precision. `result` has its sizes
  /// and, if the op writes into its first source, that source's values.
  virtual void reference(RefSources sources, const Params& params, RefTensor& result) const = 0;
  /// Whether a loss can be differentiated through the op; see graph/gradient.h.
  virtual bool has_gradient() const { return false; }
  /// Builds the gradient of a loss by the sources from that by the result. Unsupported if there is
  /// no rule.
  virtual Status gradient(Backward& node, const Params& params) const;
  /// Arithmetic operations at the dynamic dimensions' maximum, for predicting times: an operation
  /// an element of the result, unless an op says otherwise.
  virtual double operations(const Tensor& result, SourceTensors, const Params&) const {
    return static_cast<double>(element_count(result.shape));
  }
  /// "eps=1e-05": the parameters for people.
  virtual std::string describe(const Params& params) const = 0;
  /// Names and defaults of the parameters: "eps=1e-05".
  virtual std::string describe_defaults() const = 0;
};

/// Prints fields for describe(): a parameter struct P has `template <class F> void each(F f) const`
/// which calls f("name", value) for each of its fields.
class FieldPrinter {
 public:
  template <class T>
  void operator()(std::string_view name, const T& value) {
    if (!text_.empty()) text_ += ", ";
    if constexpr (std::is_enum_v<T>) {
      text_ += fmt::format("{}={}", name, to_string(value));
    } else if constexpr (requires {
                           value.begin();
                           value.end();
                         }) {
      text_ += fmt::format("{}=[", name);
      const char* separator = "";
      for (const auto& item : value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(item)>, Dim>) {
          text_ += fmt::format("{}{}", separator, item.max);
        } else {
          text_ += fmt::format("{}{}", separator, item);
        }
        separator = ", ";
      }
      text_ += "]";
    } else {
      text_ += fmt::format("{}={}", name, value);
    }
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// An op whose parameters are a P.
template <class P>
class OpWith : public Op {
 public:
  virtual Result<Inferred> shape_rule(SourceTensors sources, const P& params) const = 0;
  virtual void plain_reference(RefSources sources, const P& params, RefTensor& result) const = 0;

  bool accepts(const Params& params) const final { return params.holds<P>(); }
  Result<Inferred> infer(SourceTensors sources, const Params& params) const final {
    return shape_rule(sources, params.get<P>());
  }
  void reference(RefSources sources, const Params& params, RefTensor& result) const final {
    plain_reference(sources, params.get<P>(), result);
  }
  std::string describe(const Params& params) const final {
    FieldPrinter printer;
    params.get<P>().each([&](auto name, const auto& value) { printer(name, value); });
    return printer.take();
  }
  std::string describe_defaults() const final { return describe(Params::of(P{})); }
};

/// For ops without parameters.
struct NoParams {
  template <class F>
  void each(F) const {}
};

}  // namespace shunt
