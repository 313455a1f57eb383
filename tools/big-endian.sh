# Sourced by tools/ci.sh: which tests s390x runs under its emulator. --full runs all of them.

# Run each time: files of either order, the formats, the text and the logits of x86-64, zDNN, whose machine that is, and OpenBLAS, which has
# vector code for it.
big_endian_tests='Gguf*:MappedFile.*:WeightsOfAFile.*:DType.*:ByteOrder.*:Recorded*:F16.*:BF16.*:Zdnn*:DefaultModel.A*:EngineLogits*:RunGreedy.*:EngineByteOrder*:BlasProducts.*:BlasCases.*/openblas:BlasModel.*/stories260K_on_openblas'
# All cases of all ops on each of zDNN's machines take 2.5 to 4 minutes each, under the emulator. Texts of megabytes take long, too, and
# are bytes in any order.
big_endian_excluded='ZdnnMachine.*:*Promptly*'

# What a change adds: files of tests/unit, by the start of their paths below it. The first row whose path starts a changed path counts;
# "all" is every file, "-" none, "users" those that include the header of that name. A path without a row counts as "all". A row with
# starts counts only for files that may handle bytes or characters: the order of bytes and the sign of char matter to no others.
big_endian_rows='
  tests/unit/          itself
  tests/support/       users
  tests/CMakeLists.txt -
  tests/tsan-suppressions.txt -
  cmake/s390x.cmake    all
  cmake/foreign.cmake  all
  cmake/compiler.cmake all
  cmake/               -
  dev                  -
  src/base/            base/
  src/tensor/          tensor/
  src/graph/           graph/ ops/gradients_ schedule/ memory/planner_
  src/ops/             ops/ graph/
  src/conformance/     conformance/ ops/
  src/memory/          memory/ schedule/
  src/device/          device/ schedule/ memory/planner_
  src/backend_support/ backend_support/
  src/schedule/        schedule/ memory/planner_
  src/gguf/            gguf/
  src/text/            text/ engine/vocabulary_from_gguf_
  src/model/           model/ engine/
  src/engine/          engine/
  src/convert/         convert/
  src/train/           train/ ops/gradients_
  src/api/             api/
  src/evaluate/        engine/activation_sums_ engine/split_
  src/backends/        -
  src/cli/             -
  include/shunt/engine.h engine/ api/
  include/shunt/bench_model.h -
  include/shunt/importance.h engine/activation_sums_ engine/split_
  include/shunt/perplexity.h -
  include/shunt/synth.h model/
  include/shunt/verify_model.h engine/split_
  tests/architectures/ -
  tests/backends/      -
  tests/conformance/   -
  tests/end_to_end/    -
  tests/oracle/        -
  tests/twins/         -
  tests/reproducers/   -
  twins/               -
  docs/                -
  examples/            -
  bench/               -
  fuzz/                -
  models/              -
  tools/               -
  .ci/                 -
  README.md            -
  CHANGELOG.md         -
  SECURITY.md          -
  CONTRIBUTING.md      -
'

bytes='memcpy|bit_cast|reinterpret_cast|byteswap|endian|byte_order|std::byte|\<char\>([^*]|$)'

# may_handle_bytes PATH: whether a file has such words, is no more, or is in a folder that is all about them.
may_handle_bytes() { [[ ! -f $1 || $1 =~ ^src/(gguf|tensor|text)/ ]] || grep -qE "$bytes" "$1"; }

# suites_of FILES...: a gtest filter of the suites that these test files define.
suites_of() {
  sed -nE 's/^(TYPED_)?TEST(_F|_P)?\(([A-Za-z0-9_]+),.*/\3.*:*\/\3.*/p' "$@" | sort -u | paste -sd:
}

# unit_files [START]: the files of tests/unit, or those whose paths below it have this start, one a line.
unit_files() { find tests/unit -path "tests/unit/${1:-}*.cpp" | LC_ALL=C sort; }

# users_of PATH: the files of tests/unit that include the header of a file of tests/support, also by way of other headers there, one a
# line. All of them if there is no such header.
users_of() {
  local header=${1%.*}.h found names=() name
  [[ -f $header ]] || { unit_files && return; }
  found=("$header")
  while ((${#found[@]} > ${#names[@]})); do
    names=("${found[@]}")
    mapfile -t found < <({
      printf '%s\n' "${names[@]}"
      for name in "${names[@]}"; do grep -lF "#include \"${name#tests/}\"" tests/support/*.h || true; done
    } | LC_ALL=C sort -u)
  done
  for name in "${names[@]}"; do grep -rlF --include='*.cpp' "#include \"${name#tests/}\"" tests/unit || true; done
}

# files_for PATH: the files of tests/unit that a changed path adds, one a line.
files_for() {
  local prefix starts="" found=all start
  while read -r prefix starts; do
    if [[ $prefix && $1 == "$prefix"* ]]; then
      found=$starts
      break
    fi
  done <<<"$big_endian_rows"
  # A header of tests/unit belongs to several files.
  if [[ $found == itself && $1 != *_test.cpp ]]; then found=all; fi
  case $found in
    -) ;;
    all) unit_files ;;
    users) users_of "$1" ;;
    itself) [[ ! -f $1 ]] || echo "$1" ;;
    *) ! may_handle_bytes "$1" || for start in $found; do unit_files "$start"; done ;;
  esac
}

# unit_files_for: reads changed paths, one a line, and prints the files of tests/unit to add, one a line.
unit_files_for() {
  local path
  while IFS= read -r path; do [[ ! $path ]] || files_for "$path"; done | sort -u
}

# big_endian_base: the commit that changes are counted from: the last tag, or the commit in .ci/big-endian-base if there is no tag.
# All unit tests have passed on s390x at either. Fails where HEAD has neither among its ancestors, as in a shallow clone.
big_endian_base() {
  local git=(git -c safe.directory="$PWD") base
  if "${git[@]}" describe --tags --abbrev=0 2>/dev/null; then return; fi
  base=$(cat .ci/big-endian-base 2>/dev/null) || return 1
  "${git[@]}" merge-base --is-ancestor "$base" HEAD 2>/dev/null || return 1
  echo "$base"
}

# changed_since_base: paths that differ from that commit, one a line.
changed_since_base() {
  local base
  base=$(big_endian_base) || return 1
  git -c safe.directory="$PWD" diff --name-only --no-renames "$base" -- || return 1
  git -c safe.directory="$PWD" ls-files --others --exclude-standard
}

# big_endian_files: the files of tests/unit whose tests are added, one a line: all where it is unknown what has changed.
big_endian_files() {
  local paths
  if paths=$(changed_since_base); then
    unit_files_for <<<"$paths"
  else
    unit_files
  fi
}

# big_endian_filter: the gtest filter of the big-endian step.
big_endian_filter() {
  local files added=""
  mapfile -t files < <(big_endian_files)
  ((${#files[@]} == 0)) || added=$(suites_of "${files[@]}")
  echo "$big_endian_tests${added:+:$added}:-$big_endian_excluded"
}

# big_endian_options: CMake options that compile only the test files with tests of that filter, and those of twins, one a line.
big_endian_options() {
  local files
  mapfile -t files < <(big_endian_files && printf '%s\n' tests/twins/*/*.cpp)
  echo "SHUNT_TESTS_NAMED=$(sed -E 's/[.*][^:]*//g; s/:/|/g' <<<"$big_endian_tests")"
  (IFS=';' && echo "SHUNT_TESTS_ALSO=${files[*]}")
}
