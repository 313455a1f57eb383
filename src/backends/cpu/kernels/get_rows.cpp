#include "backends/cpu/kernels/copy.h"
#include "backends/cpu/kernels/integers.h"
#include "shunt/ops/rows.h"

namespace shunt::cpu {

namespace {

/// Bytes of a piece of a row, of the widest type that may be interleaved.
constexpr std::size_t kPieceBytes = kPiece * sizeof(float);

class GetRows final : public RowKernel {
 public:
  const Op& op() const override { return get_rows_op(); }
  bool reads_interleaved(std::size_t source) const override { return source == 0; }
  std::size_t worker_scratch(const NodeView&, const CpuTarget&) const override {
    return copy_scratch_bytes(kPiece) + kPieceBytes;
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const TensorArg& table = call.sources[0];
    TensorArg plain = table;  // a piece of an interleaved row
    plain.interleaved = false;
    plain.data = scratch + copy_scratch_bytes(kPiece);
    const std::int64_t n = call.result.sizes[0];
    Fault fault = Fault::kNone;
    for_each_row(call.result.sizes, begin, end, [&](const RowIndex& at) {
      const std::int64_t id = integer_at(call.sources[1], at.i1, at.i2, at.i3);
      if (id < 0 || id >= table.sizes[1]) {
        fault = Fault::kIndexOutOfRange;
        return;
      }
      for (std::int64_t first = 0; first < n; first += kPiece) {
        const std::int64_t count = std::min(kPiece, n - first);
        std::byte* const row = table.row(id, at.i2, at.i3);
        if (table.interleaved) {
          separate(table, row, first, count, plain.data);
          copy_run(plain, plain.data, 0, call.result, row_data(call.result, at), first, count,
                   scratch);
        } else {
          copy_piece(table, row, call.result, row_data(call.result, at), first, count, scratch);
        }
      }
    });
    return fault;
  }
};

}  // namespace

KernelList get_rows_kernels() {
  return list_kernels<CpuKernel, GetRows>();
}

}  // namespace shunt::cpu
