// Encoders that search a codebook. The lists of neighbours, which the host makes once, are made in
// scratch by the launch before.
#include <vector>

#include "backends/cuda/gpu/encode.h"

#pragma clang force_cuda_host_device begin
#include "tensor/formats/codebook_vectors.h"
#include "tensor/formats/iq3_s.cpp"
#include "tensor/formats/iq3_xxs.cpp"
#pragma clang force_cuda_host_device end

using namespace shunt::cuda::gpu;
namespace formats = shunt::formats;

namespace {

/// A search as the encoders call it.
template <const auto& Vectors>
struct TableSearch {
  static constexpr std::size_t kSize = Vectors.kSize;
  const CodebookTable& table;

  __attribute__((device)) std::size_t nearest(const float* x, const float* w) const {
    const std::size_t key = Vectors.key_of(x);
    return Vectors.nearest_of(table.lists[key], table.counts[key], x, w);
  }
  __attribute__((device)) const std::array<float, kSize>& vector(std::size_t i) const {
    return Vectors.vector(i);
  }
};

constexpr formats::CodebookVectors kVectorsS(formats::kIq3SVectors, formats::kIq3SLevels);
constexpr formats::CodebookVectors kVectorsXxs(formats::kIq3XxsVectors, formats::kIq3XxsLevels);

/// A key a thread.
template <const auto& Vectors>
DEVICE void list_neighbours(const CopyArgs& p) {
  static_assert(Vectors.kKeys == kCodebookKeys && formats::kNeighbours == kCodebookNeighbours);
  if (is_stopped(*p.common.run)) return;
  CodebookTable& table = *p.table;
  for (i64 key = block() * threads() + thread(); key < kCodebookKeys; key += blocks() * threads()) {
    std::array<u16, Vectors.kCount> distances;
    for (std::size_t v = 0; v < Vectors.kCount; ++v)
      distances[v] = (u16)Vectors.steps_apart((std::size_t)key, v);
    table.counts[key] = (u8)formats::list_nearest<Vectors.kLevels, Vectors.kSize>(
        distances, kCodebookNeighbours, table.lists[key]);
  }
}

/// The formats as encode() takes them.
struct Iq3S {
  static constexpr int kElements = formats::IQ3_S::kElements;
  DEVICE void encode(const CopyArgs& p, const float* values, std::byte* block) {
    const auto ones = formats::equal_weights<kElements>();
    const TableSearch<kVectorsS> search = {*p.table};
    formats::encode_iq3_s(search, formats::finite_values<formats::IQ3_S>(values).data(),
                          ones.data(), block);
  }
};
struct Iq3Xxs {
  static constexpr int kElements = formats::IQ3_XXS::kElements;
  DEVICE void encode(const CopyArgs& p, const float* values, std::byte* block) {
    const auto ones = formats::equal_weights<kElements>();
    const TableSearch<kVectorsXxs> search = {*p.table};
    formats::encode_iq3_xxs(search, formats::finite_values<formats::IQ3_XXS>(values).data(),
                            ones.data(), block);
  }
};

}  // namespace

KERNEL void list_IQ3_S(CopyArgs p) {
  list_neighbours<kVectorsS>(p);
}
KERNEL void list_IQ3_XXS(CopyArgs p) {
  list_neighbours<kVectorsXxs>(p);
}
KERNEL void encode_IQ3_S(CopyArgs p) {
  encode_blocks<Iq3S>(p);
}
KERNEL void encode_IQ3_XXS(CopyArgs p) {
  encode_blocks<Iq3Xxs>(p);
}
