# What tests of scripts share: a temporary folder $work, stand-ins for programs in $work/bin, and checks of what a script did. Sourced.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin"
export WORK=$work

stand_in() { { echo '#!/bin/sh'; cat; } >"$work/bin/$1"; chmod +x "$work/bin/$1"; }
# Runs a command; its output, errors, the calls of stand-ins, and its status are what the checks look at.
run() { : >"$work/calls"; status=0; "$@" >"$work/out" 2>"$work/err" || status=$?; }
die() { printf 'failed: %s\nexit %s\n--- out\n%s\n--- err\n%s\n--- calls\n%s\n' "$1" "$status" "$(cat "$work/out")" "$(cat "$work/err")" "$(cat "$work/calls")"; exit 1; }
check() { local what=$1; shift; "$@" || die "$what"; }
prints() { [ "$status" = 0 ] && [ "$(cat "$work/out")" = "$1" ]; }
quiet() { [ ! -s "$work/err" ] && [ ! -s "$work/calls" ]; }
said() { grep -qe "$1" "$work/err"; }
called() { grep -qe "$1" "$work/calls"; }
