# Sourced by ./dev: coverage [ARGS]. Builds the preset coverage, runs the tests, and reports which lines of src/ ran.

# coverage_table: from gcovr's CSV on standard input, a table in Markdown: lines of each folder of src/, and of each backend.
coverage_table() {
  awk -F, '
    function row(folder, lines, covered) {
      return sprintf("| %s | %d | %d | %.1f |", folder, lines, covered, lines ? 100 * covered / lines : 0)
    }
    NR == 1 { next }
    {
      parts = split($1, path, "/")
      folder = path[1] "/" path[2]
      if (path[2] == "backends" && parts > 3) folder = folder "/" path[3]
      lines[folder] += $2
      covered[folder] += $3
      all_lines += $2
      all_covered += $3
    }
    END {
      print "| folder | lines | covered | % |"
      print "| --- | --- | --- | --- |"
      fflush()
      for (folder in lines) print row(folder, lines[folder], covered[folder]) | "LC_ALL=C sort"
      close("LC_ALL=C sort")
      print row("all", all_lines, all_covered)
      if (!all_lines) { print "shunt: no line was counted" >"/dev/stderr"; exit 1 }
    }'
}

# Figures of tests that failed are printed, too; the exit code tells.
coverage() {
  local folder=build/coverage failed=""
  need run test coverage
  ready coverage --
  find "$folder" -name '*.gcda' -delete
  ctest --test-dir "$folder" --output-on-failure --no-tests=error "$@" >&2 || failed=yes
  say "reading the counts..."
  rm -rf "$folder/html"
  mkdir "$folder/html"
  # One source file is compiled for several vector levels, and several objects have the lines of a header: gcovr adds their counts. Headers
  # of op families are included by way of links, too (src/CMakeLists.txt).
  if ! {
    gcovr --root . --object-directory "$folder" --filter src/ -j "$(nproc)" --json "$folder/counts.json" "$folder/src" &&
      sed -i -E 's|"build/coverage/include/shunt/ops/([a-z0-9_]+)\.h"|"src/ops/\1/\1.h"|g' "$folder/counts.json" &&
      gcovr --root . --add-tracefile "$folder/counts.json" --csv "$folder/coverage.csv" --html-title "Line coverage of Shunt" \
        --html-details "$folder/html/index.html"
  } >"$folder/gcovr.log" 2>&1; then
    tail -n 30 "$folder/gcovr.log" >&2
    fail "gcovr failed"
  fi
  coverage_table <"$folder/coverage.csv"
  say "$folder/html/index.html shows each line"
  [[ ! $failed ]] || fail "tests failed, so the figures are incomplete"
}
