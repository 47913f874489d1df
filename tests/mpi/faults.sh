#!/usr/bin/env bash
# faults.sh MPIEXEC COMMAND...: runs COMMAND, a replay of 1f1b with 4 stages, in ways that cannot do, and checks what is said, how
# often, with which exit status, and within which time.
set -u
. "$(dirname "$0")/environment.sh"
mpiexec=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# STATUS SECONDS LINES PATTERN COMMAND...: so many lines of errors, one of which is like PATTERN.
expect() {
  local status=$1 seconds=$2 lines=$3 pattern=$4 begin=$SECONDS got err
  err=$(mktemp -p "$work")
  shift 4
  timeout -k 1 60 "$@" >/dev/null 2>"$err"
  got=$?
  local took=$((SECONDS - begin)) said
  said=$(grep -c '^ppsim: error: ' "$err")
  if [ "$got" -eq "$status" ] && [ "$took" -le "$seconds" ] && [ "$said" -eq "$lines" ] && grep -Eq "^ppsim: error: $pattern" "$err"; then
    echo "ok after $took s: $(grep -Em 1 "^ppsim: error: $pattern" "$err")"
    return
  fi
  echo "FAILED: ${*: -2}: status $got after $took s, $said errors; expected status $status within $seconds s, $lines like '$pattern'"
  sed 's/^/  | /' "$err"
  return 1
}
four() { echo "$mpiexec -n 4"; }

waiting=()
# What fails by itself ends the run at once, long before it would be seen that nothing goes on.
expect 1 20 1 'rank 1, task 1F3: ' $(four) "$@" --timeout 30s --inject fail@1F3 || failed=1
expect 1 20 1 'rank 3, task 3F0: no memory' $(four) "$@" --timeout 30s --inject no-memory@3F0 || failed=1
expect 1 20 1 'rank 2, task 2F3, input 1F3 from rank 1: received [0-9]+ bytes, expected [0-9]+' $(four) "$@" --timeout 30s --inject resize@1F3 || failed=1
# What stands still ends it when nothing has gone on for the time that was given: side by side, as they wait.
expect 1 20 4 'rank 2, task 2F3, input 1F3 from rank 1: (no progress|stopped)' $(four) "$@" --timeout 6s --inject lose@1F3 &
waiting+=($!)
expect 1 20 1 'rank 2, task 2F3: ' $(four) "$@" --timeout 6s --inject stall@2F3 &
waiting+=($!)
expect 1 20 1 'rank 0, task 0F3: ' $(four) "$@" --timeout 6s --inject stall@0F3 &
waiting+=($!)
for one in "${waiting[@]}"; do wait "$one" || failed=1; done
expect 2 20 1 'backend mpi: 4 stages need as many processes; 2 were started' "$mpiexec" -n 2 "$@" || failed=1
expect 2 20 1 'backend mpi: 4 stages need 4 processes' "$@" || failed=1
expect 2 20 1 '--inject' $(four) "$@" --inject nosuch || failed=1
exit $failed
