#!/usr/bin/env bash
# fetch_packages.sh: what a build for GPUs needs besides compilers and CUDA, as Debian packages in build/gpu-packages (which git
# ignores), for a machine that has no network. Run it where apt and a network are, on Debian 12, Ubuntu 24.04 or later: not a
# newer system than the GPU's machine, as its packages need a C library of at least their own age. Nothing is installed, and root
# is not needed. Take build/gpu-packages along with the repository; tests/gpu/build.sh unpacks it there.
#
# What is fetched is the list in tools/packages.sh and what those packages depend on, but for what every system with a C++
# compiler has, and for headers, programs and services that only others of their users need. A second run fetches what is new
# and removes what is no longer needed.
#
# usage: tests/gpu/fetch_packages.sh [--to FOLDER] [--limit MIB] | --list
#   --to FOLDER   where to (build/gpu-packages)
#   --limit MIB   fail when they are larger than this together (55)
#   --list        print the packages that the build asks for, without what they depend on, and fetch nothing
set -euo pipefail
shopt -s extglob
cd "$(dirname "$(readlink -f "$0")")/../.."
. tools/packages.sh
to=build/gpu-packages limit=55 list=
while [ $# -gt 0 ]; do
  case $1 in
    --to | --limit) [ $# -gt 1 ] || fail "$1 needs a value"; declare "${1#--}=$2"; shift ;;
    --list) list=yes ;;
    --help) sed -n '2,/^set/ { /^set/d; s/^# \?//; p }' tests/gpu/fetch_packages.sh; exit ;; # the lines above
    *) fail "unknown argument: $1" "tests/gpu/fetch_packages.sh --help says what there is" ;;
  esac
  shift
done

# Compilers and build tools have to be on the GPU's machine; the benchmark is not built there.
there='@(g++|cmake|ninja-build|libbenchmark-dev)'
wanted=()
for package in "${program_packages[@]}" "${test_packages[@]}"; do
  [[ $package == $there ]] || wanted+=("$package")
done
if [ -n "$list" ]; then
  printf '%s\n' "${wanted[@]}"
  exit
fi

# Where dependencies end: a base system with a C++ compiler; and what libopenmpi-dev and services want, but no build here.
base='@(libc6|libc6-dev|libc-dev|libcrypt1|libgcc*|libstdc++*|libatomic1|gcc-*|g++*|zlib1g|libuuid1|libudev1|perl*|python3*|debconf*|adduser)'
unused='@(gfortran*|libltdl-dev|libevent-dev|libhwloc-dev|libpmix-dev|libibverbs-dev|libhwloc-plugins|openssh-client|libjs-*)'

command -v apt-get >/dev/null || fail "no apt-get here" "run it on Debian 12, Ubuntu 24.04 or later, with a network"
declare -A known=()
for package in "${wanted[@]}"; do known[$package]=yes; done
queue=("${wanted[@]}")
while [ ${#queue[@]} -gt 0 ]; do
  depends=$(apt-cache depends --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances "${queue[@]}") ||
    fail "apt does not know these packages" "apt-get update"
  # "Depends: a", and where one of several is enough, "|Depends: a" for all but the last: the first is taken.
  mapfile -t found < <(awk '/^ [ |](Pre)?Depends:/ { if (!other) { gsub(/[<>]/, "", $NF); print $NF }; other = /^ \|/ }' <<<"$depends")
  queue=()
  for package in "${found[@]}"; do
    [[ $package == $base || $package == $unused || -n ${known[$package]-} ]] && continue
    known[$package]=yes
    queue+=("$package")
  done
done

# Lines "'ADDRESS' FILE SIZE HASH".
files=$(apt-get download --print-uris "${!known[@]}") || fail "apt does not find some of: ${!known[*]}" "apt-get update"
mib=$(awk '{ size += $3 } END { printf "%d", size / 1048576 + 1 }' <<<"$files")
say "${#known[@]} packages, $mib MiB"
[ "$mib" -le "$limit" ] || fail "that is more than $limit MiB" "--limit MIB allows more; or name what is not needed in tests/gpu/fetch_packages.sh"
mkdir -p "$to"
cd "$to"
apt-get -qq -o APT::Sandbox::User=root download "${!known[@]}" || fail "cannot fetch them" "apt-get update, and see that the network is there"
# Of those that were fetched before, what is not needed any more. Other files stay.
now=$(awk '{ print $2 }' <<<"$files")
if [ -e fetched ]; then grep -vxF "$now" fetched | while read -r file; do rm -f -- "$file"; done; fi
echo "$now" >fetched
say "they are in $PWD"
