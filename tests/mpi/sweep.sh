# sweep.sh MPIEXEC PPSIM: a sweep by four processes, also one that is killed and gone on with by another number of them.
set -eu
. "$(dirname "$0")/environment.sh"
mpiexec=$1
ppsim=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
sweep="sweep --stages 2 --mb 4 --vary comm=0..39us:+1us --vary forward=1us..100us:+1us --vary schedule=1f1b,zb-h1,zb-v,chimera"
fail() { echo "failed: $1"; exit 1; }

$ppsim $sweep --table one.csv 2>/dev/null
$mpiexec -n 4 "$ppsim" $sweep --table four.csv
cmp one.csv four.csv || fail 'four processes write what one does'
$mpiexec -n 3 "$ppsim" $sweep --threads 2 | cmp - one.csv || fail 'to stdout, and with threads'

$mpiexec -n 4 "$ppsim" $sweep --table killed.csv &
until [ "$(stat -c %s killed.csv 2>/dev/null || echo 0)" -gt 100000 ]; do sleep 0.01; done
kill -9 $! 2>/dev/null || true
wait $! 2>/dev/null || true # a busy machine may have been too late
# the processes see that mpirun is gone, and end; the table is locked as long as they write it
for try in 1 2 3 4 5 6 7 8 9 10; do
  if $mpiexec -n 2 "$ppsim" $sweep --table killed.csv --resume 2>err; then break; fi
  grep -q 'another process' err || fail "$(cat err)"
  sleep 1
done
cmp one.csv killed.csv || fail 'it goes on'

$mpiexec -n 4 "$ppsim" $sweep --overhead 1us --table one.csv --resume 2>err && fail 'another sweep is refused'
[ "$(grep -c 'belongs to another sweep' err)" = 1 ] || fail 'which is said once'
$mpiexec -n 4 "$ppsim" sweep --vary mb=8..16 2>err && fail 'what is not an axis is refused'
[ "$(grep -c 'has no step' err)" = 1 ] || fail 'which is said once, too'
exit 0
