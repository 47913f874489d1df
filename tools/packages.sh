# What the project needs from the system, by Debian and Ubuntu package, and how it gets there. Sourced by bash scripts.
program_packages=(g++ cmake ninja-build libfmt-dev libboost-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev
  libprotozero-dev libsimdjson-dev libsqlite3-dev zlib1g-dev)
test_packages=(catch2 librapidcheck-dev libpugixml-dev libbenchmark-dev openmpi-bin libopenmpi-dev libopenblas0)
python_packages=(python3-dev pybind11-dev python3-numpy python3-pandas) # the module and its tests, which are left out without them
ci_packages=(ccache clang-16 clang-tidy-16 clang-format-16 libclang-rt-16-dev codespell groff-base mkdocs)

say() { printf 'ppsim: %s\n' "$*" >&2; }
fail() { printf 'ppsim: error: %s\n' "$1" >&2; [ $# -lt 2 ] || printf 'ppsim: hint: %s\n' "$2" >&2; exit 1; }

# Those of the named packages that are not installed.
missing_packages() {
  local package
  for package; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed* ]] || echo "$package"
  done
}

# Installs those of the named packages that are missing, and says so. The log is build/packages.log.
install_packages() {
  local missing sudo=() log=build/packages.log
  if ! command -v apt-get >/dev/null; then
    say "apt-get was not found; install these Debian packages: $*"
    return
  fi
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "missing packages: ${missing[*]}" "as root: apt-get install ${missing[*]}"
    sudo=(sudo)
  fi
  say "installing with ${sudo:+sudo }apt-get: ${missing[*]} (log: $log)"
  local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=120)
  "${apt[@]}" install --no-install-recommends "${missing[@]}" >"$log" 2>&1 ||
    { "${apt[@]}" update && "${apt[@]}" install --no-install-recommends "${missing[@]}"; } >>"$log" 2>&1 ||
    { tail -n 5 "$log" >&2; say "apt-get failed; continuing with the installed packages (log: $log)"; }
}
