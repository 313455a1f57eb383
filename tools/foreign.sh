# Sourced by ./dev. Foreign machines: a processor that this machine does not have. What is for them is built with Debian's
# cross compilers, and runs under qemu-user; docs/internals/foreign-machines.md has more.

# Debian's name of an architecture; the compilers and qemu have the names that we use.
debian_architecture() {
  case $1 in
    s390x) echo s390x ;;
    aarch64) echo arm64 ;;
    *) return 1 ;;
  esac
}

# need_foreign ARCH: compiler, emulator and libraries for it are there.
need_foreign() {
  debian_architecture "$1" >/dev/null || fail "there is no foreign machine \"$1\"; s390x and aarch64 are those that are known"
  need "$1"
  need_sysroot "$1"
}

# foreign_apt ARCH ARGUMENTS...: apt-get, with this system's sources, for a machine of that architecture that has nothing
# installed. All that it writes is under build/, so that it needs no rights.
foreign_apt() {
  local state=$root/build/sysroot-$1.apt architecture
  architecture=$(debian_architecture "$1")
  shift
  apt-get -q -y -o APT::Architecture="$architecture" -o APT::Architectures::="$architecture" \
    -o Dir::State="$state" -o Dir::State::status="$state/status" -o Dir::Cache="$state" -o APT::Sandbox::User= \
    -o APT::Install-Recommends=no -o Acquire::Languages=none -o Acquire::Retries=3 "$@"
}

# need_sysroot ARCH: build/sysroot-ARCH has the libraries of tools/packages.txt, and all that they need. Only one ./dev at
# a time unpacks them.
need_sysroot() {
  local lock
  exec {lock}>"build/.sysroot-$1.lock"
  flock -n "$lock" || { say "waiting for another ./dev to finish unpacking libraries for $1" && flock "$lock"; }
  unpack_sysroot "$1"
  exec {lock}>&-
}

# They are unpacked, not installed: side by side with the native ones they would have to be of the same version to the last
# security update, which Debian's mirrors do not keep for all architectures.
unpack_sysroot() {
  local sysroot=build/sysroot-$1 state=build/sysroot-$1.apt libraries package link
  mapfile -t libraries < <(package_rows run test | sed -nE 's/ (<.*|-)$//p')
  if [[ -f $sysroot.packages && $(<"$sysroot.packages") == "${libraries[*]}" ]]; then return; fi
  is_debian_12 || fail "libraries for $1 are taken from Debian 12's packages, with its tools, on Debian 12 only"
  say "unpacking libraries for $1 into $sysroot..."
  rm -rf "$sysroot" "$state"
  mkdir -p "$sysroot" "$state"/{lists,archives}/partial
  : >"$state/status"
  if ! { foreign_apt "$1" update && foreign_apt "$1" install --download-only "${libraries[@]}"; } \
    </dev/null >"$sysroot.log" 2>&1; then
    tail -n 30 "$sysroot.log" >&2
    fail "apt-get could not get them (the whole of what it said: $sysroot.log)"
  fi
  for package in "$state"/archives/*.deb; do dpkg-deb -x "$package" "$sysroot"; done
  link_alternatives "$sysroot"
  # Links to places from the root on mean those of this one.
  while IFS= read -r -d '' link; do
    ln -sfrn "$sysroot$(readlink "$link")" "$link"
  done < <(find "$sysroot" -type l -lname '/*' -print0)
  rm -rf "$state"
  echo "${libraries[*]}" >"$sysroot.packages"
}

# link_alternatives SYSROOT: what a package's installation would link. OpenBLAS has a folder of its own for each way to use threads.
link_alternatives() {
  local library
  for library in "$1"/usr/lib/*-linux-gnu/openblas-*/lib*.so.[0-9]*; do
    ln -sfr "$library" "$(dirname "$library")/.."
  done
}
