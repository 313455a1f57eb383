// How far results of the recorder may be apart where PTX leaves them open.
#pragma once

#include <cstdint>
#include <string>

namespace cuda_twin_record {

/// |a - b| <= absolute + relative |b|. Zeros: equal bits.
struct Tolerance {
  double relative = 0, absolute = 0;
};

/// Of an instruction, by its code: approximate ones, and sums of matrices in f32 and f16.
Tolerance tolerance_of(const std::string& code);

/// For each element of a result, whose type is as in Row::out.
bool are_within(const Tolerance& tolerance, const std::string& type, std::uint64_t a,
                std::uint64_t b);

}  // namespace cuda_twin_record
