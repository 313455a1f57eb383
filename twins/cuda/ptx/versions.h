// The newest PTX version that a driver's compiler reads, by the driver's CUDA version.
#pragma once

#include <array>

#include "cuda/ptx/types.h"

namespace cuda_twin::ptx {

struct DriverVersion {
  int driver;  ///< as cuDriverGetVersion: 12050 is CUDA 12.5
  Version newest;
};
inline constexpr std::array<DriverVersion, 25> kDriverVersions{{
    {9000, {6, 0}},  {9010, {6, 1}},  {9020, {6, 2}},  {10000, {6, 3}}, {10010, {6, 4}},
    {10020, {6, 5}}, {11000, {7, 0}}, {11010, {7, 1}}, {11020, {7, 2}}, {11030, {7, 3}},
    {11040, {7, 4}}, {11050, {7, 5}}, {11060, {7, 6}}, {11070, {7, 7}}, {11080, {7, 8}},
    {12000, {8, 0}}, {12010, {8, 1}}, {12020, {8, 2}}, {12030, {8, 3}}, {12040, {8, 4}},
    {12050, {8, 5}}, {12070, {8, 6}}, {12080, {8, 7}}, {12090, {8, 8}}, {13000, {9, 0}},
}};

/// {0, 0} for a driver older than all of the table.
constexpr Version newest_version(int driver) {
  Version newest{};
  for (const DriverVersion& row : kDriverVersions) {
    if (row.driver <= driver) newest = row.newest;
  }
  return newest;
}

}  // namespace cuda_twin::ptx
