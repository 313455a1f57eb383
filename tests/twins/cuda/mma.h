// One mma instruction on matrices of doubles: fragments are made here as the figures of the PTX
// document have them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "support.h"

namespace twin_test {

/// A form of mma.sync. `place` functions: row and column of element i of lane 4 g + t, as in the
/// document's tables.
struct MmaForm {
  using Place = std::function<std::pair<int, int>(int i, int g, int t)>;
  std::string name;    ///< ".m16n8k16.row.col.f32.f16.f16.f32"
  std::string suffix;  ///< after the types: ".xor.popc"
  int m = 16, k = 0;
  int a_elements = 0, b_elements = 0, d_elements = 0;  ///< of a lane
  int bits = 16;                                       ///< of an element of A and B
  int d_bits = 32;
  Place a, b, d;
};

using Bits = std::vector<std::uint64_t>;

/// Fragments of all lanes, packed: word r of lane l at [r * 32 + l]. Words have 32 bits, or 64
/// where elements do.
template <class ElementAt>
Bits pack(int elements, int bits, const MmaForm::Place& place, ElementAt element_at) {
  const int per_word = bits >= 32 ? 1 : 32 / bits;
  Bits words(static_cast<std::size_t>(elements / per_word) * 32);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < elements; ++i) {
      const auto [row, column] = place(i, lane / 4, lane % 4);
      words[static_cast<std::size_t>(i / per_word * 32 + lane)] |= element_at(row, column)
                                                                   << (i % per_word * bits);
    }
  }
  return words;
}

inline std::string register_list(const std::string& prefix, std::size_t count) {
  std::string list = "{";
  for (std::size_t i = 0; i < count; ++i) list += (i > 0 ? ", " : "") + prefix + std::to_string(i);
  return list + "}";
}

/// Loads the fragments, executes `code` (with %a, %b, %c and %d registers), stores those of D.
inline std::string mma_text(const MmaForm& form, std::size_t a, std::size_t b, std::size_t d) {
  const bool wide = form.bits == 64;
  const std::string in = wide ? ".b64" : ".b32", out = form.d_bits == 64 ? ".b64" : ".b32";
  const int in_bytes = wide ? 8 : 4, out_bytes = form.d_bits == 64 ? 8 : 4;
  std::string text =
      ".visible .entry multiply(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {\n"
      "  .reg .u32 %lane;\n  .reg .u64 %at;\n  .reg " +
      in + " %a<8>, %b<4>;\n  .reg " + out + " %c<4>, %d<4>;\n  mov.u32 %lane, %laneid;\n";
  const auto transfer = [&](const char* fragment, std::size_t count, int bytes,
                            const std::string& type, bool is_load) {
    text += std::string("  ld.param.u64 %at, [") + fragment + "];\n  mad.wide.u32 %at, %lane, " +
            std::to_string(bytes) + ", %at;\n";
    for (std::size_t i = 0; i < count; ++i) {
      const std::string at =
          "[%at+" + std::to_string(i * 32 * static_cast<std::size_t>(bytes)) + "]";
      const std::string reg = std::string("%") + fragment + std::to_string(i);
      text += is_load ? "  ld.global" + type + " " + reg + ", " + at + ";\n"
                      : "  st.global" + type + " " + at + ", " + reg + ";\n";
    }
  };
  transfer("a", a, in_bytes, in, true);
  transfer("b", b, in_bytes, in, true);
  transfer("c", d, out_bytes, out, true);
  text += "  mma.sync.aligned" + form.name + form.suffix + " " + register_list("%d", d) + ", " +
          register_list("%a", a) + ", " + register_list("%b", b) + ", " + register_list("%c", d) +
          ";\n";
  transfer("d", d, out_bytes, out, false);
  return module(text + "  ret;\n}\n");
}

template <class T>
std::vector<T> narrowed(const Bits& words) {
  return std::vector<T>(words.begin(), words.end());
}
template <class In, class Out>
Bits execute_mma(const MmaForm& form, const Bits& a, const Bits& b, const Bits& c) {
  const Buffer<In> device_a(narrowed<In>(a)), device_b(narrowed<In>(b));
  const Buffer<Out> device_c(narrowed<Out>(c));
  const auto device_d = Buffer<Out>::unwritten(c.size());
  const std::string text = mma_text(form, a.size() / 32, b.size() / 32, c.size() / 32);
  CUdeviceptr at[] = {device_a.address, device_b.address, device_c.address, device_d.address};
  std::string log;
  const CUresult result =
      launch(text, "multiply", Dim(1), Dim(32), {&at[0], &at[1], &at[2], &at[3]}, 0, &log);
  EXPECT_EQ(result, CUDA_SUCCESS) << form.name << ": " << log << cuda_twin_last_fault();
  if (result != CUDA_SUCCESS) return Bits(c.size());
  const std::vector<Out> d = device_d.read();
  return Bits(d.begin(), d.end());
}

