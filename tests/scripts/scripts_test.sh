#!/usr/bin/env bash
# scripts_test.sh SOURCE_DIR: ./ppsim and tools/build with stand-ins for cmake, apt-get, dpkg-query and id, in a temporary folder.
set -euo pipefail
source_dir=$1
. "$source_dir/tests/scripts/checks.sh"
mkdir -p "$work/repo/sim" "$work/elsewhere"
cp -r "$source_dir/ppsim" "$source_dir/tools" "$work/repo"
touch "$work/repo/CMakeLists.txt" "$work/repo/CMakePresets.json" "$work/repo/sim/a.cpp" "$work/repo/sim/b.cpp"
export PATH=$work/bin:$PATH
cd "$work/elsewhere"

# Configures by noting the options; builds a program that prints its arguments; refuses to run twice at once; fails while a file named no-configure or no-build exists.
stand_in cmake <<'SH'
echo "cmake $*" >>"$WORK/calls"
case "$1 $2" in
  --preset*)
    [ ! -e "$WORK/no-configure" ] || exit 1
    touch build/release/build.ninja
    for argument; do case $argument in *=*) echo "${argument%=*}:BOOL=${argument#*=}" ;; esac; done >build/release/CMakeCache.txt
    exit ;;
  --build*) case "$*" in *--target\ build.ninja) [ ! -e "$WORK/no-configure" ] || exit 1; exit ;; esac ;;
esac
mkdir "$WORK/building" || exit 1
echo '[0/2] Re-checking'
echo '[1/1] Building'
sleep 0.1
rmdir "$WORK/building"
if [ -e "$WORK/no-build" ]; then echo 'a.cpp:1: error: oops'; exit 1; fi
printf '#!/bin/sh\nprintf "<%%s>" "$@"\n' >build/release/ppsim
chmod +x build/release/ppsim
SH
stand_in apt-get <<'SH'
echo "apt-get $*" >>"$WORK/calls"
case "$*" in *install*) [ -e "$WORK/updated" ] && rm "$WORK/no-configure" ;; *update*) touch "$WORK/updated" ;; esac
SH
stand_in dpkg-query <<'SH'
for package; do :; done
[ "$package" = cmake ] || [ "$package" = libfmt-dev ] || echo installed
SH
stand_in id <<'SH'
echo "${FAKE_UID:-0}"
SH

program() { run "$work/repo/ppsim" "$@"; }

program --json 'two words' ''
check 'the first run builds, passes every argument on and keeps stdout clean' prints '<--json><two words><>'
check 'it reports the build' said 'building program in build/release'
check 'it shows progress' said '^ppsim: 1 of 1'
check 'it builds no plugin' called ' --target ppsim_cli$'
program x
check 'the second run still runs' prints '<x>'
check 'the second run builds and prints nothing' quiet

touch "$work/repo/sim/a.cpp"
program x
check 'a changed source is built' called 'cmake --build'
check 'it does not configure again' [ "$(grep -c -- --preset\ release\ -D "$work/calls")" = 0 ]
program replay --backend mpi
check 'a command that needs a plugin configures plugins' called 'cmake --preset release -D PPSIM_PLUGINS=ON$'
check 'a command that needs a plugin builds plugins' called 'cmake --build --preset release --target ppsim_plugins$'
program list backends
check 'plugins are built once' quiet
touch "$work/repo/sim/a.cpp"
program x
program selftest
check 'plugins are built again after the program' called ' --target ppsim_plugins$'
check 'plugins are configured again' called 'cmake --preset release -D PPSIM_PLUGINS=ON$'
rm "$work/repo/sim/b.cpp"
program x
check 'a removed source is built' called 'cmake --build'
program x
check 'a further run builds nothing' quiet

touch "$work/repo/sim/a.cpp" "$work/no-build"
program x
check 'a failed build is an error' [ "$status" = 1 ]
check 'it shows the compiler error' said 'a.cpp:1: error: oops'
check 'it names the log' said "error: cannot build build/release; log: $work/repo/build/release.log"
check 'it does not run the program' [ ! -s "$work/out" ]
rm "$work/no-build"
program x
check 'the next run builds again' called 'cmake --build'
check 'the next run runs the program' prints '<x>'

ln -s "$work/repo/ppsim" "$work/bin/linked"
check 'it runs through a link on the path' [ "$(linked y)" = '<y>' ]

touch "$work/repo/sim/a.cpp"
"$work/repo/ppsim" 1 >"$work/out1" 2>&1 &
program 2
wait $! || die 'two at once: the other one'
check 'concurrent runs wait for each other' prints '<2>'

touch "$work/no-configure" "$work/repo/sim/a.cpp" # CMake's files ask for more than they did
program x
check 'it installs missing packages, updates the list if that fails, and continues' prints '<x>'
check 'it lists the packages that it installs' said 'installing with apt-get: cmake libfmt-dev '
check 'it installs nothing else' called 'install --no-install-recommends cmake libfmt-dev$'
check 'it configures from scratch' called 'cmake --preset release .*--fresh'

rm "$work/updated"
stand_in apt-get <<'SH'
echo "apt-get $*" >>"$WORK/calls"
echo 'E: no network'
exit 100
SH
rm "$work/repo/build/release/build.ninja"
touch "$work/no-configure" "$work/repo/sim/a.cpp"
program x
check 'without the packages it fails' [ "$status" = 1 ]
check "it shows apt-get's error" said 'E: no network'
check 'the hint names the requirements' said 'hint: it needs CMake'

mkdir "$work/no-sudo"
for tool in bash sh cat env find dirname readlink mkdir touch flock tail grep tee mv cp dpkg-query id apt-get cmake; do
  ln -s "$(command -v $tool)" "$work/no-sudo/$tool"
done
PATH=$work/no-sudo FAKE_UID=1000 program x
check 'no root and no sudo: fails' [ "$status" = 1 ]
check 'no root and no sudo: the hint names the packages' said 'hint: as root: apt-get install cmake libfmt-dev'

written=$(grep -ohE -- '(-o|--timeline|--svg|--csv|--csv-comms|>) [a-z0-9-]+(\.tasks)?\.(csv|json|svg|toml|txt)\b' "$source_dir/README.md" "$source_dir"/docs/*.md | sed 's/.* //' | sort -u)
check 'examples write files' [ "$(wc -w <<<"$written")" -gt 9 ]
if command -v git >/dev/null; then # a bare machine has none
  git init -q "$work/clone"
  cp "$source_dir/.gitignore" "$work/clone"
  for file in $written; do check "git ignores $file, which an example writes" git -C "$work/clone" check-ignore -q "$file"; done
fi
echo 'all as it should be'
