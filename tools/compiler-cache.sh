# Sourced by ./dev and tools/prove-layout.

# use_compiler_cache FOLDER: builds that are configured from then on use a compiler cache, if there is one. It serves all checkouts of
# this machine: paths below FOLDER count relative to the build directory. Debug information may name the folder of another checkout.
use_compiler_cache() {
  command -v ccache >/dev/null || return 0
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$1 CCACHE_NOHASHDIR=1 CCACHE_COMPILERCHECK=content
}