/// Bits of D's elements, row by row, for bits of the elements of A (m x k), B (k x 8) and C.
inline Bits multiply(const MmaForm& form, const Bits& a, const Bits& b, const Bits& c) {
  const auto at = [](const Bits& matrix, int columns) {
    return [&matrix, columns](int row, int column) {
      return matrix[static_cast<std::size_t>(row * columns + column)];
    };
  };
  const Bits fa = pack(form.a_elements, form.bits, form.a, at(a, form.k));
  const Bits fb = pack(form.b_elements, form.bits, form.b, at(b, 8));
  const Bits fc = pack(form.d_elements, form.d_bits, form.d, at(c, 8));
  const Bits fd = form.bits == 64 ? execute_mma<std::uint64_t, std::uint64_t>(form, fa, fb, fc)
                                  : execute_mma<std::uint32_t, std::uint32_t>(form, fa, fb, fc);
  const int per_word = form.d_bits >= 32 ? 1 : 32 / form.d_bits;
  Bits d(static_cast<std::size_t>(form.m) * 8);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < form.d_elements; ++i) {
      const auto [row, column] = form.d(i, lane / 4, lane % 4);
      std::uint64_t word = fd[static_cast<std::size_t>(i / per_word * 32 + lane)];
      if (form.d_bits < 64) {
        word = word >> (i % per_word * form.d_bits) & ((std::uint64_t{1} << form.d_bits) - 1);
      }
      d[static_cast<std::size_t>(row * 8 + column)] = word;
    }
  }
  return d;
}

// --- The document's layouts.
inline std::pair<int, int> results_of_16_rows(int i, int g, int t) {
  return {i < 2 ? g : g + 8, t * 2 + (i & 1)};
}
inline std::pair<int, int> results_of_8_rows(int i, int g, int t) {
  return {g, t * 2 + i};
}

inline MmaForm mma_f16_k8(const std::string& types) {
  MmaForm form;
  form.name = ".m16n8k8.row.col" + types;
  form.k = 8;
  form.a_elements = 4;
  form.b_elements = 2;
  form.d_elements = 4;
  form.a = [](int i, int g, int t) { return std::pair(i < 2 ? g : g + 8, t * 2 + (i & 1)); };
  form.b = [](int i, int g, int t) { return std::pair(t * 2 + i, g); };
  form.d = results_of_16_rows;
  return form;
}
inline MmaForm mma_f16_k16(const std::string& types) {
  MmaForm form = mma_f16_k8(types);
  form.name = ".m16n8k16.row.col" + types;
  form.k = 16;
  form.a_elements = 8;
  form.b_elements = 4;
  form.a = [](int i, int g, int t) {
    const bool upper = (0 <= i && i < 2) || (4 <= i && i < 6);
    return std::pair(upper ? g : g + 8, i < 4 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8);
  };
  form.b = [](int i, int g, int t) {
    return std::pair(i < 2 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8, g);
  };
  return form;
}
inline MmaForm mma_tf32_k4() {
  MmaForm form = mma_f16_k8("");
  form.name = ".m16n8k4.row.col.f32.tf32.tf32.f32";
  form.k = 4;
  form.bits = 32;
  form.a_elements = 2;
  form.b_elements = 1;
  form.a = [](int i, int g, int t) { return std::pair(i == 0 ? g : g + 8, t); };
  form.b = [](int, int g, int t) { return std::pair(t, g); };
  return form;
}
inline MmaForm mma_tf32_k8() {
  MmaForm form = mma_tf32_k4();
  form.name = ".m16n8k8.row.col.f32.tf32.tf32.f32";
  form.k = 8;
  form.a_elements = 4;
  form.b_elements = 2;
  form.a = [](int i, int g, int t) {
    return std::pair(i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4);
  };
  form.b = [](int i, int g, int t) { return std::pair(i == 0 ? t : t + 4, g); };
  return form;
}
/// Bytes, or elements of 4 bits: `n` to a register.
inline MmaForm mma_small(const std::string& name, int bits, int m, int k) {
  const int n = 32 / bits;
  MmaForm form;
  form.name = name;
  form.m = m;
  form.k = k;
  form.bits = bits;
  form.a_elements = m * k / 32;
  form.b_elements = 8 * k / 32;
  form.d_elements = m * 8 / 32;
  if (m == 8) {
    form.a = [n](int i, int g, int t) { return std::pair(g, t * n + i); };
  } else if (k == 4 * n) {
    form.a = [n](int i, int g, int t) { return std::pair(i < n ? g : g + 8, t * n + i % n); };
  } else {
    form.a = [n](int i, int g, int t) {
      const bool upper = (0 <= i && i < n) || (2 * n <= i && i < 3 * n);
      return std::pair(upper ? g : g + 8, t * n + i % n + (i < 2 * n ? 0 : 4 * n));
    };
  }
  form.b = [n](int i, int g, int t) { return std::pair(t * n + i % n + (i < n ? 0 : 4 * n), g); };
  form.d = m == 8 ? MmaForm::Place(results_of_8_rows) : MmaForm::Place(results_of_16_rows);
  return form;
}
inline MmaForm mma_f64(int m, int k) {
  MmaForm form;
  form.name = ".m" + std::to_string(m) + "n8k" + std::to_string(k) + ".row.col.f64.f64.f64.f64";
  form.m = m;
  form.k = k;
  form.bits = 64;
  form.d_bits = 64;
  form.a_elements = m * k / 32;
  form.b_elements = k / 4;
  form.d_elements = m * 8 / 32;
  if (m == 8) {
    form.a = [](int, int g, int t) { return std::pair(g, t); };
  } else if (k == 16) {
    form.a = [](int i, int g, int t) {
      return std::pair(i % 2 == 0 ? g : g + 8, i % 2 == 0 ? i * 2 + t : i * 2 - 2 + t);
    };
  } else {
    form.a = [](int i, int g, int t) {
      return std::pair(i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4);
    };
  }
  form.b = [](int i, int g, int t) { return std::pair(t + i * 4, g); };
  form.d = m == 8 ? MmaForm::Place(results_of_8_rows) : MmaForm::Place(results_of_16_rows);
  return form;
}

}  // namespace twin_test
