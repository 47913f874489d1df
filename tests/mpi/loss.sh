#!/usr/bin/env bash
# loss.sh MPIEXEC PPSIM: of four processes that share a sweep or a plan one is killed, where mpirun lets the others live: they do
# its work, and the bytes are those of one process.
set -u
. "$(dirname "$0")/environment.sh"
mpiexec=$1 ppsim=$2
"$mpiexec" --version | grep -Eq 'Open MPI|OpenRTE' || exit 77 # MPICH's Hydra kills all of a machine
work=$(mktemp -d)
ranks=()
cleanup() { [ ${#ranks[@]} -eq 0 ] || kill -KILL "${ranks[@]}" 2>/dev/null; rm -rf "$work"; }
trap cleanup EXIT
cd "$work" || exit 1
fail() { echo "FAILED: $1"; sed 's/^/  | /' err; exit 1; }

# Kills rank 2 once it has computed for a while.
lose_one() {
  "$mpiexec" --enable-recovery -n 4 "$ppsim" "$@" >out 2>err &
  mpirun=$! ranks=()
  for _ in $(seq 300); do
    sleep 0.1
    find_ranks
    [ -z "${ranks[2]-}" ] || ! computed "${ranks[2]}" 4 || break
  done
  kill -KILL "${ranks[2]-none}" || fail "the run ended by itself"
  wait "$mpirun" || fail "exit status $?"
  ranks=()
  grep -q 'rank 2 is gone' err || fail 'does not say who is gone'
}

sweep="sweep --stages 16 --mb 2048 --vary comm=0..299us:+1us --vary schedule=1f1b,zb-h1"
$ppsim $sweep --table one.csv 2>/dev/null
lose_one $sweep --table many.csv
cmp one.csv many.csv || fail 'rows are missing'

plan="plan --model llama-3-70b --device h100 --gpus 512 --global-batch 1024 --fixed mbs=1,cp=1"
$ppsim $plan >one.txt
lose_one $plan
cmp one.txt out || fail 'another plan'
