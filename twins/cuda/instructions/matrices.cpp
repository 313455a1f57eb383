// ldmatrix, stmatrix, movmatrix: 8 x 8 matrices of 16-bit elements. Lane 8m + r has the address of
// row r of matrix m; lane 4g + t holds elements 2t and 2t + 1 of row g.
#include <bit>
#include <cstring>

#include "cuda/instructions/lanes.h"
#include "cuda/instructions/matrices.h"
#include "cuda/machine/block.h"
#include "cuda/memory/access.h"
#include "cuda/races/races.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

constexpr unsigned kRowBytes = 16;
constexpr unsigned kMatrixRows = 8;
constexpr unsigned kRowHalves = 8;

/// Op::extra.
struct MatrixFlags {
  unsigned count = 1;
  bool transposed = false;
  bool generic = false;
  std::uint32_t pack() const {
    return count | (transposed ? 1u << 8 : 0u) | (generic ? 1u << 9 : 0u);
  }
  static MatrixFlags of(const Op& op) {
    return {op.extra & 0xFF, (op.extra >> 8 & 1) != 0, (op.extra >> 9 & 1) != 0};
  }
};

/// The rows of up to four matrices.
struct Rows {
  alignas(64) std::uint16_t halves[kLanes][kRowHalves];
};

bool arrive(Warp& warp, LaneMask active) {
  if (active != kAllLanes && !gather_aligned(warp, active)) return false;
  if (warp.block->shared_races != nullptr) races::on_warp_sync(warp, active);
  return true;
}

std::uint64_t row_address(Warp& warp, const Op& op, const Arg& base, unsigned lane) {
  const auto offset = static_cast<std::uint64_t>(op.immediate);
  if (base.bank == Bank::kNone) return offset;
  if (base.bytes == 8) return lanes_of<std::uint64_t>(warp, base)[lane] + offset;
  return lanes_of<std::uint32_t>(warp, base)[lane] + offset;
}

/// True, and the rows read, if no row needs a message or a race check.
bool read_rows_at_once(Warp& warp, const std::uint64_t* addresses, unsigned count, Rows* rows) {
  const Block& block = *warp.block;
  if (block.shared_races != nullptr) return false;
  const std::uint64_t end = block.shared.size() & ~std::uint64_t{kRowBytes - 1};
  std::uint64_t outside = 0;
  for (unsigned i = 0; i < count; ++i) {
    outside |= static_cast<std::uint64_t>(addresses[i] >= end) | (addresses[i] % kRowBytes);
  }
  if (outside != 0) return false;
  if (block.launch->checks.initialised && !block.shared_written.empty()) {
    for (unsigned i = 0; i < count; ++i) {
      const std::uint64_t word = block.shared_written[addresses[i] / 64];
      outside |= ~(word >> (addresses[i] % 64)) & 0xFFFF;
    }
    if (outside != 0) return false;
  }
  for (unsigned i = 0; i < count; ++i) {
    std::memcpy(rows->halves[i], block.shared.data() + addresses[i], kRowBytes);
  }
  return true;
}

/// False if the kernel ends. Lanes that are not there give no row.
bool read_rows(Warp& warp, const Op& op, LaneMask active, Rows* rows) {
  const MatrixFlags flags = MatrixFlags::of(op);
  const unsigned count = kMatrixRows * flags.count;
  std::uint64_t addresses[kLanes];
  for (unsigned i = 0; i < count; ++i) addresses[i] = row_address(warp, op, op.args[0], i);
  if (flags.generic) {
    for (unsigned i = 0; i < count; ++i) addresses[i] -= kSharedWindow;
  }
  if (active == kAllLanes && read_rows_at_once(warp, addresses, count, rows)) return true;
  std::memset(rows, 0xFF, sizeof *rows);
  for (unsigned i = 0; i < count; ++i) {
    if ((active >> i & 1) == 0) continue;
    Spot spot;
    if (!locate_and_check(warp, i, ptx::Space::kShared, addresses[i], kRowBytes, kRead, spot)) {
      return false;
    }
    std::memcpy(rows->halves[i], spot.data, kRowBytes);
  }
  return true;
}

/// Register `m` of a lane, from the rows of matrix m.
std::uint32_t pair_of(const Rows& rows, unsigned m, unsigned lane, bool transposed) {
  const auto* matrix = rows.halves + std::size_t{kMatrixRows} * m;
  const unsigned g = lane / 4;
  const unsigned t = lane % 4;
  if (!transposed) {
    return static_cast<std::uint32_t>(matrix[g][2 * t + 1]) << 16 | matrix[g][2 * t];
  }
  return static_cast<std::uint32_t>(matrix[2 * t + 1][g]) << 16 | matrix[2 * t][g];
}

void set_pairs(const Rows& rows, unsigned m, bool transposed, std::uint32_t* to, LaneMask active) {
  if (!transposed && active == kAllLanes && std::endian::native == std::endian::little) {
    std::memcpy(to, rows.halves[std::size_t{kMatrixRows} * m], kLanes * sizeof *to);
    return;
  }
  each_lane(to, active, [&](unsigned lane) { return pair_of(rows, m, lane, transposed); });
}

