# Sourced by ./dev: ci [--times] [--strict] [--full]. Runs the steps in order and stops at the first failure.

# The tests that ThreadSanitizer runs: everything whose name says that threads are its subject. The preset tsan compiles only test files
# that have such tests (SHUNT_TESTS_NAMED).
thread_tests='*Thread*:*Concurren*:*Pool*:*Cancel*'

. tools/big-endian.sh

# The failed tests of the step that failed, if it was a step of tests.
failed_list=${root:-.}/build/failed-tests

step_names=()
left_out=()
step_seconds=()
step_cpu=()

# CPU seconds, user and system, of all child processes that have ended.
cpu_seconds() { awk -v ticks="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print int(($14 + $15) / ticks) }' "/proc/$$/stat"; }

# step NAME COMMAND...
step() {
  local name=$1 start=$SECONDS cpu status
  cpu=$(cpu_seconds)
  shift
  printf '\n=== %s\n' "$name"
  set +e
  (
    set -e
    "$@"
  )
  status=$?
  set -e
  step_names+=("$name")
  step_seconds+=($((SECONDS - start)))
  step_cpu+=($(($(cpu_seconds) - cpu)))
  if ((status)); then
    finish
    # Last, since a reader often sees only the end of the output.
    [[ ! -s $failed_list ]] || cat "$failed_list"
    fail "ci FAILED in step \"$name\""
  fi
}

# in_time SECONDS NAME: whether ci may start these steps, which a machine that has run for longer leaves out: its guard would end it before
# the last of them. --full leaves nothing out.
in_time() {
  [[ ! ${full:-} ]] && ((SECONDS - ci_started > $1)) || return 0
  left_out+=("$2")
  say "left out, as this machine is too slow: $2"
  return 1
}

finish() {
  local i total=0 cpu=0
  printf '\n'
  printf '%8s %8s\n' 'wall (s)' 'CPU (s)'
  for i in "${!step_names[@]}"; do
    total=$((total + step_seconds[i]))
    cpu=$((cpu + step_cpu[i]))
    printf '%8d %8d  %s\n' "${step_seconds[i]}" "${step_cpu[i]}" "${step_names[i]}"
  done
  printf '%8d %8d  total (%d cores)\n' "$total" "$cpu" "$(nproc)"
  total_cpu=$cpu
}

# commit_under_test: the hash of the commit that is checked out, and "dirty" after it if a tracked file was changed. Nothing outside a
# repository.
commit_under_test() {
  local git=(git -c safe.directory="${root:-.}") changes=""
  "${git[@]}" rev-parse HEAD >/dev/null 2>&1 || return 0
  [[ ! $("${git[@]}" status --porcelain --untracked-files=no -- . ":!bench/history.*") ]] || changes=" dirty"
  echo "$("${git[@]}" rev-parse HEAD)$changes"
}

# write_times FILE COMMIT: the table of all steps for `./dev record`, one "WALL CPU NAME" a line, below the commit.
write_times() {
  local i
  echo "commit $2"
  for i in "${!step_names[@]}"; do echo "${step_seconds[i]} ${step_cpu[i]} ${step_names[i]}"; done
} >"$1"

# check_budget CPU_SECONDS BUDGET [ENFORCE]: compares the CPU time of all steps with a budget in minutes on two cores, twice as many CPU
# minutes. Above it there is a warning; above 1.3 times the budget it fails, if ENFORCE is not empty.
check_budget() {
  local cpu=$1 allowed=$(($2 * 60 * 2))
  ((cpu > allowed)) || return 0
  say "ci took $cpu CPU seconds; the budget in .ci/budget allows $allowed"
  [[ ! ${3:-} ]] || ((cpu * 10 <= allowed * 13)) || fail "ci exceeds 1.3 times its budget"
}

# test_report FOLDER: from the results in a folder, how many tests ran and the names of those that were skipped. Fails if none ran.
test_report() {
  awk '
    function attribute(name) {
      if (!match($0, " " name "=\"[^\"]*\"")) return ""
      return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4)
    }
    /<testcase / && attribute("status") == "run" {
      if (attribute("result") == "skipped") {
        skipped++
        names = names "\n  skipped: " attribute("classname") "." attribute("name")
      } else {
        ran++
      }
    }
    END {
      printf "shunt: %d tests ran, %d skipped%s\n", ran, skipped, names
      if (!ran) { print "shunt: no test ran"; exit 1 }
    }' "$1"/*.xml
}

