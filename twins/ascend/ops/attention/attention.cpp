// Shapes, types and lengths of attention (facts 4.4, H).
#include "ascend/ops/attention/attention.h"

#include <algorithm>

#include "ascend/profiles.h"
#include "ascend/support.h"

namespace ascend_twin {
namespace {

constexpr std::int64_t kMostBatches = 65536;
constexpr std::int64_t kMostHeads = 256;
constexpr std::int64_t kMostWidth = 512;
constexpr std::int64_t kMostShare = 64;
constexpr std::int64_t kWidthStep = 16;
constexpr std::int64_t kMaskSize = 2048;  // of the compressed masks of sparse modes 2 to 4
constexpr std::int64_t kPadding = 32;     // masks may be rounded up to it

Status wrong(const Call& call, std::size_t position, const std::string& reason) {
  return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(position) + ", " + reason);
}

bool is_there(const Call& call, std::size_t position) {
  return position != kAbsent && call.has(position);
}

Status read_layout(const Call& call, std::size_t position, Attention* attention) {
  struct Row {
    const char* name;
    HeadLayout layout, out;
  };
  constexpr Row kRows[] = {{"BSH", HeadLayout::kBsh, HeadLayout::kBsh},
                           {"BSND", HeadLayout::kBsnd, HeadLayout::kBsnd},
                           {"BNSD", HeadLayout::kBnsd, HeadLayout::kBnsd},
                           {"BNSD_BSND", HeadLayout::kBnsd, HeadLayout::kBsnd}};
  for (const Row& row : kRows) {
    if (call.at(position).text != row.name) continue;
    attention->layout = row.layout;
    attention->out_layout = row.out;
    return ACL_SUCCESS;
  }
  return refuse(ACLNN_ERR_PARAM_INVALID, "a layout " + call.at(position).text);
}

Status check_heads(const Call& call, const AttentionRoles& roles, Attention* attention) {
  const std::int64_t heads = call.integer(roles.heads);
  std::int64_t key_heads = call.integer(roles.key_heads);
  if (key_heads == 0) key_heads = heads;
  if (heads < 1 || heads > kMostHeads || key_heads < 1 || heads % key_heads != 0 ||
      heads / key_heads > kMostShare) {
    return refuse(ACLNN_ERR_PARAM_INVALID, std::to_string(heads) + " heads that share " +
                                               std::to_string(key_heads) + " of the keys");
  }
  attention->heads = heads;
  attention->key_heads = key_heads;
  return ACL_SUCCESS;
}

/// Sizes [B, N, S, D] of a view.
Status sizes_of(const Call& call, std::size_t position, const View& view, HeadLayout layout,
                std::int64_t heads, Shape* sizes) {
  const std::size_t rank = layout == HeadLayout::kBsh ? 3 : 4;
  if (view.rank() != rank) return wrong(call, position, "of other dimensions than its layout");
  if (view.is_nz()) return wrong(call, position, "in NZ");
  if (layout == HeadLayout::kBsh && view.shape[2] % heads != 0)
    return wrong(call, position, "not of " + std::to_string(heads) + " heads");
  *sizes = heads_view(view, layout, heads).shape;
  if ((*sizes)[1] != heads)
    return wrong(call, position, "not of " + std::to_string(heads) + " heads");
  return ACL_SUCCESS;
}

Status check_query(const Call& call, const AttentionRoles& roles, Attention* attention) {
  Shape sizes;
  ASCEND_TWIN_TRY(need_type(call, roles.query, {ACL_FLOAT16, ACL_BF16}));
  ASCEND_TWIN_TRY(sizes_of(call, roles.query, call.view(roles.query), attention->layout,
                           attention->heads, &sizes));
  attention->batches = sizes[0];
  attention->queries = sizes[2];
  attention->width = sizes[3];
  if (sizes[0] < 0 || sizes[0] > kMostBatches || sizes[2] < 0)
    return wrong(call, roles.query, "batches not in 0 to 65536");
  if (sizes[3] < 1 || sizes[3] > kMostWidth || sizes[3] % kWidthStep != 0)
    return wrong(call, roles.query, "heads of " + std::to_string(sizes[3]));
  if (attention->layout != attention->out_layout && sizes[2] == 1)
    return wrong(call, roles.query, "one row with BNSD_BSND");
  ASCEND_TWIN_TRY(need_same_type(call, roles.query, roles.out));
  Shape result;
  ASCEND_TWIN_TRY(sizes_of(call, roles.out, call.view(roles.out), attention->out_layout,
                           attention->heads, &result));
  return result == sizes ? ACL_SUCCESS : wrong(call, roles.out, "not of the query's shape");
}

/// One tensor for all batches, or a list of one for each.
Status check_keys(const Call& call, const AttentionRoles& roles, Attention* attention) {
  const std::vector<View>& keys = call.at(roles.key).views;
  const std::vector<View>& values = call.at(roles.value).views;
  const auto count = static_cast<std::int64_t>(keys.size());
  if (keys.size() != values.size() || (count != 1 && count != attention->batches) || count > 256)
    return refuse(ACLNN_ERR_PARAM_INVALID, std::to_string(count) + " keys and " +
                                               std::to_string(values.size()) + " values for " +
                                               std::to_string(attention->batches) + " batches");
  for (std::size_t i = 0; i < keys.size(); ++i) {
    Shape sizes;
    ASCEND_TWIN_TRY(
        sizes_of(call, roles.key, keys[i], attention->layout, attention->key_heads, &sizes));
    if (keys[i].shape != values[i].shape) return wrong(call, roles.value, "not of the key's shape");
    if (sizes[0] != (count == 1 ? attention->batches : 1) || sizes[3] != attention->width)
      return wrong(call, roles.key, "which does not fit the query");
    const aclDataType type = call.view(roles.query).type;
    if (keys[i].type != type || values[i].type != type)
      return wrong(call, roles.key, "not of the query's type");
    attention->keys = std::max(attention->keys, sizes[2]);
    attention->key_lengths.push_back(sizes[2]);
  }
  attention->key_lengths.resize(static_cast<std::size_t>(attention->batches), attention->keys);
  return ACL_SUCCESS;
}

/// Lengths given by the host: one for all batches, or one for each.
Status read_lengths(const Call& call, std::size_t position, std::vector<std::int64_t>* lengths) {
  if (!is_there(call, position)) return ACL_SUCCESS;
  const std::vector<std::int64_t>& given = call.integers(position);
  if (given.size() != 1 && given.size() < lengths->size())
    return refuse(ACLNN_ERR_PARAM_INVALID, std::to_string(given.size()) + " lengths for " +
                                               std::to_string(lengths->size()) + " batches");
  for (std::size_t i = 0; i < lengths->size(); ++i) {
    const std::int64_t length = given.size() == 1 ? given[0] : given[i];
    if (length < 0 || length > (*lengths)[i])
      return refuse(ACLNN_ERR_PARAM_INVALID, "a length of " + std::to_string(length) + " of " +
                                                 std::to_string((*lengths)[i]));
    (*lengths)[i] = length;
  }
  return ACL_SUCCESS;
}

bool fits(std::int64_t size, std::int64_t needed) {
  return size >= needed && size <= (needed + kPadding - 1) / kPadding * kPadding;
}

Status check_mask(const Call& call, const AttentionRoles& roles, const Attention& attention) {
  if (!is_there(call, roles.mask)) {
    if (attention.sparse < 2) return ACL_SUCCESS;
    return refuse(ACLNN_ERR_PARAM_NULLPTR,
                  "no mask for sparse mode " + std::to_string(attention.sparse));
  }
  ASCEND_TWIN_TRY(need_type(call, roles.mask, {ACL_BOOL, ACL_INT8, ACL_UINT8}));
  ASCEND_TWIN_TRY(need_rank(call, roles.mask, 2, 4));
  Shape shape = call.view(roles.mask).shape;
  if (attention.sparse >= 2 && attention.queries > 1) {
    const bool is_compressed = elements_of(shape) == kMaskSize * kMaskSize &&
                               shape.back() == kMaskSize && shape[shape.size() - 2] == kMaskSize;
    return is_compressed ? ACL_SUCCESS : wrong(call, roles.mask, "not [2048, 2048]");
  }
  // (B, keys) of one query is (B, 1, keys).
  if (shape.size() == 2 && attention.queries == 1) shape.insert(shape.begin() + 1, 1);
  const bool has_batches = shape.size() > 2;
  if ((has_batches && shape[0] != 1 && shape[0] != attention.batches) ||
      (shape.size() == 4 && shape[1] != 1) || !fits(shape[shape.size() - 2], attention.queries) ||
      !fits(shape.back(), attention.keys))
    return wrong(call, roles.mask,
                 "not for " + std::to_string(attention.queries) + " queries of " +
                     std::to_string(attention.keys) + " keys");
  return ACL_SUCCESS;
}

Status check_bias(const Call& call, const AttentionRoles& roles, const Attention& attention) {
  if (!is_there(call, roles.bias)) return ACL_SUCCESS;
  ASCEND_TWIN_TRY(need_same_type(call, roles.query, roles.bias));
  ASCEND_TWIN_TRY(need_rank(call, roles.bias, 4, 4));
  const Shape& shape = call.view(roles.bias).shape;
  if ((shape[0] != 1 && shape[0] != attention.batches) || shape[1] != attention.heads ||
      shape[2] != attention.queries || !fits(shape[3], attention.keys))
    return wrong(call, roles.bias, "not of the shape of the scores");
  return ACL_SUCCESS;
}

Status check_sums(const Call& call, const AttentionRoles& roles, const Attention& attention) {
  if (is_there(call, roles.sink)) {
    ASCEND_TWIN_TRY(need_same_type(call, roles.query, roles.sink));
    ASCEND_TWIN_TRY(need_shape(call, roles.sink, {attention.heads}));
  }
  if (roles.lse_flag == kAbsent || call.integer(roles.lse_flag) == 0) return ACL_SUCCESS;
  if (!call.has(roles.lse)) return refuse(ACLNN_ERR_PARAM_NULLPTR, "no place for the logarithms");
  ASCEND_TWIN_TRY(need_type(call, roles.lse, {ACL_FLOAT}));
  return need_shape(call, roles.lse, {attention.batches, attention.heads, attention.queries, 1});
}

/// Documented as contiguous only.
Status check_contiguous(const Call& call, const AttentionRoles& roles) {
  for (const std::size_t position : {roles.query, roles.key, roles.value, roles.bias, roles.mask}) {
    if (!is_there(call, position)) continue;
    for (const View& view : call.at(position).views) {
      if (view.is_contiguous()) continue;
      ASCEND_TWIN_TRY(
          object(ACLNN_ERR_PARAM_INVALID, call.describe(position) + ", which is not contiguous"));
    }
  }
  return ACL_SUCCESS;
}

}  // namespace

