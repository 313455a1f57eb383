// Rotary embeddings: x · cos + rotated(x) · sin, with angles that the program computes.
#include "ascend/include/acl/aclnn_attention.h"
#include "ascend/ops/elementwise/pointwise.h"
#include "ascend/ops/op.h"
#include "ascend/support.h"

namespace ascend_twin {
namespace {

namespace rope {

enum Mode : std::int64_t { kHalf, kInterleave, kQuarter, kInterleaveHalf };

Status no_shape(const std::string& reason) {
  return refuse(ACLNN_ERR_INNER_TILING_ERROR, reason);
}

/// Where the two numbers of a result in a row come from: x[straight] · cos + sign · x[turned] ·
/// sin.
struct Source {
  std::int64_t straight = 0, turned = 0;
  double sign = 1;
};
Source source_of(Mode mode, std::int64_t width, std::int64_t d) {
  const std::int64_t half = width / 2;
  switch (mode) {
    case kHalf:
      return d < half ? Source{d, d + half, -1} : Source{d, d - half, 1};
    case kInterleave:
      return d % 2 == 0 ? Source{d, d + 1, -1} : Source{d, d - 1, 1};
    case kQuarter: {
      const std::int64_t quarter = width / 4;
      return d / quarter % 2 == 0 ? Source{d, d + quarter, -1} : Source{d, d - quarter, 1};
    }
    default:
      // The even numbers come first, the odd ones after them; then as kHalf.
      return d < half ? Source{2 * d, 2 * d + 1, -1}
                      : Source{2 * (d - half) + 1, 2 * (d - half), 1};
  }
}

/// `angles` has the sizes of x, or 1 in the dimensions that share angles.
bool shares(const Shape& angles, const Shape& x) {
  if (angles.size() != x.size() || angles.back() != x.back()) return false;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    if (angles[i] != 1 && angles[i] != x[i]) return false;
  }
  return true;
}

void rotate(const Operand& x, const Operand& cos, const Operand& sin, Mode mode,
            const Operand& out) {
  const auto spread = [&](Operand operand) {
    operand.view = broadcast(operand.view, x.view.shape);
    return read(operand);
  };
  const std::vector<double> values = read(x);
  const std::vector<double> cosines = spread(cos);
  const std::vector<double> sines = spread(sin);
  const auto width = static_cast<std::size_t>(x.view.shape.back());
  std::vector<double> results(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t row = i / width * width;
    const Source source = source_of(mode, x.view.shape.back(), static_cast<std::int64_t>(i - row));
    results[i] = values[row + static_cast<std::size_t>(source.straight)] * cosines[i] +
                 source.sign * values[row + static_cast<std::size_t>(source.turned)] * sines[i];
  }
  write(out, results);
}

namespace one {
enum { kX, kCos, kSin, kMode, kOut };

Status check(Call& call) {
  ASCEND_TWIN_TRY(check_tensors(call));
  for (const std::size_t position : {kCos, kSin, kOut})
    ASCEND_TWIN_TRY(need_same_type(call, kX, position));
  const Shape& x = call.view(kX).shape;
  const Shape& cos = call.view(kCos).shape;
  const std::int64_t mode = call.integer(kMode);
  if (mode < kHalf || mode > kInterleaveHalf) return no_shape("mode " + std::to_string(mode));
  if (x.size() < 3 || x.size() > 4)
    return no_shape(call.describe(kX) + ", not of 3 or 4 dimensions");
  const std::int64_t width = x.back();
  if (width < 1 || width % (mode == kQuarter ? 4 : 2) != 0 || width > unknown("rope most width"))
    return no_shape(call.describe(kX) + ", rows of " + std::to_string(width));
  if (!shares(cos, x) || call.view(kSin).shape != cos)
    return no_shape(call.describe(kCos) + ", no angles for " + text_of(x));
  if (call.view(kOut).shape != x) return no_shape(call.describe(kOut) + ", not " + text_of(x));
  // 11SD, 1S1D and S11D: only positions have angles of their own.
  std::size_t own = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) own += cos[i] != 1 ? 1 : 0;
  if (mode == kInterleave && own > 1)
    return no_shape(call.describe(kCos) + ", which the mode 1 does not take");
  return ACL_SUCCESS;
}

Status run(Kernel& kernel) {
  rotate(kernel.operand(kX), kernel.operand(kCos), kernel.operand(kSin),
         static_cast<Mode>(kernel.call.integer(kMode)), kernel.operand(kOut));
  return ACL_SUCCESS;
}

std::uint64_t workspace(const Call&) {
  return static_cast<std::uint64_t>(unknown("rope workspace"));
}

constexpr Op kOp{.name = "RotaryPositionEmbedding",
                 .roles = "iiino",
                 .check = check,
                 .run = run,
                 .workspace = workspace};
}  // namespace one

namespace both {
enum { kQuery, kKey, kCos, kSin, kLayout };
constexpr std::int64_t kBsnd = 1;

Status check(Call& call) {
  ASCEND_TWIN_TRY(check_tensors(call));
  for (const std::size_t position : {kKey, kCos, kSin})
    ASCEND_TWIN_TRY(need_same_type(call, kQuery, position));
  for (const std::size_t position : {kQuery, kKey, kCos, kSin})
    ASCEND_TWIN_TRY(need_rank(call, position, 4, 4));
  if (call.integer(kLayout) != kBsnd)
    return refuse(ACLNN_ERR_PARAM_INVALID, "layout " + std::to_string(call.integer(kLayout)));
  const Shape& query = call.view(kQuery).shape;
  const Shape& key = call.view(kKey).shape;
  if (query.back() < 1 || query.back() % 2 != 0 || query.back() > unknown("rope most width"))
    return no_shape(call.describe(kQuery) + ", rows of " + std::to_string(query.back()));
  const Shape angles{query[0], query[1], 1, query[3]};
  if (key[0] != query[0] || key[1] != query[1] || key[3] != query[3] ||
      call.view(kCos).shape != angles || call.view(kSin).shape != angles)
    return no_shape(call.describe(kCos) + ", no angles for " + text_of(query) + " and " +
                    text_of(key));
  return ACL_SUCCESS;
}

Status run(Kernel& kernel) {
  for (const std::size_t position : {kQuery, kKey}) {
    rotate(kernel.operand(position), kernel.operand(kCos), kernel.operand(kSin), kHalf,
           kernel.operand(position));
  }
  return ACL_SUCCESS;
}

std::uint64_t workspace(const Call&) {
  return static_cast<std::uint64_t>(unknown("rope workspace"));
}

constexpr Op kOp{.name = "ApplyRotaryPosEmb",
                 .roles = "xxiin",
                 .check = check,
                 .run = run,
                 .workspace = workspace};
}  // namespace both

}  // namespace rope

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(RotaryPositionEmbedding, ascend_twin::rope::one::kOp, (x, cos, sin, mode, out),
          const aclTensor* x, const aclTensor* cos, const aclTensor* sin, int64_t mode,
          aclTensor* out)
ASCEND_OP(ApplyRotaryPosEmb, ascend_twin::rope::both::kOp, (queryRef, keyRef, cos, sin, layout),
          aclTensor* queryRef, aclTensor* keyRef, const aclTensor* cos, const aclTensor* sin,
          int64_t layout)
