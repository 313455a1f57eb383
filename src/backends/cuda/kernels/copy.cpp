// Ops that write a source into memory that is there, converted to its type.
#include "backends/cuda/kernels/copy.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "backend_support/kernel_rows.h"
#include "backends/cuda/gpu/plain_types.h"
#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/move_plan.h"
#include "shunt/ops/data.h"
#include "shunt/ops/rows.h"

namespace shunt::cuda {

namespace {

/// The file that has a format's encoder.
struct EncoderRow {
  DType type;
  std::string_view module;
  bool has_lists = false;  ///< of neighbours in a codebook, made by a launch before
};
constexpr std::array kEncoders = {
    EncoderRow{DType::kQ4_0, "encode_plain"},       EncoderRow{DType::kQ4_1, "encode_plain"},
    EncoderRow{DType::kQ5_0, "encode_plain"},       EncoderRow{DType::kQ5_1, "encode_plain"},
    EncoderRow{DType::kQ8_0, "encode_plain"},       EncoderRow{DType::kTQ1_0, "encode_plain"},
    EncoderRow{DType::kTQ2_0, "encode_plain"},      EncoderRow{DType::kMXFP4, "encode_mxfp4"},
    EncoderRow{DType::kQ2_K, "encode_q2_k"},        EncoderRow{DType::kQ3_K, "encode_q3_k"},
    EncoderRow{DType::kQ4_K, "encode_q4_k"},        EncoderRow{DType::kQ5_K, "encode_q5_k"},
    EncoderRow{DType::kQ6_K, "encode_q6_k"},        EncoderRow{DType::kIQ4_NL, "encode_iq4"},
    EncoderRow{DType::kIQ4_XS, "encode_iq4"},       EncoderRow{DType::kIQ3_S, "encode_iq3", true},
    EncoderRow{DType::kIQ3_XXS, "encode_iq3", true}};

/// Null if there is none.
const EncoderRow* encoder_of(DType type) {
  const auto* row = std::ranges::find(kEncoders, type, &EncoderRow::type);
  return row == kEncoders.end() ? nullptr : row;
}

gpu::PlainType plain_type_of(DType type) {
  switch (type) {
    case DType::kF16:
      return gpu::kPlainF16;
    case DType::kBF16:
      return gpu::kPlainBF16;
    case DType::kF64:
      return gpu::kPlainF64;
    case DType::kI8:
      return gpu::kPlainI8;
    case DType::kI16:
      return gpu::kPlainI16;
    case DType::kI32:
      return gpu::kPlainI32;
    case DType::kI64:
      return gpu::kPlainI64;
    default:
      return gpu::kPlainF32;
  }
}

/// F32 elements of x's shape, one after the other.
gpu::TensorArg packed_f32(gpu::TensorArg x, gpu::Pointer<gpu::u8> data) {
  x.data = data;
  gpu::i64 stride = sizeof(float);
  for (std::size_t d = 0; d < kMaxDims; ++d) {
    x.strides[d] = stride;
    stride *= x.sizes[d].fixed;
  }
  return x;
}

void whole_destination(const BoundNode&, gpu::Destination&) {}
void window_destination(const BoundNode& node, gpu::Destination& to) {
  const Sizes& start = node.view().params<SetParams>().start;
  for (std::size_t d = 0; d < kMaxDims; ++d) to.start[d].fixed = start[d];
  to.start[0] = in_units(to.start[0], node.view().result().dtype);
}
void rows_destination(const BoundNode& node, gpu::Destination& to) {
  to.ids = node.ids(2);
}

/// The sources are (dst, x, ...).
struct CopyRow {
  const Op& (*op)();
  void (*destination)(const BoundNode& node, gpu::Destination& to);
};
constexpr std::array kCopyRows = {CopyRow{cpy_op, whole_destination},
                                  CopyRow{set_op, window_destination},
                                  CopyRow{set_rows_op, rows_destination}};

class Copy final : public CudaKernel {
 public:
  explicit Copy(const CopyRow& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }
  std::string_view module() const override { return "copy"; }
  Support supports(const NodeView& node, const CudaTarget&) const override {
    const Types types(node);
    if (types.same) return Support::yes();
    if (!types.y_blocks || encoder_of(types.y) != nullptr) return Support::yes();
    return Support::no(Refusal::kType, "no CUDA kernel encodes " + std::string(to_string(types.y)));
  }
  std::vector<std::string> modules(const NodeView& node) const override {
    const Types types(node);
    if (types.same) return {"move"};
    std::vector<std::string> modules;
    if (types.x_blocks || !types.y_blocks) modules.emplace_back(module());
    if (types.y_blocks) modules.emplace_back(encoder_of(types.y)->module);
    return modules;
  }
  std::size_t scratch(const NodeView& node, const CudaTarget&) const override {
    const Types types(node);
    if (types.same || !types.x_blocks || !types.y_blocks) return 0;
    return static_cast<std::size_t>(element_count(node.source(1).shape)) * sizeof(float);
  }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const Types types(node.view());
    gpu::MoveArgs moved = move_args(node, 1);
    row_.destination(node, moved.to);
    if (types.same) {
      LaunchPlan launch = move_plan(moved, types.y);
      launch.module = "move";
      return {launch};
    }
    gpu::CopyArgs args = {.common = moved.common,
                          .x = node.source(1),
                          .to = moved.to,
                          .x_type = plain_type_of(types.x),
                          .y_type = plain_type_of(types.y)};
    const std::int64_t elements = element_count(node.view().source(1).shape);
    if (!types.x_blocks && !types.y_blocks) return {launch_of("convert", elements, args)};
    if (!types.y_blocks) return {decode(types.x, elements, args)};
    std::vector<LaunchPlan> launches;
    if (encoder_of(types.y)->has_lists) launches.push_back(list_neighbours(types.y, args));
    if (types.x_blocks) {
      gpu::CopyArgs first = args;
      first.to = {};
      first.to.y = packed_f32(args.x, node.scratch());
      launches.push_back(decode(types.x, elements, first));
      args.x = first.to.y;
    }
    launches.push_back(encode(types.y, elements, args));
    return launches;
  }

