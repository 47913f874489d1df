#!/usr/bin/env bash
# gpu_scripts_test.sh SOURCE_DIR: tests/gpu/fetch_packages.sh and build.sh with stand-ins for apt, cmake and nvidia-smi, with made-up
# packages, in a temporary folder.
set -euo pipefail
source_dir=$1
. "$source_dir/tests/scripts/checks.sh"
mkdir -p "$work/repo/tests" "$work/elsewhere"
cp -r "$source_dir/tests/gpu" "$work/repo/tests"
cp -r "$source_dir/tools" "$work/repo"
repo=$(readlink -f "$work/repo")
cd "$work/elsewhere"
fetch() { run env PATH="$work/bin:$PATH" "$repo/tests/gpu/fetch_packages.sh" "$@"; }
build() { run env PATH="$path" CUDACXX= CUDA_HOME="$work/cuda" NCCL_ROOT="$nccl" NCCL_HOME= "$repo/tests/gpu/build.sh" "$@"; }
path=$work/bin:$PATH nccl=$work/nccl

for script in "$source_dir"/tests/gpu/*.sh; do
  bash -n "$script" || exit 1
done
fetch --help
check '--help shows the usage' grep -q '^usage: tests/gpu/fetch_packages.sh' "$work/out"
build --help
check '--help shows the usage' grep -q '^usage: tests/gpu/build.sh' "$work/out"
build --nonsense
check 'an unknown argument is an error' said "error: unknown argument: --nonsense"

# Every package that docs/install.md asks for is fetched, but for compilers and build tools.
fetch --list
check '--list lists' [ "$status" = 0 ]
named=$(sed -n '/^apt install/,/[^\\]$/p' "$source_dir/docs/install.md" | tr -d '\\' | sed 's/^apt install//')
[ "$(wc -w <<<"$named")" -gt 5 ] || { echo "failed: no line 'apt install' in docs/install.md"; exit 1; }
for package in $named; do
  case $package in g++ | cmake | ninja-build) continue ;; esac
  check "$package, which docs/install.md names, is fetched" grep -qx "$package" "$work/out"
done

# What a package depends on, the first of alternatives, and theirs; nothing of a base system, and nothing that only Fortran needs.
stand_in apt-cache <<'SH'
for package; do
  case $package in
    libfmt-dev) printf 'libfmt-dev\n  Depends: libfmt9\n' ;;
    libfmt9) printf 'libfmt9\n  Depends: libc6\n  Depends: libodd\n' ;;
    libopenblas0) printf 'libopenblas0\n |Depends: libopenblas0-pthread\n  Depends: libopenblas0-serial\n' ;;
    libopenmpi-dev) printf 'libopenmpi-dev\n  PreDepends: libopenmpi3\n  Depends: <gfortran-mod-15>\n    gfortran-12\n' ;;
  esac
done
SH
stand_in apt-get <<'SH'
echo "apt-get $*" >>"$WORK/calls"
while [ "$1" != download ]; do shift; done
shift
for package; do
  [ "$package" != --print-uris ] || { print=yes; continue; }
  [ -z "$print" ] || echo "'http://packages/$package.deb' ${package}_1.deb 1048576 SHA256:0"
  [ -n "$print" ] || touch "${package}_1.deb"
done
SH
mkdir -p "$repo/build/gpu-packages"
touch "$repo/build/gpu-packages"/{old_1,foreign_1}.deb
echo old_1.deb >"$repo/build/gpu-packages/fetched"
fetch
check 'it fetches' [ "$status" = 0 ]
check '15 wanted packages and 4 dependencies' said '19 packages, 20 MiB'
fetched=$(ls "$repo/build/gpu-packages")
for package in libfmt-dev libfmt9 libodd libopenblas0-pthread libopenmpi3 catch2; do
  check "$package is among it" grep -qx "${package}_1.deb" <<<"$fetched"
done
check 'it leaves only the fetched packages, a foreign file and its list' [ "$(grep -vxE 'foreign_1.deb|fetched' <<<"$fetched" | wc -l)" = 19 ]
check 'a foreign file stays' [ -e "$repo/build/gpu-packages/foreign_1.deb" ]
rm "$repo/build/gpu-packages/foreign_1.deb"
fetch --limit 10
check 'exceeding the limit is an error' said 'error: that is more than 10 MiB'
rm -r "$repo/build/gpu-packages"

# A machine with CUDA, and NCCL of which only the library for programs is there.
mkdir -p "$work/cuda/bin" "$work/cuda/include" "$work/cuda/lib64" "$work/nccl/include" "$work/nccl/lib"
cp "$(type -P true)" "$work/cuda/bin/nvcc"
touch "$work/cuda/include/cublasLt.h" "$work/cuda/lib64/libcublasLt.so" "$work/nccl/include/nccl.h" "$work/nccl/lib/libnccl.so.2"
stand_in nvidia-smi <<'SH'
printf '9.0\n9.0\n'
SH
stand_in cmake <<'SH'
echo "cmake $*" >>"$WORK/calls"
[ ! -e "$WORK/no-configure" ] || { echo 'Could not find fmt'; exit 1; }
printf -- '-- ppsim 1\n   backends      cuda\n-- Configuring done\n'
SH
# NAME FOLDER: a package of what is in the folder.
make_package() {
  (cd "$work" && echo 2.0 >debian-binary && tar -czf control.tar.gz -T /dev/null && tar -czf data.tar.gz -C "$2" . &&
    rm -f "$1" && ar rc "$1" debian-binary control.tar.gz data.tar.gz)
}
build
check "without packages it uses the system's" said 'using what the system has'
check 'it builds for the installed GPUs' called 'CMAKE_CUDA_ARCHITECTURES=90 '
check 'it builds all targets' called "--build $repo/build/gpu --parallel [0-9]* --target all -- -k"
check 'it lists the backends' said 'backends *cuda'
check 'NCCL can be linked' [ -e "$repo/build/gpu-prefix/nccl/lib/libnccl.so" ]
check 'the environment names it' grep -q "NCCL_ROOT='$repo/build/gpu-prefix/nccl'" "$repo/build/gpu/env.sh"
check 'the environment has no MPI' [ "$(grep -c OPAL_PREFIX "$repo/build/gpu/env.sh")" = 0 ]

lib=usr/lib/$(uname -m)-linux-gnu
mkdir -p "$work/files/usr/bin" "$work/files/$lib" "$repo/build/gpu-packages"
touch "$work/files/usr/bin/mpirun.openmpi" "$work/files/$lib/libone.so.1.2"
ln -s "/$lib/libone.so.1.2" "$work/files/$lib/libone.so"
ln -s libc.so.6.0.0 "$work/files/$lib/libc.so"
unpacked=$repo/build/gpu-prefix
for without in '' dpkg-deb; do
  make_package "$repo/build/gpu-packages/one$without.deb" "$work/files"
  if [ -n "$without" ]; then # a machine that has no dpkg
    mkdir "$work/some"
    for tool in bash sh dirname readlink nproc sed mkdir rm ls cat uname find ar gzip tar grep ln basename ldconfig awk wc head tail tr sort paste touch g++ python3; do
      found=$(PATH=$PATH:/sbin:/usr/sbin type -P $tool) || continue # a machine may have no Python
      ln -s "$found" "$work/some/$tool"
    done
    path=$work/bin:$work/some
  fi
  build --targets 'ppsim_cli ppsim_mpi' --jobs 3 -DX=Y
  check 'packages are unpacked' said 'unpacking . packages'
  check 'chosen targets are built' called '--parallel 3 --target ppsim_cli ppsim_mpi -- -k'
  check 'definitions are passed on' called ' -DX=Y'
  check 'an absolute link points into the prefix' [ "$(readlink "$unpacked/$lib/libone.so")" = "$unpacked/$lib/libone.so.1.2" ]
  check 'a link to a library of the base system points there' [ -e "$unpacked/$lib/libc.so" ]
  check 'programs have their plain names' [ -e "$unpacked/usr/bin/mpirun" ]
  check 'NCCL is still in its folder' [ -e "$unpacked/nccl/lib/libnccl.so" ]
done
check 'the environment works in every shell' sh -eu -c ". '$repo/build/gpu/env.sh' && [ \"\$OPAL_PREFIX\" = '$unpacked/usr' ]"
build
check 'a second run unpacks nothing' [ "$(grep -c unpacking "$work/err")" = 0 ]
nccl=$repo/build/gpu-prefix/nccl
build
check 'in its own environment it finds the same NCCL' [ -e "$nccl/lib/libnccl.so" ]
check 'and its header' [ -e "$nccl/include/nccl.h" ]
mkdir -p "$work/mine/bin" "$work/mine/nccl"
build --prefix "$work/mine"
check 'a foreign folder is an error' said "error: $work/mine holds what this script has not made"
check 'a foreign folder keeps its files' [ -d "$work/mine/bin" -a -d "$work/mine/nccl" ]
touch "$work/no-configure"
build
check "CMake's error is shown" said 'Could not find fmt'
check 'the hint names fetch_packages.sh' said 'hint: .*fetch_packages.sh'
check 'a missing package is an error' [ "$status" = 1 ]

# A toolkit without cublasLt, which a Python package has.
rm -f "$work/no-configure" "$work/cuda/include/cublasLt.h" "$work/some/python3"
mkdir -p "$work/python/nvidia/cu13/include" "$work/python/nvidia/cu13/lib"
touch "$work/python/nvidia/cu13/include/cublasLt.h" "$work/python/nvidia/cu13/lib/libcublasLt.so.13"
stand_in python3 <<'SH'
echo "$WORK/python/nvidia/cu13/"
SH
build
check 'cublasLt in another folder is used' called "-DCUDA_cublasLt_LIBRARY=$unpacked/cublas/lib/libcublasLt.so"
check 'cublasLt can be linked' [ -e "$unpacked/cublas/lib/libcublasLt.so" ]
check "cublasLt's header is found" called "-DCMAKE_CXX_FLAGS=-isystem $unpacked/cublas/include"
echo 'all as it should be'
