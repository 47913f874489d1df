# plan.sh MPIEXEC PPSIM: a plan by two processes, with threads, and by four.
set -eu
. "$(dirname "$0")/environment.sh"
mpiexec=$1
ppsim=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
plan="plan --model llama-3-8b --device a100 --gpus 32 --global-batch 64 --fixed mbs=1"
fail() { echo "failed: $1"; exit 1; }

$ppsim $plan --json one.json >one.txt
for processes in '2 --threads 2' '4 --threads 1'; do
  $mpiexec -n ${processes%% *} "$ppsim" $plan ${processes#* } --json many.json >many.txt
  cmp one.txt many.txt || fail "$processes: they say what one does"
  cmp one.json many.json || fail "$processes: they write what one does"
done

status=0
$ppsim $plan --memory-limit 1GiB >one.txt || status=$?
[ $status = 3 ] || fail 'nothing fits'
status=0
$mpiexec -n 2 "$ppsim" $plan --memory-limit 1GiB 2>/dev/null >many.txt || status=$?
[ $status = 3 ] || fail 'the exit status is that of one process'
cmp one.txt many.txt || fail 'what needs least is said in the same way'

$mpiexec -n 4 "$ppsim" $plan --stages 7 2>err && fail 'what cannot be is refused'
[ "$(grep -c '^ppsim: error' err)" = 1 ] || fail 'which is said once'
exit 0