# failed_tests FOLDER: from the results in a folder, the names of the tests that failed, each with the start of its first message.
failed_tests() {
  cat "$1"/*.xml /dev/null | awk '
    function attribute(name) {
      if (!match($0, " " name "=\"[^\"]*\"")) return ""
      return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4)
    }
    /<testcase / { test = attribute("classname") "." attribute("name") }
    /<failure / && test {
      message = substr(attribute("message"), 1, 1500)
      gsub(/&#x0A;/, "\n    ", message); gsub(/&lt;/, "<", message); gsub(/&gt;/, ">", message); gsub(/&quot;/, "\"", message)
      print "  failed: " test "\n    " message
      test = ""
    }'
}

# check_skips PRESET LIST: reads a report and fails if a test was skipped that the list does not allow. A line of the list has presets
# with commas between them, or "*"; a pattern of test names; and the reason.
check_skips() {
  local preset=$1 list=$2 line name presets pattern reason allowed unexpected=()
  while IFS= read -r line; do
    [[ $line == '  skipped: '* ]] || continue
    name=${line#'  skipped: '}
    allowed=""
    while read -r presets pattern reason; do
      [[ $presets && $presets != '#'* ]] || continue
      [[ $reason ]] || fail "$list: \"$presets $pattern\" gives no reason"
      if [[ ($presets == '*' || ,$presets, == *",$preset,"*) && $name == $pattern ]]; then allowed=yes; fi
    done <"$list"
    [[ $allowed ]] || unexpected+=("$name")
  done
  ((${#unexpected[@]} == 0)) || fail "skipped in $preset, and not allowed by $list: ${unexpected[*]}"
}

# launcher_of PRESET: words to start its programs with, one a line. GCC 12's ThreadSanitizer cannot start where addresses are randomised
# over more than 28 bits.
launcher_of() {
  if [[ $1 == tsan ]] && setarch -R true 2>/dev/null; then printf '%s\n' setarch -R; fi
}

# test_step PRESET [CTEST ARGS...]: runs the tests of a build, then reports them. With $strict, a skipped test must be allowed.
test_step() {
  local preset=$1 launcher report
  mapfile -t launcher < <(launcher_of "$preset")
  shift
  local results=$root/build/$preset/test-results
  rm -rf "$results"
  # Ten calls say where memory was allocated; to note thirty, the default, takes a seventh of the time of what allocates much.
  ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:malloc_context_size=10 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1:allocator_may_return_null=1 \
    GTEST_OUTPUT="xml:$results/" \
    "${launcher[@]}" ctest --test-dir "build/$preset" --verbose --no-tests=error "$@" || {
    failed_tests "$results" >"$failed_list"
    return 1
  }
  report=$(test_report "$results") || fail "$report"
  echo "$report"
  [[ ! ${strict:-} ]] || check_skips "$preset" .ci/allowed-skips <<<"$report"
}

build_step() {
  local preset=$1
  shift
  ready "$preset" "$@"
}

# twin_suites [SUFFIX]: the tests of twins, one a line: zdnn_twin for tests/twins/zdnn. As targets they have the suffix _tests.
twin_suites() {
  local folder
  for folder in tests/twins/*/; do echo "$(basename "$folder")_twin${1:-}"; done
}
# big_endian_twin_suites [SUFFIX]: the same without the twins that big-endian hosts do not have.
big_endian_twin_suites() {
  local folder name
  for folder in tests/twins/*/; do
    name=$(basename "$folder")
    [[ -f twins/$name/little-endian.txt ]] || ! of_processor "$name" s390x || echo "${name}_twin${1:-}"
  done
}
# of_processor TWIN PROCESSOR: whether hosts of this kind have the twin, by the last line of its processors.txt.
of_processor() {
  local list=twins/$1/processors.txt
  [[ ! -f $list || $2 =~ ^($(tail -n 1 "$list"))$ ]]
}
# suites_regex NAMES...: what ctest -R takes to run these and no others. NAME_1 is a part of the suite NAME.
suites_regex() {
  local IFS='|'
  echo "^($*)(_[0-9]+)?$"
}

tsan_build_step() {
  local kind sources targets=()
  for kind in unit backends conformance end_to_end; do
    sources=(tests/"$kind"/*.cpp tests/"$kind"/*/*.cpp)
    ((${#sources[@]} == 0)) || targets+=("${kind}_tests")
  done
  mapfile -t -O "${#targets[@]}" targets < <(twin_suites _tests)
  ready tsan -- "${targets[@]}"
}
# list_tests PRESET FILTER KINDS...: the tests of a build that a filter selects, one "EXECUTABLE SUITE.TEST" a line, sorted: unity builds
# group files differently in each preset, so the executables list their suites in different orders.
list_tests() {
  local preset=$1 filter=$2 launcher kind
  shift 2
  mapfile -t launcher < <(launcher_of "$preset")
  if [[ $preset == s390x ]]; then launcher=(qemu-s390x -L build/sysroot-s390x); fi
  for kind in "$@"; do
    "${launcher[@]}" "build/$preset/bin/${kind}_tests" --gtest_list_tests "--gtest_filter=$filter" | full_test_names "$kind"
  done | LC_ALL=C sort
}
# full_test_names EXECUTABLE: turns GoogleTest's list on standard input into one "EXECUTABLE SUITE.TEST" a line.
full_test_names() { awk -v kind="$1" '{ sub(/ *#.*/, "") } /^Running main/ { next } /^ / { print kind, suite $1; next } { suite = $1 }'; }
# same_tests FILE FILE: fails, and prints the difference, unless both files list the same.
same_tests() { diff "$1" "$2" || fail "tests are missing in a build that compiles some test files only: see the lines above"; }

tsan_test_step() {
  local lists=$root/build/tsan
  local kinds
  mapfile -t kinds < <(printf '%s\n' unit backends conformance end_to_end && twin_suites)
  list_tests release "$thread_tests" "${kinds[@]}" >"$lists/tests-of-release"
  list_tests tsan "$thread_tests" "${kinds[@]}" >"$lists/tests-of-tsan"
  same_tests "$lists/tests-of-release" "$lists/tests-of-tsan"
  GTEST_FILTER=$thread_tests test_step tsan --parallel "$(nproc)" -R "$(suites_regex "${kinds[@]}")"
}

# choose_part: sets $part on a slow machine, which would not run everything within the time that its guard allows: one that has needed more
# than 20 minutes until now. It is 0 to 3, by the commit's hash: over many commits each part runs. Empty: everything is run.
choose_part() {
  local hash
  part=""
  if [[ ${full:-} ]] || ((SECONDS - ci_started <= 1200)); then return; fi
  hash=$(git -c safe.directory="$root" rev-parse HEAD 2>/dev/null) || hash=0
  part=$((0x${hash:0:4} % 4))
  say "this machine is slow: it runs part $part of the tests with sanitizers and of those on s390x"
}
# The suites that a part has, one a line. Those of the sanitizer builds are all suites; of end_to_end two processes of four.
asan_suites() {
  case $1 in
    0 | 2) printf '%s\n' backends conformance && twin_suites ;;
    *) printf '%s\n' unit oracle architectures reproducers end_to_end ;;
  esac
}
big_endian_suites() {
  case $1 in
    0 | 2) echo backends ;;
    1 | 3) printf '%s\n' unit end_to_end ;;
    *) printf '%s\n' unit backends end_to_end ;;
  esac
}
# asan_regex PART: what ctest -R takes to run the suites of a part.
asan_regex() {
  local suites
  mapfile -t suites < <(asan_suites "$1")
  case $1 in
    1) suites_regex "${suites[@]/end_to_end/end_to_end_[13]}" ;;
    3) suites_regex "${suites[@]/end_to_end/end_to_end_[24]}" ;;
    *) suites_regex "${suites[@]}" ;;
  esac
}

