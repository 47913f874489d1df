#!/usr/bin/env bash
# endings.sh CASE LIMIT MPIEXEC COMMAND...: starts COMMAND as four ranks, harms the run, and checks that within LIMIT seconds it
# has ended with an error, that the error is said, and that every process is gone. CASE is kill:RANK or stop:RANK (signals KILL
# and STOP), or int or kill:mpirun (mpirun itself).
set -u
case=$1 limit=$2 mpiexec=$3
shift 3
. "$(dirname "$0")/environment.sh"
work=$(mktemp -d)
ranks=()
cleanup() { [ ${#ranks[@]} -eq 0 ] || kill -KILL "${ranks[@]}" 2>/dev/null; kill -KILL "$mpirun" 2>/dev/null; rm -rf "$work"; }
trap cleanup EXIT
fail() { echo "FAILED: $case: $1"; sed 's/^/  | /' "$work/err"; exit 1; }

"$mpiexec" -n 4 "$@" >"$work/out" 2>"$work/err" &
mpirun=$!
for _ in $(seq 100); do
  sleep 0.1
  find_ranks
  [ ${#ranks[@]} -lt 4 ] || break
done
[ ${#ranks[@]} -eq 4 ] || fail "found ${#ranks[@]} ranks"
# Far into the run's many steps: each has computed for longer than MPI takes to start, or, beside other programs, had 15 s.
for _ in $(seq 150); do
  all=yes
  for pid in "${ranks[@]}"; do computed "$pid" 1 || all=; done
  [ -z "$all" ] || break
  sleep 0.1
done
kill -0 "${ranks[@]}" 2>/dev/null || fail "the run ended by itself"

begin=$(date +%s%N)
case $case in
  kill:mpirun) kill -KILL "$mpirun" ;;
  int) kill -INT "$mpirun" ;;
  kill:*) kill -KILL "${ranks[${case#*:}]}" ;;
  stop:*) kill -STOP "${ranks[${case#*:}]}" ;;
esac

alive() { for pid in "$mpirun" "${ranks[@]}"; do if grep -q '^State:.[^Z]' "/proc/$pid/status" 2>/dev/null; then echo "$pid"; fi; done; }
while [ -n "$(alive)" ]; do
  [ $((($(date +%s%N) - begin) / 1000000000)) -lt "$limit" ] || fail "after $limit s there still run: $(alive | tr '\n' ' ')(ranks ${ranks[*]})"
  sleep 0.05
done
took=$((($(date +%s%N) - begin) / 1000000))
wait "$mpirun"
status=$?
[ $status -ne 0 ] || fail "exit status 0"
echo "$case: ended after $took ms with status $status"
grep '^ppsim: ' "$work/err"

# What has to be said, by whom: the rank that was harmed, and a task and a peer of one that waited.
said=$(grep -c '^ppsim: error: ' "$work/err")
case $case in
  kill:mpirun | int) ;;
  kill:*)
    [ "$said" -eq 1 ] || fail "$said errors"
    grep -q "rank ${case#*:} is gone" "$work/err" || fail "does not say that rank ${case#*:} is gone"
    # Between two steps a stage does nothing. Shared work has no stages.
    grep -Eq 'stage [0-9] (waits|computes|finishes|does nothing)|the work is not done' "$work/err" || fail "does not say what a rank was doing"
    ;;
  stop:*)
    # Rank 0 says what every rank knows; where it is the one that does not answer, rank 1 says what it knows.
    [ "$said" -eq $([ "$case" = stop:0 ] && echo 2 || echo 4) ] || fail "$said errors"
    [ $status -eq 1 ] || fail "exit status $status instead of 1"
    grep -q "rank ${case#*:}: does not answer" "$work/err" || fail "does not say that rank ${case#*:} does not answer"
    grep -Eq 'rank [0-9], (task [0-9]+[FBIW][0-9]+, (input [0-9]+[FBI][0-9]+ from|output to) rank [0-9]|meeting|begin|end)' "$work/err" || fail "names no task and peer"
    ;;
esac