/// The inverse of pair_of() for all lanes.
void set_rows(const std::uint32_t* pairs, unsigned m, bool transposed, Rows* rows) {
  auto* matrix = rows->halves + std::size_t{kMatrixRows} * m;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned g = lane / 4;
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned j = 2 * (lane % 4) + i;
      (transposed ? matrix[j][g] : matrix[g][j]) =
          static_cast<std::uint16_t>(pairs[lane] >> (16 * i));
    }
  }
}

Next load_matrices(Warp& warp, const Op& op, LaneMask active) {
  if (!arrive(warp, active)) return Next::kSwitch;
  const MatrixFlags flags = MatrixFlags::of(op);
  Rows rows;
  if (!read_rows(warp, op, active, &rows)) return Next::kSwitch;
  for (unsigned m = 0; m < flags.count; ++m) {
    set_pairs(rows, m, flags.transposed, lanes_of<std::uint32_t>(warp, op.more[m]), active);
  }
  return Next::kOn;
}

Next store_matrices(Warp& warp, const Op& op, LaneMask active) {
  if (!arrive(warp, active)) return Next::kSwitch;
  const MatrixFlags flags = MatrixFlags::of(op);
  Rows rows;
  for (unsigned m = 0; m < flags.count; ++m) {
    set_rows(lanes_of<std::uint32_t>(warp, op.more[m]), m, flags.transposed, &rows);
  }
  for (unsigned i = 0; i < kMatrixRows * flags.count; ++i) {
    if ((active >> i & 1) == 0) continue;
    std::uint64_t address = row_address(warp, op, op.args[0], i);
    if (flags.generic) address -= kSharedWindow;
    Spot spot;
    if (!locate_and_check(warp, i, ptx::Space::kShared, address, kRowBytes, kWrite, spot)) {
      return Next::kSwitch;
    }
    std::memcpy(spot.data, rows.halves[i], kRowBytes);
  }
  return Next::kOn;
}

Next transpose_matrix(Warp& warp, const Op& op, LaneMask active) {
  if (!arrive(warp, active)) return Next::kSwitch;
  Rows rows;
  set_rows(lanes_of<std::uint32_t>(warp, op.args[1]), 0, false, &rows);
  set_pairs(rows, 0, true, lanes_of<std::uint32_t>(warp, op.args[0]), active);
  return Next::kOn;
}

/// .sync.aligned.m8n8.NUM{.trans}{.shared}.b16
bool take_matrix_flags(Binder& binder, MatrixFlags* to) {
  if (!binder.take("sync") || !binder.take("aligned") || !binder.take("m8n8")) {
    return binder.fail("expected .sync.aligned.m8n8");
  }
  const auto number = binder.take_one_of({"x1", "x2", "x4"});
  if (!number) return binder.fail("expected .x1, .x2 or .x4");
  to->count = 1u << *number;
  to->transposed = binder.take("trans");
  if (binder.take("shared::cta")) {
    if (!binder.need({7, 8}, 0)) return false;
  } else {
    to->generic = !binder.take("shared");
  }
  return binder.take("b16") || binder.fail("expected .b16");
}

bool bind_transfer(Binder& binder, bool is_load) {
  MatrixFlags flags;
  if (!take_matrix_flags(binder, &flags) || !binder.expect_operands(2, 2)) return false;
  const ptx::Space space = flags.generic ? ptx::Space::kGeneric : ptx::Space::kShared;
  const auto address = binder.address(is_load ? 1 : 0, space);
  const auto items = binder.vector(is_load ? 0 : 1, flags.count);
  if (!address || !items) return false;
  if (address->space == ptx::Space::kShared) flags.generic = false;
  Arg args[4];
  for (unsigned m = 0; m < flags.count; ++m) {
    args[m] = is_load ? binder.destination((*items)[m], ptx::Type::kB32)
                      : binder.source((*items)[m], ptx::Type::kB32);
  }
  if (binder.failed()) return false;
  Op& op = binder.emit(is_load ? load_matrices : store_matrices, OpKind::kTensor, {address->base});
  op.immediate = address->offset;
  op.extra = flags.pack();
  binder.more(op, {args, flags.count});
  return binder.finish();
}

}  // namespace

bool bind_ldmatrix(Binder& binder) {
  return bind_transfer(binder, true);
}
bool bind_stmatrix(Binder& binder) {
  return bind_transfer(binder, false);
}

bool bind_movmatrix(Binder& binder) {
  for (const char* modifier : {"sync", "aligned", "m8n8", "trans", "b16"}) {
    if (!binder.take(modifier)) return binder.fail("expected .sync.aligned.m8n8.trans.b16");
  }
  if (!binder.expect_operands(2, 2)) return false;
  const Arg to = binder.destination(0, ptx::Type::kB32);
  const Arg from = binder.source(1, ptx::Type::kB32);
  if (binder.failed()) return false;
  binder.emit(transpose_matrix, OpKind::kTensor, {to, from});
  return binder.finish();
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
