#!/usr/bin/env bash
# build.sh: builds ppsim with its plugin for GPUs, and its tests, on a machine that has CUDA and perhaps neither a network nor the
# libraries that ppsim needs. Where build/gpu-packages holds packages (tests/gpu/fetch_packages.sh gets them), they are unpacked
# into build/gpu-prefix and used from there; nothing outside of build/ is changed. Without them, what the system has is used.
#
# It writes env.sh beside the program, with what that and mpirun need to find everything:
#   . build/gpu/env.sh && ppsim list backends && mpirun -n 2 ppsim replay --backend mpi --stages 2 --mb 4
#   ctest --test-dir build/gpu -L 'unit|runtime|gpu_emulation|mpi'
# The CUDA Toolkit, 12.5 or newer, is that of CUDACXX, CUDA_HOME, PATH or /usr/local; NCCL that of NCCL_ROOT, the toolkit, the
# system, or a Python package (nvidia-nccl), and so is cublasLt where the toolkit has none. A second run does only what is new.
#
# usage: tests/gpu/build.sh [OPTION]... [-DNAME=VALUE]...
#   --to FOLDER         build there (build/gpu)
#   --packages FOLDER   of .deb files to unpack (build/gpu-packages, if it is there)
#   --prefix FOLDER     where to unpack them (build/gpu-prefix)
#   --arch LIST         CMAKE_CUDA_ARCHITECTURES (those of the GPUs here; 90 if there is none)
#   --targets LIST      build only these, separated by spaces (all): "ppsim_cli ppsim_gpu ppsim_mpi" is the program alone
#   --jobs N            so many at once (all cores)
#   -DNAME=VALUE        goes to CMake
set -euo pipefail
here=$PWD
cd "$(dirname "$(readlink -f "$0")")/../.."
root=$PWD
. tools/packages.sh
absolute() { case $1 in /*) echo "$1" ;; *) echo "$here/$1" ;; esac; }

to=$root/build/gpu packages=$root/build/gpu-packages prefix=$root/build/gpu-prefix arch='' targets=all jobs=$(nproc) definitions=()
while [ $# -gt 0 ]; do
  case $1 in
    --to | --packages | --prefix) [ $# -gt 1 ] || fail "$1 needs a folder"; declare "${1#--}=$(absolute "$2")"; shift ;;
    --arch | --targets | --jobs) [ $# -gt 1 ] || fail "$1 needs a value"; declare "${1#--}=$2"; shift ;;
    -D?*=*) definitions+=("$1") ;;
    --help) sed -n '2,/^set/ { /^set/d; s/^# \?//; p }' tests/gpu/build.sh; exit ;; # the lines above
    *) fail "unknown argument: $1" "tests/gpu/build.sh --help says what there is" ;;
  esac
  shift
done

# The toolkit, by its nvcc.
nvcc=''
for candidate in "${CUDACXX:-}" "${CUDA_HOME:+$CUDA_HOME/bin/nvcc}" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc \
  $(ls -vrd /usr/local/cuda-*/bin/nvcc 2>/dev/null || true); do
  if [ -x "$candidate" ]; then nvcc=$(readlink -f "$candidate"); break; fi
done
[ -n "$nvcc" ] || fail "no nvcc in CUDACXX, CUDA_HOME, PATH or /usr/local" "install the CUDA Toolkit 12.5 or newer, or set CUDA_HOME to it"
toolkit=$(dirname "$(dirname "$nvcc")")
for tool in cmake "${CXX:-g++}" tar; do
  command -v "$tool" >/dev/null || fail "no $tool here" "install it: needed are g++ 12 or newer, CMake 3.25 or newer, and ninja or make"
done

