// Tiles of scores, and of values, made of the products of a `Product`: of F32, or of pairs of BF16.
// Included by attention.cpp for each of them, and thus without a guard.
//   `kElements`: the number of neighbours in one float, or in its bits.
//   `add(sum, factor, vector)`: sum + factor * vector, of which all may be such neighbours.
//   `round(weights)`: kKeyBlock weights become factors, in their place.

/// sums[r] = sums[r] + the sum over `terms` of factors[r][j] * vectors[j], for R rows and N
/// vectors. (Those are no array, which g++ would keep in memory.)
template <int R, int N>
HWY_INLINE void add_products(V (&sums)[R][N], std::size_t terms, const float* vectors,
                             std::size_t vector_stride, const float* factors,
                             std::size_t factor_stride) {
  const D d;
  for (std::size_t j = 0; j < terms; ++j, vectors += vector_stride) {
    const V v0 = hn::LoadU(d, vectors);
    const V v1 = hn::LoadU(d, vectors + (N > 1 ? 1 : 0) * kLanes);
    const V v2 = hn::LoadU(d, vectors + (N > 2 ? 2 : 0) * kLanes);
    const V v3 = hn::LoadU(d, vectors + (N > 3 ? 3 : 0) * kLanes);
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      const V factor = hn::Set(d, factors[static_cast<std::size_t>(r) * factor_stride + j]);
      sums[r][0] = Product::add(sums[r][0], factor, v0);
      if constexpr (N > 1) sums[r][1] = Product::add(sums[r][1], factor, v1);
      if constexpr (N > 2) sums[r][2] = Product::add(sums[r][2], factor, v2);
      if constexpr (N > 3) sums[r][3] = Product::add(sums[r][3], factor, v3);
    }
  }
}

template <int R, int N>
HWY_INLINE void store_sums(const V (&sums)[R][N], float* to, std::size_t stride) {
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(8)
    for (int n = 0; n < N; ++n) {
      hn::StoreU(sums[r][n], D(),
                 to + static_cast<std::size_t>(r) * stride + static_cast<std::size_t>(n) * kLanes);
    }
  }
}

/// scores[r][key] of R rows and N vectors of keys, from a panel.
template <int R, int N>
HWY_NOINLINE void score_tile(const float* panel, std::size_t terms, const float* q,
                             std::size_t q_stride, float* scores) {
  V sums[R][N];
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(8)
    for (int n = 0; n < N; ++n) sums[r][n] = hn::Zero(D());
  }
  add_products(sums, terms, panel, kPanel, q, q_stride);
  store_sums(sums, scores, kKeys);
}

/// sums[r] = values[r] * factors[r].
template <int R, int N>
HWY_INLINE void load_scaled(V (&sums)[R][N], const float* factors, const float* values,
                            std::size_t stride) {
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    const V factor = hn::Set(D(), factors[r]);
    HWY_UNROLL(8)
    for (int n = 0; n < N; ++n) {
      const float* from =
          values + static_cast<std::size_t>(r) * stride + static_cast<std::size_t>(n) * kLanes;
      sums[r][n] = hn::Mul(factor, hn::LoadU(D(), from));
    }
  }
}

/// values[r] = values[r] * factors[r] + the sum over `seen` keys of weight times value, for R rows
/// and N vectors.
template <int R, int N>
HWY_NOINLINE void value_tile(const float* weights, std::size_t seen, const float* v,
                             std::size_t v_stride, const float* factors, float* values,
                             std::size_t stride) {
  V sums[R][N];
  load_scaled(sums, factors, values, stride);
  add_products(sums, (seen + Product::kElements - 1) / Product::kElements, v, v_stride, weights,
               kKeys);
  store_sums(sums, values, stride);
}

/// Keys and values that are packed.
struct Packed {
  template <int R>
  static HWY_INLINE void score(const KeyBlock& block, const QueryRows& rows, std::size_t seen,
                               float* scores) {
    const auto terms = static_cast<std::size_t>(block.d) / Product::kElements;
    const auto q_stride = static_cast<std::size_t>(rows.q_stride);
    for (std::size_t key = 0; key < seen; key += kPanel) {
      const float* panel = block.keys + key * terms;
      float* to = scores + key;
      with_vectors((seen - key + kLanes - 1) / kLanes, [&](auto vectors) HWY_ATTR {
        score_tile<R, vectors()>(panel, terms, rows.q, q_stride, to);
      });
    }
  }

  template <int R, int N>
  static HWY_INLINE void add_values(const KeyBlock& block, std::size_t i, std::size_t seen,
                                    const float* weights, const float* factors, float* values,
                                    std::size_t stride) {
    value_tile<R, N>(weights, seen, block.values + i, static_cast<std::size_t>(block.value_stride),
                     factors, values, stride);
  }
};

template <int R, class Source>
void attend_rows(const KeyBlock& block, const QueryRows& rows, std::size_t seen) {
  HWY_ALIGN float scores[static_cast<std::size_t>(R) * kKeys];
  HWY_ALIGN float factors[kFactors];
  // The gathered sums of rows are needed last.
  constexpr std::size_t kLine = 64 / sizeof(float);
  const auto stride = static_cast<std::size_t>(rows.gathered_stride);
  for (std::size_t i = 0; i < R * stride; i += kLine) __builtin_prefetch(rows.gathered + i);
  Source::template score<R>(block, rows, seen, scores);
  weigh(rows, seen, static_cast<std::size_t>(block.dv), scores, factors);
  for (std::size_t r = 0; r < R; ++r) Product::round(scores + r * kKeys);
  // Tiles of about the same width.
  const std::size_t all = static_cast<std::size_t>(block.dv) / kLanes;
  const std::size_t tiles = (all + kWide - 1) / kWide;
  for (std::size_t t = 0; t < tiles; ++t) {
    const std::size_t begin = all * t / tiles;
    const std::size_t i = begin * kLanes;
    with_vectors(all * (t + 1) / tiles - begin, [&](auto vectors) HWY_ATTR {
      Source::template add_values<R, vectors()>(block, i, seen, scores, factors, rows.gathered + i,
                                                stride);
    });
  }
}

template <class Source>
void attend(const KeyBlock& block, const QueryRows& rows, std::size_t seen) {
  using AttendRows = void (*)(const KeyBlock&, const QueryRows&, std::size_t);
  static constexpr AttendRows kByCount[] = {attend_rows<1, Source>, attend_rows<2, Source>,
                                            attend_rows<3, Source>, attend_rows<4, Source>,
                                            attend_rows<5, Source>, attend_rows<6, Source>};
  static_assert(sizeof kByCount / sizeof kByCount[0] == kTileRows);
  kByCount[rows.count - 1](block, rows, seen);
}
