# What the witnesses share; sourced. Sets $ppsim, the program that is held against another one, and goes into $work, where everything
# is fetched and built. Options of every script: --ppsim FILE [build/release/ppsim], --work FOLDER [build/witnesses]. With
# no_program=yes none is needed.
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd) name=$(basename "$0")
fail() { printf '%s: error: %s\n' "$name" "$1" >&2; [ $# -lt 2 ] || printf '%s: hint: %s\n' "$name" "$2" >&2; exit 2; }

ppsim=$here/../../build/release/ppsim work=$here/../../build/witnesses
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) sed -n '2,/^\. /{/^\. /d;s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    --ppsim | --work) [ $# -ge 2 ] || fail "$1 needs a value"; declare "${1#--}=$2"; shift 2 ;;
    *) fail "unknown option '$1'" "$name --help says what there is" ;;
  esac
done
[ "${no_program-}" ] || [ -x "$ppsim" ] || fail "there is no program '$ppsim'" 'tools/build builds it, or name one: --ppsim FILE'
mkdir -p "$work"
ppsim=$(readlink -f "$ppsim") work=$(readlink -f "$work")
cd "$work"

needs() { # PROGRAM PACKAGE, several times
  while [ $# -gt 0 ]; do command -v "$1" >/dev/null || fail "no $1" "apt install $2"; shift 2; done
}
checkout() { # FOLDER URL COMMIT
  [ -e "$1/.git" ] || { rm -rf "$1"; git clone -q "$2" "$1"; }
  git -C "$1" checkout -q "$3"
  echo "$1: $(git -C "$1" rev-parse --short=12 HEAD)"
}

. "$here/../../tools/chroot.sh"