# Unpacks the packages and does what installing them would: absolute links point into the prefix, links to what the base system
# has point there, and what one of several packages may provide gets its plain name.
unpack() {
  local file link target name found
  : >"$prefix/unpacked"
  rm -rf "${prefix:?}"/{usr,etc,lib,bin,sbin,var}
  for file in "$packages"/*.deb; do
    if command -v dpkg-deb >/dev/null; then
      dpkg-deb -x "$file" "$prefix"
    else
      name=$(ar t "$file" | grep '^data\.tar')
      ar p "$file" "$name" | case $name in
        *.xz) xz -dc ;; *.zst) zstd -dc ;; *.gz) gzip -dc ;; *) cat ;;
      esac | tar -xf - -C "$prefix" || fail "cannot unpack $file" "install dpkg, or what unpacks $name"
    fi
  done
  find "$prefix" -xtype l | while read -r link; do
    target=$(readlink "$link") name=$(basename "$(readlink "$link")")
    if [[ $target == /* && -e $prefix$target ]]; then
      ln -sfn "$prefix$target" "$link"
    elif [[ $name == *.so.* ]]; then # libz.so -> libz.so.1.2.13 is libz.so.1 here
      found=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p | awk -v name="${name%%.so.*}.so." 'index($1, name) == 1 && !n++ { print $NF }')
      if [ -n "$found" ]; then ln -sfn "$found" "$link"; fi
    fi
  done
  for file in "$prefix"/usr/bin/*.openmpi; do
    if [ -e "$file" ]; then ln -sfn "$(basename "$file")" "${file%.openmpi}"; fi
  done
}
# What is deleted there is deleted by this script alone.
mkdir -p "$to" "$prefix"
[ -e "$prefix/made-by-build.sh" ] || [ -z "$(ls -A "$prefix")" ] || fail "$prefix holds what this script has not made" "--prefix FOLDER: an empty one"
: >"$prefix/made-by-build.sh"
packaged=''
if ls "$packages"/*.deb >/dev/null 2>&1; then
  packaged=yes
  list=$(cd "$packages" && ls -l --time-style=+ ./*.deb)
  if [ "$(cat "$prefix/unpacked" 2>/dev/null)" != "$list" ]; then
    say "unpacking $(wc -l <<<"$list") packages from $packages in $prefix"
    unpack
    echo "$list" >"$prefix/unpacked"
  fi
else
  say "no packages in $packages: using what the system has"
fi

# HEADER LIBRARY PLACE...: the folders of both, of the first place that has them; the library with or without a version.
find_both() {
  local header=$1 library=$2 machine place include lib
  machine=$(uname -m)
  shift 2
  for place; do
    [ -d "$place" ] || continue
    for include in "$place"/{include,"include/$machine-linux-gnu","targets/$machine-linux/include"}; do
      for lib in "$place"/{lib64,lib,"lib/$machine-linux-gnu","targets/$machine-linux/lib"}; do
        if [ -e "$include/$header" ] && compgen -G "$lib/$library.so*" >/dev/null; then printf '%s\n' "$include" "$lib"; return; fi
      done
    done
  done
}
# NAME LIBRARY INCLUDE LIB: $prefix/NAME with links to the headers NAME* and to LIBRARY, with a link for the linker.
link_both() {
  local folder=$prefix/$1 library=$2 versions
  rm -rf "$folder"
  mkdir -p "$folder/include" "$folder/lib"
  ln -s "$3/$1"* "$folder/include"
  ln -s "$4/$library.so"* "$folder/lib"
  versions=("$folder/lib/$library.so".*)
  [ -e "$folder/lib/$library.so" ] || ln -s "$(basename "${versions[0]}")" "$folder/lib/$library.so"
}
mapfile -t python_packages < <(python3 -c 'import glob, sys
for path in sys.path: print("\n".join(sorted(glob.glob(path + "/nvidia/*/"))))' 2>/dev/null | sed '/^$/d; s:/$::')

mapfile -t nccl < <(find_both nccl.h libnccl "${NCCL_ROOT:-}" "${NCCL_HOME:-}" "$toolkit" /usr /usr/local "${python_packages[@]}")
if [ ${#nccl[@]} -eq 0 ]; then # perhaps of a Python that is not on the PATH
  header=$(find / -xdev -path '*/nvidia/nccl/include/nccl.h' -print -quit 2>/dev/null || true)
  mapfile -t nccl < <(find_both nccl.h libnccl "${header%/include/nccl.h}")
fi
if [ ${#nccl[@]} -gt 0 ]; then
  [ "${nccl[0]}" = "$prefix/nccl/include" ] || link_both nccl libnccl "${nccl[@]}" # env.sh names these links as NCCL_ROOT
  say "NCCL: ${nccl[*]}"
else
  say "no nccl.h with libnccl in NCCL_ROOT, $toolkit, /usr or Python's packages: there will be no backend nccl"
fi
if [ -z "$(find_both cublasLt.h libcublasLt "$toolkit")" ]; then
  mapfile -t cublas < <(find_both cublasLt.h libcublasLt /usr /usr/local "${python_packages[@]}")
  [ ${#cublas[@]} -gt 0 ] ||
    fail "no cublasLt.h with libcublasLt in $toolkit, /usr or Python's packages" "install the toolkit's libcublas-dev, or the Python package nvidia-cublas"
  link_both cublas libcublasLt "${cublas[@]}"
  say "cublasLt: ${cublas[*]}"
  definitions+=("-DCUDA_cublasLt_LIBRARY=$prefix/cublas/lib/libcublasLt.so" "-DCMAKE_CXX_FLAGS=-isystem $prefix/cublas/include")
fi

# What programs need to find at run time; MPI's tools too, which CMake runs.
path=$to:$(dirname "$nvcc") libraries=$toolkit/lib64
if [ -n "$packaged" ]; then
  usr_lib=$prefix/usr/lib/$(uname -m)-linux-gnu
  path=$to:$prefix/usr/bin:$(dirname "$nvcc")
  libraries=$usr_lib:$prefix/lib/$(uname -m)-linux-gnu:$usr_lib/openblas-pthread:$libraries
fi
{
  echo "# Written by tests/gpu/build.sh, to be sourced: where the program, the libraries and MPI's own files are."
  echo "export PATH='$path':\"\$PATH\""
  echo "export LD_LIBRARY_PATH='$libraries'\"\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}\""
  if [ -n "$packaged" ]; then
    echo "export CMAKE_PREFIX_PATH='$prefix/usr:$prefix'\"\${CMAKE_PREFIX_PATH:+:\$CMAKE_PREFIX_PATH}\""
    echo "export OPAL_PREFIX='$prefix/usr' OPAL_SYSCONFDIR='$prefix/etc/openmpi'"
    echo "export OMPI_MCA_mtl='^psm,psm2,ofi'" # of networks that need more than to be unpacked
    echo "export PMIX_PREFIX='$usr_lib/pmix2' PMIX_DATADIR='$usr_lib/pmix2/share' PMIX_LIBDIR='$usr_lib/pmix2/lib' UCX_MODULE_DIR='$usr_lib/ucx'"
  fi
  if [ ${#nccl[@]} -gt 0 ]; then echo "export NCCL_ROOT='$prefix/nccl'"; fi
  # MPI refuses to be started by root unless told twice, and to start anything where there is no ssh to reach other machines.
  echo 'export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1'
  echo 'command -v ssh >/dev/null || export OMPI_MCA_plm=isolated'
} >"$to/env.sh"
. "$to/env.sh"

if [ -z "$arch" ]; then
  arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d '. ' | sort -u | paste -sd ';') || true
  [[ $arch =~ ^[0-9\;]+$ ]] || arch=90
fi
generator=()
if [ ! -e "$to/CMakeCache.txt" ] && command -v ninja >/dev/null; then generator=(-G Ninja); fi
say "configuring in $to for GPUs of generation $arch, with $nvcc"
CUDACXX=$nvcc cmake -S . -B "$to" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DPPSIM_GPU=ON "-DCMAKE_CUDA_ARCHITECTURES=$arch" \
  -DPPSIM_BUILD_TESTS=ON -DPPSIM_BUILD_BENCH=OFF -DPPSIM_CHECK_HEADERS=OFF "${definitions[@]}" >"$to/configure.log" 2>&1 || {
  tail -n 30 "$to/configure.log" >&2
  fail "cannot configure $to; log: $to/configure.log" \
    "for a missing library: run tests/gpu/fetch_packages.sh where there is a network, and bring what it makes to $packages"
}
sed -n '/^-- ppsim /,/^-- Conf/ { /^-- Conf/d; s/^-- //; p }' "$to/configure.log" >&2
read -ra target_list <<<"$targets"
keep_going=(-k) # what does not depend on what fails is built all the same
if [ -e "$to/build.ninja" ]; then keep_going=(-k 0); fi
cmake --build "$to" --parallel "$jobs" --target "${target_list[@]}" -- "${keep_going[@]}" ||
  fail "cannot build everything in $to" "$to/env.sh is there, and so is what could be built"
say "built; next: . $to/env.sh && ppsim list backends"
