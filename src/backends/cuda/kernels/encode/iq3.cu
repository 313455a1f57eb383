// Encoders that search a codebook. Lists of neighbours are made when a format is first encoded, and
// kept in the module's memory, as the host does. Two streams may make them at the same time: they
// write the same.
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

/// The vectors that are compared for a vector of levels.
struct Neighbours {
  u16 indices[formats::kNeighbours];
  u16 count;  ///< 0 until the indices are written
};
ON_DEVICE Neighbours neighbours_s[kCodebookKeys];
ON_DEVICE Neighbours neighbours_xxs[kCodebookKeys];

constexpr formats::CodebookVectors kVectorsS(formats::kIq3SVectors, formats::kIq3SLevels);
constexpr formats::CodebookVectors kVectorsXxs(formats::kIq3XxsVectors, formats::kIq3XxsLevels);

/// A search as the encoders call it.
template <const auto& Vectors>
struct KeptSearch {
  static constexpr std::size_t kSize = Vectors.kSize;
  const Neighbours* lists;

  ON_DEVICE std::size_t nearest(const float* x, const float* w) const {
    const Neighbours& list = lists[Vectors.key_of(x)];
    return Vectors.nearest_of(list.indices, list.count, x, w);
  }
  ON_DEVICE const std::array<float, kSize>& vector(std::size_t i) const {
    return Vectors.vector(i);
  }
};

/// A key a thread. A count that is read as not 0 has its indices before it in memory.
template <const auto& Vectors>
DEVICE void list_neighbours(const CopyArgs& p, Neighbours* lists) {
  static_assert(Vectors.kKeys == kCodebookKeys);
  if (is_stopped(*p.common.run)) return;
  for (i64 key = block() * threads() + thread(); key < kCodebookKeys; key += blocks() * threads()) {
    Neighbours& list = lists[key];
    volatile u16& count = list.count;
    if (count != 0) continue;
    std::array<u16, Vectors.kCount> distances;
    for (std::size_t v = 0; v < Vectors.kCount; ++v)
      distances[v] = (u16)Vectors.steps_apart((std::size_t)key, v);
    const std::size_t listed = formats::list_nearest<Vectors.kLevels, Vectors.kSize>(
        distances, formats::kNeighbours, list.indices);
    fence_system();
    count = (u16)listed;
  }
}

/// The formats as encode_blocks() takes them.
struct Iq3S {
  static constexpr int kElements = formats::IQ3_S::kElements, kBytes = formats::IQ3_S::kBytes;
  DEVICE void encode(const float* values, std::byte* block) {
    formats::encode_iq3_s(KeptSearch<kVectorsS>{neighbours_s},
                          formats::finite_values<formats::IQ3_S>(values).data(),
                          formats::equal_weights<kElements>().data(), block);
  }
};
struct Iq3Xxs {
  static constexpr int kElements = formats::IQ3_XXS::kElements, kBytes = formats::IQ3_XXS::kBytes;
  DEVICE void encode(const float* values, std::byte* block) {
    formats::encode_iq3_xxs(KeptSearch<kVectorsXxs>{neighbours_xxs},
                            formats::finite_values<formats::IQ3_XXS>(values).data(),
                            formats::equal_weights<kElements>().data(), block);
  }
};

}  // namespace

KERNEL void list_IQ3_S(CopyArgs p) {
  list_neighbours<kVectorsS>(p, neighbours_s);
}
KERNEL void list_IQ3_XXS(CopyArgs p) {
  list_neighbours<kVectorsXxs>(p, neighbours_xxs);
}
KERNEL void encode_IQ3_S(CopyArgs p) {
  encode_blocks<Iq3S>(p);
}
KERNEL void encode_IQ3_XXS(CopyArgs p) {
  encode_blocks<Iq3Xxs>(p);
}
