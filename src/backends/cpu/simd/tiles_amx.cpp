#include "backends/cpu/simd/amx_tiles.h"
#include "backends/cpu/simd/tile_product-inl.h"

namespace shunt::cpu::simd {

#if defined(__x86_64__)

// The configuration is the thread's: nothing of it is in an object.
TileUnit::TileUnit() {
  AmxTiles::configure();
}
TileUnit::~TileUnit() {
  AmxTiles::release();
}

void TileUnit::multiply(const TileRows& w, const TileColumns& x, std::int64_t tiles, float* y,
                        std::int64_t y_stride, bool add) const {
  AmxTiles registers;
  multiply_groups(registers, w, x, tiles, y, y_stride, add);
}

#else

TileUnit::TileUnit() = default;
TileUnit::~TileUnit() = default;
void TileUnit::multiply(const TileRows&, const TileColumns&, std::int64_t, float*, std::int64_t,
                        bool) const {}

#endif

}  // namespace shunt::cpu::simd