View heads_view(const View& view, HeadLayout layout, std::int64_t heads) {
  if (layout == HeadLayout::kBnsd) return view;
  View result = view;
  const std::int64_t* const size = view.shape.data();
  const std::int64_t* const stride = view.strides.data();
  if (layout == HeadLayout::kBsh) {
    const std::int64_t width = size[2] / heads;
    result.shape = {size[0], heads, size[1], width};
    result.strides = {stride[0], width * stride[2], stride[1], stride[2]};
  } else {
    result.shape = {size[0], size[2], size[1], size[3]};
    result.strides = {stride[0], stride[2], stride[1], stride[3]};
  }
  return result;
}

Status attention_of(const Call& call, const AttentionRoles& roles, Attention* attention) {
  ASCEND_TWIN_TRY(read_layout(call, roles.layout, attention));
  ASCEND_TWIN_TRY(check_heads(call, roles, attention));
  ASCEND_TWIN_TRY(check_query(call, roles, attention));
  ASCEND_TWIN_TRY(check_keys(call, roles, attention));
  attention->query_lengths.assign(static_cast<std::size_t>(attention->batches), attention->queries);
  if (attention->queries > 1)
    ASCEND_TWIN_TRY(read_lengths(call, roles.query_lengths, &attention->query_lengths));
  ASCEND_TWIN_TRY(read_lengths(call, roles.key_lengths, &attention->key_lengths));
  if (roles.sparse != kAbsent) attention->sparse = call.integer(roles.sparse);
  if (roles.before != kAbsent) attention->before = call.integer(roles.before);
  if (roles.after != kAbsent) attention->after = call.integer(roles.after);
  const std::int64_t precise = call.integer(roles.precise);
  if (attention->sparse < 0 || attention->sparse > 4 || precise < 0 || precise > 3) {
    return refuse(ACLNN_ERR_PARAM_INVALID, "sparse mode " + std::to_string(attention->sparse) +
                                               ", innerPrecise " + std::to_string(precise));
  }
  attention->rounds_scores = (precise & 1) != 0 && call.view(roles.query).type == ACL_FLOAT16;
  attention->corrects_hidden = (precise & 2) != 0;
  ASCEND_TWIN_TRY(check_mask(call, roles, *attention));
  ASCEND_TWIN_TRY(check_bias(call, roles, *attention));
  return check_sums(call, roles, *attention);
}

Status check_attention(const Call& call, const AttentionRoles& roles, Attention* attention) {
  ASCEND_TWIN_TRY(attention_of(call, roles, attention));
  return check_contiguous(call, roles);
}

std::uint64_t attention_workspace(const Attention& attention) {
  const std::int64_t cores = profile()->cube_cores;
  const std::int64_t tasks = std::max<std::int64_t>(attention.batches * attention.key_heads, 1);
  const std::int64_t parts = attention.queries == 1 && attention.keys >= 512
                                 ? std::max<std::int64_t>(cores / tasks, 1)
                                 : 0;
  return static_cast<std::uint64_t>(unknown("attention workspace") + parts * attention.batches *
                                                                         attention.heads *
                                                                         (attention.width + 2) * 4);
}

}  // namespace ascend_twin