 private:
  struct Types {
    explicit Types(const NodeView& node)
        : x(node.source(1).dtype),
          y(node.source(0).dtype),
          x_blocks(trait(x).quantized),
          y_blocks(trait(y).quantized),
          same(x == y) {}
    DType x, y;
    bool x_blocks, y_blocks;
    bool same;
  };

  static LaunchPlan launch_of(std::string kernel, std::int64_t items, const gpu::CopyArgs& args) {
    return {.kernel = std::move(kernel),
            .items = items,
            .per_block = 256,
            .parameters = bytes_of(args)};
  }
  static LaunchPlan decode(DType type, std::int64_t elements, const gpu::CopyArgs& args) {
    return launch_of("decode_" + type_suffix({type}), elements / gpu::kGroup, args);
  }
  static LaunchPlan list_neighbours(DType type, const gpu::CopyArgs& args) {
    LaunchPlan launch = launch_of("list_" + type_suffix({type}), gpu::kCodebookKeys, args);
    launch.module = encoder_of(type)->module;
    return launch;
  }
  static LaunchPlan encode(DType type, std::int64_t elements, const gpu::CopyArgs& args) {
    // Blocks of few threads: encoders are long, and have many values each.
    constexpr unsigned kThreads = 32;
    LaunchPlan launch =
        launch_of("encode_" + type_suffix({type}), elements / trait(type).block_elements, args);
    launch.module = encoder_of(type)->module;
    launch.per_block = kThreads;
    launch.threads = kThreads;
    return launch;
  }

  const CopyRow& row_;
};

}  // namespace

KernelList copy_kernels() {
  static const KernelRows<Copy, CudaKernel> kernels(kCopyRows);
  return kernels.list();
}

}  // namespace shunt::cuda
