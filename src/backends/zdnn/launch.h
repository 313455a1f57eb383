// A call of a kernel: where its tensors are in this run, and the machine's operations, which
// remember how they went.
#pragma once

#include <array>
#include <deque>
#include <optional>

#include "backends/zdnn/constants.h"
#include "backends/zdnn/weight_sticks.h"
#include "shunt/graph.h"

namespace shunt::zdnn {

inline constexpr std::size_t kMaxSources = 3;
/// The source that is added to each row of a result (ZdnnKernel::adds_row).
inline constexpr std::size_t kAddedRow = 2;

/// How a kernel gets a source.
enum class SourceForm : std::uint8_t {
  kSticks,      ///< in the machine's layout
  kTransposed,  ///< in it, its matrices transposed
  kMask,        ///< in it, as the addend of scores (score_mask.h)
  kLevelled,    ///< in it, each row less its largest element (level_rows.h)
  kCentred,     ///< in it, each row less its mean
  kPlain,       ///< in place, as it is
};
/// Numbers that are transposed at once, on their way in.
inline constexpr std::int64_t kTransposedAtOnce = std::int64_t{1} << 24;
using SourceForms = std::array<SourceForm, kMaxSources>;

/// Of a mask that hides something.
struct Hiding {
  Stick shown;        ///< 0 for hidden elements, 1 for the rest
  bool rows = false;  ///< whether it hides whole ones
};

/// A source as a kernel gets it: in the machine's layout, or plain if it asked for that.
struct SourceArg {
  Sizes sizes = {};
  SourceForm form = SourceForm::kSticks;
  const Stick* stick = nullptr;
  HostTensor host;
  WeightSticks* weight = nullptr;  ///< instead of plain, if it is stored so
  const Hiding* hiding = nullptr;  ///< of a mask, if it hides something
};

class Launch {
 public:
  Launch(const Machine& machine, Constants& constants) : machine_(machine), constants_(constants) {}

  const Machine& machine() const { return machine_; }
  const Symbols& zdnn() const { return machine_.zdnn(); }

  // The program fills these in.
  std::array<SourceArg, kMaxSources> sources;
  Sizes sizes = {};         ///< of the result
  Stick* result = nullptr;  ///< unless the kernel gives it plain
  HostTensor host_result;   ///< where it belongs then
  const Params* params = nullptr;
  std::deque<Stick> temporaries;  ///< as many as the kernel asked for
  struct Room {
    std::byte* memory = nullptr;
    Dims dims;  ///< at most
  };
  std::vector<Room> rooms;       ///< of temporaries
  std::byte* staging = nullptr;  ///< at a page, as large as the kernel asked for

  /// Temporary `index`, with these sizes in this run; its previous contents are lost. If these are
  /// larger than the kernel asked for, the launch fails. Then the temporary has the sizes that the
  /// kernel asked for.
  Stick& temporary(std::size_t index, const Dims& dims);

  // Each is true if the kernel is to go on. Once one was not, outcome() says why.

  /// Calls a function of the library: call<&Symbols::add>(a, b, to). Sticks are passed as the
  /// library's tensors.
  template <auto Function, class... Args>
  bool call(Args&&... args) {
    return took(name_of<Function>, (zdnn().*Function)(argument(args)...));
  }
  /// Dense F32 at `from` into the machine's layout, and back. Finite numbers that are too large are
  /// limited in place, if they saturate.
  bool to_machine(float* from, Stick& to);
  bool to_host(const Stick& from, float* to);
  /// Part of a matrix of plain left side `from` into the layout, transposed, with transpose_bytes()
  /// of staging.
  bool to_machine_transposed(const HostTensor& from, std::int64_t matrix, const MatrixPart& part,
                             Stick& to);
  bool add(const Stick& a, const Stick& b, Stick& to) { return call<&Symbols::add>(a, b, to); }
  bool mul(const Stick& a, const Stick& b, Stick& to) { return call<&Symbols::mul>(a, b, to); }
  /// Products of the matrices of `a` with `b`, and `c` added to each number.
  bool product(const Stick& a, const Ztensor* b, float c, Stick& to);
  /// The same with a row.
  bool product(const Stick& a, const Ztensor* b, const Ztensor* row, Stick& to);
  /// The same with the transposition of `b`.
  bool product_transposed(const Stick& a, const Ztensor* b, const Ztensor* row, Stick& to);
  /// Says with which scale `a` becomes 8-bit numbers in a product: the machine's library is asked
  /// for the largest of its elements.
  bool quantize(Stick& a);
  /// The same products of one matrix, quantised so, with 8-bit weights.
  bool quantized_product(const Stick& a, const Stick& weights, const Ztensor* row, Stick& to);
  /// a * scale + bias.
  bool affine(const Stick& a, float scale, float bias, Stick& to);
  /// a * row, a + row: for each column a number.
  bool mul_row(const Stick& a, const Stick& row, Stick& to);
  bool add_row(const Stick& a, const Stick& row, Stick& to);
  /// Null: stop.
  const Ztensor* constant(const Dims& dims, float value);
  /// Something about the values is beyond the machine: the node is to be computed otherwise.
  bool out_of_range();

  /// Whether numbers of plain sources were limited.
  bool saturated() const { return saturated_; }
  Outcome outcome() const { return outcome_; }
  std::optional<Error>& error() { return error_; }
  void start();

 private:
  static Ztensor* argument(Stick& stick) { return stick.get(); }
  static const Ztensor* argument(const Stick& stick) { return stick.get(); }
  template <class T>
  static T argument(const T& other) {
    return other;
  }
  /// Takes the status of a function of the library.
  bool took(const char* (*function)(), std::uint32_t status);
  bool failed(Error error);

  const Machine& machine_;
  Constants& constants_;
  Outcome outcome_ = Outcome::kOk;
  bool saturated_ = false;
  std::optional<Error> error_;
};

/// Calls function(i, of_from, of_to) for each matrix i of two tensors that have as many of them.
/// Stops where that is false.
template <class Function>
bool each_matrix(const Launch& l, const Stick& from, Stick& to, const Function& function) {
  for (std::int64_t i = 0; i < from.dims().dim4; ++i) {
    Stick of_from;
    Stick of_to;
    from.slice(l.zdnn(), i, of_from);
    to.slice(l.zdnn(), i, of_to);
    if (!function(i, of_from, of_to)) return false;
  }
  to.get()->is_transformed = true;
  return true;
}

/// The run of a kernel that is one function of the library: direct<&Symbols::add>.
template <auto Function, class... Sticks>
bool direct(Launch& l, Sticks&... sticks) {
  return l.call<Function>(sticks...);
}

}  // namespace shunt::zdnn
