#!/bin/sh
# Compiles the kernels of this folder to the PTX files beside them. clang++-19 is the compiler they were made with; it needs no CUDA
# toolkit. The version of the PTX and the target are the lowest that have all instructions used here.
set -eu
cd "$(dirname "$0")"
for source in *.cu; do
  "${CLANG:-clang++-19}" -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-path=/nonexistent --cuda-gpu-arch=sm_80 \
    --cuda-feature=+ptx70 -ffp-contract=off -O3 -std=c++20 -Wall -Wextra -S "$source" -o - |
    sed -e '/^\/\/ *$/d' -e '/^$/d' -e '/^ *\/\//d' -e 's/ *\/\/.*$//' > "${source%.cu}.ptx"
done
