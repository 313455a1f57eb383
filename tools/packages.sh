# Sourced by ./dev. need GROUP...: the packages of these groups (tools/packages.txt) are there, or are
# installed, or the user is told what to install.

# The table's rows for these groups, one "package found_by" a line.
package_rows() {
  local package group found_by
  while read -r package group found_by; do
    [[ $package == "#"* || " $* " != *" $group "* ]] || echo "$package $found_by"
  done <tools/packages.txt
}

# Where packages have the names of the table: Debian 12, or a system made from it.
is_debian_12() {
  command -v apt-get dpkg-query >/dev/null || return 1
  (. /etc/os-release && [[ ${DEBIAN_CODENAME:-${VERSION_CODENAME:-}} == bookworm ]]) 2>/dev/null
}

# Of the packages given, those that dpkg does not have.
not_installed() {
  local present package
  present=" $(dpkg-query -W -f '${Package}=${db:Status-Status} ' "$@" 2>/dev/null || true)"
  for package in "$@"; do
    [[ $present == *" $package=installed "* ]] || echo "$package"
  done
}

# Of the rows given, the packages whose command is not in PATH or whose header g++ does not find.
not_found() {
  local row package found_by headers=""
  for row in "$@"; do
    read -r package found_by <<<"$row"
    case $found_by in
      -) ;;
      "<"*) headers+="#if !__has_include($found_by)"$'\n'"$package"$'\n#endif\n' ;;
      *) command -v "$found_by" >/dev/null || echo "$package" ;;
    esac
  done
  if command -v g++ >/dev/null; then
    g++ -std=c++20 -E -P -x c++ - <<<"$headers" | sed '/^$/d'
  else
    sed -n '/^[^#]/p' <<<"$headers"
  fi
}

# Whether the commands (not the headers) of these rows are in PATH: cheap enough for every call.
commands_found() {
  local row
  for row in "$@"; do
    [[ $row == *" <"* || $row == *" -" ]] || command -v "${row#* }" >/dev/null || return 1
  done
}

install_packages() {
  say "installing with apt-get: $*"
  local log=build/packages.log
  export DEBIAN_FRONTEND=noninteractive
  local options=(-q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -o Dpkg::Use-Pty=0)
  if ! { apt-get "${options[@]}" update && apt-get "${options[@]}" install --no-install-recommends "$@"; } \
    </dev/null >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    fail "apt-get could not install them (the whole of what it said: $log)"
  fi
}

need() {
  local rows packages missing group sum
  mapfile -t rows < <(package_rows "$@")
  mkdir -p build

  # Asked and answered before, for this table? The stamps hold the checksum of the table they stand for.
  sum=$(cksum <tools/packages.txt)
  local known=yes
  for group in "$@"; do
    [[ -f build/.packages-$group && $(<"build/.packages-$group") == "$sum" ]] || known=no
  done
  if [[ $known == yes ]] && commands_found "${rows[@]}"; then return; fi

  packages=("${rows[@]%% *}")
  if is_debian_12; then
    mapfile -t missing < <(not_installed "${packages[@]}")
    if ((${#missing[@]})) && ((EUID == 0)); then
      install_packages "${missing[@]}"
    elif ((${#missing[@]})) && [[ $(not_found "${rows[@]}") ]]; then
      say "some packages are missing; please install them (as root, ./dev does it by itself):"
      echo "  sudo apt-get install -y ${missing[*]}" >&2
      exit 1
    fi
  else
    mapfile -t missing < <(not_found "${rows[@]}")
    if ((${#missing[@]})); then
      say "./dev installs packages on Debian 12 only. Install these, by their Debian names:"
      for row in "${rows[@]}"; do
        [[ " ${missing[*]} " != *" ${row%% *} "* ]] || say "  ${row/ / (}), not found"
      done
      fail "please install them, and run this again"
    fi
  fi
  for group in "$@"; do
    echo "$sum" >"build/.packages-$group"
  done
}

# After a failed configuration: ask again next time.
forget_packages() { rm -f build/.packages-*; }