asan_build_step() {
  local suites=()
  [[ ! $part ]] || mapfile -t suites < <(asan_suites "$part")
  ready asan -- "${suites[@]/%/_tests}"
}
asan_test_step() {
  local filter=()
  [[ ! $part ]] || filter=(-R "$(asan_regex "$part")")
  test_step asan --parallel "$(nproc)" "${filter[@]}"
}

layout_step() {
  [[ ! $part ]] || set -- --quick
  tools/prove-layout "$@"
}

# An installed and moved Shunt runs its default model, checks a device, exports only what it may, and serves find_package(shunt) of
# another project and of a backend outside the tree.
# A subshell, so that its trap runs while the variable is there (a function's own are gone when a shell around it ends).
install_step() (
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  cmake --install build/release --prefix "$scratch/installed" >/dev/null
  mv "$scratch/installed" "$scratch/another place"
  shunt="$scratch/another place/bin/shunt"
  "$shunt" run --temp 0 -n 8 </dev/null
  "$shunt" check-ops --device cpu0 --op add
  cp -r examples "$scratch/examples"
  consume "$scratch/examples"
  example() { "$scratch/examples/build/example_$1" "${@:2}"; }
  example check_device cpu0 add
  example graph | expect_lines 7.99732 1.76159
  example custom_op | expect_lines -1 1 -1
  example two_devices | expect_lines -2
  example generate >"$scratch/story"
  (($(wc -w <"$scratch/story") >= 10)) || fail "the example wrote \"$(cat "$scratch/story")\""
  cp -r examples/backend "$scratch/backend"
  # Every installed header can be included where the target of backends is linked.
  (cd "$scratch/another place/include" && find shunt -name '*.h') | sed 's/.*/#include <&>/' >"$scratch/backend/headers.cpp"
  echo 'add_library(headers OBJECT headers.cpp)
target_compile_features(headers PRIVATE cxx_std_20)
target_link_libraries(headers PRIVATE shunt::backend)' >>"$scratch/backend/CMakeLists.txt"
  consume "$scratch/backend"
  SHUNT_BACKEND_PATH=$scratch/backend/build "$shunt" check-ops --device sample0 --op add --op sqr | tee "$scratch/checked"
  grep -q '^sample0: 2 ops, .* cases: [1-9][0-9]* passed, 0 failed' "$scratch/checked"
  # Plugins are found beside the library, too.
  cp "$scratch/backend/build/shunt-backend-sample.so" "$scratch/another place/lib/shunt"
  "$shunt" check-ops --device sample0 --op add >/dev/null
  tools/check-exports "$scratch/another place"
)
# expect_lines LINES...: fails unless standard input ends with these lines.
expect_lines() {
  local ends
  ends=$(tail -n $#) && [[ $ends == "$(printf '%s\n' "$@")" ]] || fail "an example printed \"$ends\" instead of \"$*\""
}
# consume FOLDER: builds a project of its own in FOLDER/build. It finds the Shunt of install_step.
consume() {
  if ! { cmake -S "$1" -B "$1/build" -G Ninja "-DCMAKE_PREFIX_PATH=$scratch/another place" && cmake --build "$1/build"; } >"$1.log" 2>&1; then
    cat "$1.log" >&2
    return 1
  fi
}

# Each allocation of the engine fails once.
allocations_step() {
  build/release/bin/end_to_end_tests --gtest_also_run_disabled_tests --gtest_filter='DISABLED_Each/*' | tee build/each-allocation
  grep -q '^\[       OK \]' build/each-allocation || fail "no allocation failed"
}

# Every case of every operation on every profile of the twin, in three orders of its work. Only "custom" may be left to the CPU. Then the
# tests that take long.
cuda_step() {
  local profile seed
  build/release/bin/backends_tests --gtest_also_run_disabled_tests --gtest_filter='CudaDecode.DISABLED_*' | tee build/cuda-long
  grep -q '^\[       OK \]' build/cuda-long || fail "no long test of CUDA ran"
  # The tests of the conformance suite that are not cases of an operation.
  for seed in 1 2 3; do
    CUDA_TWIN_ORDER=$seed build/release/bin/conformance_tests --gtest_filter='*cuda*:*Cuda*-Cuda/*'
  done
  for profile in p40 t4 a100 rtx4090 orin h200 b200; do
    for seed in 1 2 3; do
      CUDA_TWIN_PROFILE=$profile CUDA_TWIN_ORDER=$seed build/release/bin/shunt check-ops --device cuda0 \
        --library cuda=build/release/twins/cuda/libcuda.so.1 >build/cuda-ops
      echo "$profile, seed $seed: $(tail -n 1 build/cuda-ops)"
      awk '$1 != "custom" && $2 ~ /^[0-9]+$/ && $5 ~ /^[0-9]+$/ && $5 > 0' build/cuda-ops | tee build/cuda-unsupported
      [[ ! -s build/cuda-unsupported ]] || fail "cuda0 does not compute all operations"
    done
  done
}

# Every case of every operation on every profile of the twin of CANN, in three orders of its work, with both layouts of the libraries;
# before them the tests that take long.
cann_step() {
  local profile order layout=ascend
  build/release/bin/backends_tests --gtest_also_run_disabled_tests --gtest_filter='CannDecode.DISABLED_*' | tee build/cann-long
  grep -q '^\[       OK \]' build/cann-long || fail "no long test of CANN ran"
  for profile in 910b 310p 310b; do
    for order in eager lazy 3; do
      ASCEND_TWIN_PROFILE=$profile ASCEND_TWIN_ORDER=$order ASCEND_TWIN_STRICT=abort build/release/bin/shunt check-ops --device cann0 \
        --library cann=build/release/twins/$layout --set "cann.matmul=$([[ $profile == 910b ]] && echo f32 || echo f16)" >build/cann-ops
      echo "$profile, $order, $layout: $(tail -n 1 build/cann-ops)"
      [[ $layout == ascend ]] && layout=ascend-9.0 || layout=ascend
    done
  done
}

twin_step() {
  use_compiler_cache "${TMPDIR:-/tmp}"
  tools/prove-twin --flags cmake/compiler.cmake "$@"
}

foreign_build_step() {
  local architecture=$1
  need run test
  need_foreign "$architecture"
  ready "$architecture" SHUNT_TESTS=ON "${all_test_files[@]}" --
}

big_endian_build_step() {
  local options suites
  mapfile -t options < <(big_endian_options)
  mapfile -t suites < <(big_endian_suites "$part")
  need run test
  need_foreign s390x
  # shellcheck disable=SC2046 # a list of words
  ready s390x SHUNT_TESTS=ON "${options[@]}" -- "${suites[@]/%/_tests}" $(big_endian_twin_suites _tests)
}

big_endian_test_step() {
  local filter preset twins suite suites
  mapfile -t twins < <(big_endian_twin_suites)
  mapfile -t suites < <(big_endian_suites "$part")
  filter=$(big_endian_filter)
  for preset in release s390x; do
    # Suites only: names of tests depend on the architecture. What is added is of unit tests, whose suites may have the names of others.
    for suite in "${suites[@]}"; do
      if [[ $suite == unit ]]; then list_tests $preset "$filter" unit; else list_tests $preset "$big_endian_tests" "$suite"; fi
    done >"$root/build/$preset/listed-tests"
    list_tests $preset '*' "${twins[@]}" >>"$root/build/$preset/listed-tests"
    cut -d. -f1 "$root/build/$preset/listed-tests" | uniq >"$root/build/$preset/suites"
  done
  same_tests "$root/build/release/suites" "$root/build/s390x/suites"
  test_step s390x -R "$(suites_regex "${twins[@]}")"
  GTEST_FILTER=$filter test_step s390x --parallel "$(nproc)" -R "$(suites_regex "${suites[@]}")"
}

lint_step() {
  check_leftovers
  check_new_commits
  check_architectures
  list_long_files
}

ci() {
  local argument
  enforce="" strict="" full="" part=""
  for argument in "$@"; do
    case $argument in
      --times) enforce=yes ;;
      --strict) strict=yes ;;
      --full) full=yes ;;
      *) fail "ci knows --times, --strict and --full, not \"$argument\"" ;;
    esac
  done

  local times=${root:-.}/build/ci-times commit ci_started=$SECONDS
  commit=$(commit_under_test)
  rm -f "$failed_list" "$times"
  step "packages" need run test browser bench format clang tidy docs cache python
  step "format" check_format
  step "edges" tools/check-edges .
  step "edges: every rule is noticed" tools/check-edges-test
  step "classes" tools/check-classes .
  step "classes: every rule is noticed" tools/check-classes-test
  step "docs" tools/check-docs .
  step "docs: every rule is noticed" tools/check-docs-test
  step "reference pages" tools/make-docs .
  step "reference pages: mistakes are noticed" tools/make-docs-test
  step "prose" tools/check-prose .
  step "prose: every rule is noticed" tools/check-prose-test
  step "tidy: changed files" tools/check-tidy .
  step "tidy: rules are noticed" tools/check-tidy-test
  step "commits: every rule is noticed" tools/check-commits-test
  step "ci: its functions" tools/ci-test
  step "record: malformed lines are refused" tools/record-test
  step "exports: every rule is noticed" tools/exports-test
  step "lint" lint_step
  step "corpus" tools/corpus/corpus-test
  step "release: build" build_step release SHUNT_TESTS=ON SHUNT_BENCH=ON --
  # No test passes or fails by its time, so executables may run side by side.
  step "release: tests" test_step release --parallel "$(nproc)"
  step "PTX: its faults are noticed" tools/check-ptx-test
  step "PTX: assembled, where the CUDA toolkit is" tools/check-ptx build/release 75 80
  step "installed, and moved" install_step
  step "prove-twin: its faults are noticed" tools/prove-twin-test
  for argument in $(tools/prove-twin --list); do step "the twin $argument alone" twin_step "$argument"; done
  step "default model" tools/check-default-model build/release/bin/shunt
  choose_part
  step "asan and ubsan: build" asan_build_step
  step "asan and ubsan: tests" asan_test_step
  step "tsan: build" tsan_build_step
  step "tsan: tests of threads" tsan_test_step
  # The times leave 1700, 900 and 500 s of 90 minutes.
  if in_time 3700 "big-endian"; then
    step "big-endian: build" big_endian_build_step
    step "big-endian: tests" big_endian_test_step
  fi
  if in_time 4500 "layout"; then step "layout" layout_step ${full:+--full}; fi
  # --full fuzzes for long, so one optimized library serves both.
  if in_time 4900 "fuzz"; then step "fuzz: 10 s each" fuzz 10 "$([[ $full ]] && echo -O1 || echo -O0)"; fi
  if [[ $full ]]; then
    step "the twins alone, with their own flags" tools/prove-twin
    step "each allocation fails" allocations_step
    step "CUDA: all profiles, three orders" cuda_step
    step "CANN: all profiles, three orders" cann_step
    step "PTX: assembled for all targets" tools/check-ptx build/release
    step "tidy: all files" tools/check-tidy --all .
    step "clang: build" build_step clang --
    step "clang: tests" test_step clang
    step "s390x: build" foreign_build_step s390x
    step "s390x: tests" test_step s390x
    step "fuzz: 10 min each" fuzz 600
    step "aarch64: build" foreign_build_step aarch64
    step "aarch64: tests" test_step aarch64
    # What takes long and is worth it now and then goes here, a step a line.
  fi
  finish
  [[ ! $commit ]] || write_times "$times" "$commit"
  # --full runs more steps than the budget covers.
  [[ $full ]] || check_budget "$total_cpu" "$(<.ci/budget)" "$enforce"
  echo "shunt: ci passed${left_out[*]:+, without ${left_out[*]}}"
}
