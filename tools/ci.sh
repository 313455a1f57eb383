# Sourced by ./dev: ci [--times] [--full]. Each step says what it is; the first that fails ends it all.

# The tests that ThreadSanitizer runs: everything whose name says that threads are its subject.
thread_tests='*Thread*:*Concurren*:*Pool*:*Cancel*'

# What a big-endian machine is asked each time: files of either order, the formats, the text and the logits of x86-64, and zDNN,
# whose machine that is. The rest takes an emulator long: --full.
big_endian_tests='Gguf*:MappedFile.*:WeightsOfAFile.*:DType.*:ByteOrder.*:Recorded*:F16.*:BF16.*:Zdnn*:DefaultModel.A*:EngineLogits*:RunGreedy.*:EngineByteOrder*'
# Not all cases of all ops on each of zDNN's machines: 2.5 to 4 minutes each, under the emulator.
big_endian_tests+=':-ZdnnMachine.*'

step_names=()
step_seconds=()

# step NAME COMMAND...
step() {
  local name=$1 start=$SECONDS status
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
  if ((status)); then
    finish
    fail "ci FAILED in step \"$name\""
  fi
}

finish() {
  local i total=0
  printf '\n'
  for i in "${!step_names[@]}"; do
    total=$((total + step_seconds[i]))
    [[ ! $show_times ]] || printf '%6d s  %s\n' "${step_seconds[i]}" "${step_names[i]}"
  done
  printf '%6d s  in all (%d cores)\n' "$total" "$(nproc)"
}

# test_step PRESET [CTEST ARGS...]: runs the tests of a build, then says how many there were and names those that were skipped.
test_step() {
  local preset=$1 launcher=()
  shift
  local results=$root/build/$preset/test-results
  rm -rf "$results"
  # GCC 12's ThreadSanitizer cannot start where addresses are randomised over more than 28 bits.
  if [[ $preset == tsan ]] && setarch -R true 2>/dev/null; then launcher=(setarch -R); fi
  # Ten calls say where memory was allocated; to note thirty, the default, takes a seventh of the time of what allocates much.
  ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:malloc_context_size=10 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1:allocator_may_return_null=1 \
    GTEST_OUTPUT="xml:$results/" \
    "${launcher[@]}" ctest --test-dir "build/$preset" --verbose --no-tests=error "$@"
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
    }' "$results"/*.xml
}

build_step() {
  local preset=$1
  shift
  ready "$preset" "$@"
}

tsan_build_step() {
  local kind sources targets=()
  for kind in unit backends conformance end_to_end; do
    sources=(tests/"$kind"/*.cpp tests/"$kind"/*/*.cpp)
    ((${#sources[@]} == 0)) || targets+=("${kind}_tests")
  done
  targets+=(zdnn_twin_tests)
  ready tsan -- "${targets[@]}"
}
tsan_test_step() { GTEST_FILTER=$thread_tests test_step tsan -R '^(unit|backends|conformance|end_to_end|zdnn_twin)$'; }

layout_step() {
  use_compiler_cache "${TMPDIR:-/tmp}"  # where its scratch folders lie
  tools/prove-layout
}

# What is installed works where it is moved to, with the model that comes along.
# A subshell, so that its trap runs while the variable is there (a function's own are gone when a shell around it ends).
install_step() (
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  cmake --install build/release --prefix "$scratch/installed" >/dev/null
  mv "$scratch/installed" "$scratch/another place"
  "$scratch/another place/bin/shunt" run --temp 0 -n 8 </dev/null
)

twin_step() {
  use_compiler_cache "${TMPDIR:-/tmp}"
  tools/prove-twin
}

foreign_build_step() {
  local architecture=$1
  shift
  need run test
  need_foreign "$architecture"
  ready "$architecture" SHUNT_TESTS=ON -- "$@"
}

big_endian_test_step() {
  test_step s390x -R '^zdnn_twin$'
  GTEST_FILTER=$big_endian_tests test_step s390x --parallel "$(nproc)" -R '^(unit|backends|end_to_end)$'
}

lint_step() {
  check_leftovers
  list_long_files
}

ci() {
  local argument
  show_times="" full=""
  for argument in "$@"; do
    case $argument in
      --times) show_times=yes ;;
      --full) full=yes ;;
      *) fail "ci knows --times and --full, not \"$argument\"" ;;
    esac
  done

  step "packages" need run test browser bench format clang cache python
  step "format" check_format
  step "edges" tools/check-edges .
  step "edges: every rule is noticed" tools/check-edges-test
  step "lint" lint_step
  step "corpus" tools/corpus/corpus-test
  step "release: build" build_step release SHUNT_TESTS=ON SHUNT_BENCH=ON --
  step "release: tests" test_step release
  step "installed, and moved" install_step
  step "the twin of zDNN alone" twin_step
  step "default model" tools/check-default-model build/release/bin/shunt
  step "asan and ubsan: build" build_step asan --
  # Nothing is measured here, so that executables may run side by side.
  step "asan and ubsan: tests" test_step asan --parallel "$(nproc)"
  step "tsan: build" tsan_build_step
  step "tsan: tests of threads" tsan_test_step
  step "big-endian: build" foreign_build_step s390x unit_tests zdnn_twin_tests backends_tests end_to_end_tests
  step "big-endian: tests" big_endian_test_step
  step "layout" layout_step
  step "fuzz: 20 s each" fuzz 20
  if [[ $full ]]; then
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
  echo "shunt: ci passed"
}
