// ldmatrix, stmatrix, movmatrix: 8 x 8 matrices of 16-bit elements. Lane 8m + r has the address of
// row r of matrix m; lane 4g + t holds elements 2t and 2t + 1 of row g.
#include <bit>
#include <cstring>

#include "cuda/instructions/lanes.h"
#include "cuda/instructions/matrices.h"
#include "cuda/instructions/one_place.h"
#include "cuda/instructions/spots.h"
#include "cuda/machine/block.h"
#include "cuda/races/races.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {
namespace {

constexpr unsigned kRowBytes = 16;
constexpr unsigned kMatrixRows = 8;
constexpr unsigned kRowHalves = 8;

/// The upper bits of Op::extra; the others are those of MemoryExtra.
struct MatrixFlags {
  unsigned count = 1;
  bool transposed = false;
  std::uint32_t packed() const { return count << 24 | (transposed ? 1u << 28 : 0u); }
  static MatrixFlags of(const Op& op) { return {op.extra >> 24 & 7, (op.extra >> 28 & 1) != 0}; }
};

/// The rows of up to four matrices.
struct Rows {
  alignas(64) std::uint16_t halves[kLanes][kRowHalves];
};

bool arrive(Warp& warp, LaneMask active) {
  return active == kAllLanes || gather_aligned(warp, active);
}

/// Accesses of the lanes before this are ordered before those after it. A transfer itself is not
/// ordered after the accesses before it: that takes bar.warp.sync.
Next leave(Warp& warp, LaneMask active) {
  if (warp.block->shared_races != nullptr) races::on_warp_sync(warp, active);
  return Next::kOn;
}

/// Where the rows are, after all checks. False if the kernel ends. Lanes that are not there have no
/// row.
bool find_rows(Warp& warp, const Op& op, LaneMask active, AccessFlags access, LaneMask* lanes,
               Spots* spots) {
  const unsigned count = kMatrixRows * MatrixFlags::of(op).count;
  *lanes = active & (kAllLanes >> (kLanes - count));
  if (*lanes == 0) return true;
  return resolve(warp, op.args[0], op.immediate, MemoryExtra::of(op), access, *lanes, *spots);
}

std::byte* row_of(const Spots& spots, unsigned lane) {
  return spots.count > 0 ? spots.first + std::size_t{kRowBytes} * lane : spots.at[lane];
}

bool read_rows(Warp& warp, const Op& op, LaneMask active, Rows* rows) {
  LaneMask lanes = 0;
  Spots spots;
  if (!find_rows(warp, op, active, kRead, &lanes, &spots)) return false;
  if (active != kAllLanes) std::memset(rows, 0xFF, sizeof *rows);
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    std::memcpy(rows->halves[lane], row_of(spots, lane), kRowBytes);
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
  return leave(warp, active);
}

Next store_matrices(Warp& warp, const Op& op, LaneMask active) {
  if (!arrive(warp, active)) return Next::kSwitch;
  const MatrixFlags flags = MatrixFlags::of(op);
  Rows rows;
  for (unsigned m = 0; m < flags.count; ++m) {
    set_rows(lanes_of<std::uint32_t>(warp, op.more[m]), m, flags.transposed, &rows);
  }
  LaneMask lanes = 0;
  Spots spots;
  if (!find_rows(warp, op, active, kWrite, &lanes, &spots)) return Next::kSwitch;
  const auto same = [&](unsigned a, unsigned b) {
    return std::memcmp(rows.halves[a], rows.halves[b], kRowBytes) == 0;
  };
  if (lanes != 0 && !stores_agree(warp, spots, lanes, same)) return Next::kSwitch;
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    std::memcpy(row_of(spots, lane), rows.halves[lane], kRowBytes);
  }
  return Next::kOn;
}

Next transpose_matrix(Warp& warp, const Op& op, LaneMask active) {
  if (!arrive(warp, active)) return Next::kSwitch;
  Rows rows;
  set_rows(lanes_of<std::uint32_t>(warp, op.args[1]), 0, false, &rows);
  set_pairs(rows, 0, true, lanes_of<std::uint32_t>(warp, op.args[0]), active);
  return leave(warp, active);
}

/// .sync.aligned.m8n8.NUM{.trans}{.shared}.b16
bool take_matrix_flags(Binder& binder, MatrixFlags* to, ptx::Space* space) {
  if (!binder.take("sync") || !binder.take("aligned") || !binder.take("m8n8")) {
    return binder.fail("expected .sync.aligned.m8n8");
  }
  const auto number = binder.take_one_of({"x1", "x2", "x4"});
  if (!number) return binder.fail("expected .x1, .x2 or .x4");
  to->count = 1u << *number;
  to->transposed = binder.take("trans");
  const bool of_block = binder.take("shared::cta");
  if (of_block && !binder.need({7, 8})) return false;
  *space = of_block || binder.take("shared") ? ptx::Space::kShared : ptx::Space::kGeneric;
  return binder.take("b16") || binder.fail("expected .b16");
}

bool bind_transfer(Binder& binder, bool is_load) {
  MatrixFlags flags;
  MemoryExtra extra;
  if (!take_matrix_flags(binder, &flags, &extra.space)) return false;
  if (!binder.expect_operands(2, 2)) return false;
  const auto address = binder.address(is_load ? 1 : 0, extra.space);
  const std::size_t of_registers = is_load ? 0 : 1;
  const auto items = binder.vector(of_registers, flags.count);
  if (!address || !items) return false;
  if (binder.operand(of_registers).kind != ptx::Operand::Kind::kVector) {
    return binder.fail("its registers are a vector: {r}");
  }
  if (address->base.bank == Bank::kNone) extra.space = address->space;
  extra.bytes = kRowBytes;
  Arg args[4];
  for (unsigned m = 0; m < flags.count; ++m) {
    args[m] = is_load ? binder.destination((*items)[m], ptx::Type::kB32)
                      : binder.source((*items)[m], ptx::Type::kB32);
  }
  if (binder.failed()) return false;
  Op& op = binder.emit(is_load ? load_matrices : store_matrices, OpKind::kTensor, {address->base});
  op.immediate = address->offset;
  op.extra = extra.packed() | flags.packed();
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
