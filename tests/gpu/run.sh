#!/usr/bin/env bash
# run.sh [options]: whether predictions hold on this machine. Builds, calibrates, replays every schedule of the matrix, and holds
# each run against its prediction. All it finds lies in one folder; docs/validation.md says how to read it.
#
#   --backend NAME    cuda [the default], or threads: real tasks on as many cores as there are stages, timed ones beyond
#   --out FOLDER      where everything goes [build/evidence-NAME]
#   --steps N         of each run, after two to warm up (eight on a GPU); the median counts [5]
#   --minutes N       ends by then; the same command again goes on where it stopped
#   --only PATTERN    only units whose name matches, as 'runs/p4-*', and what they need; can be given several times
#   --again           also units that failed before
#   --list            the units and what became of each; runs nothing
#   --ppsim FILE      that program, and no build
#   --probes FOLDER   the probe suite, with a run.sh, where it lies [build/gpu_probe]
#   --pack FILE       a tar.gz of the folder at the end, without what was built
#
# A unit is one command with a time limit: 90 s for most, which need one to ten. It is done when the command has ended with 0 and
# no other program had used its cores, and is not run again. Exit status: 0 all is done and no prediction is off by more than the
# tolerance, 1 a unit failed, 2 a mistake in the options, 3 a prediction does not hold, 4 units are left.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
fail() { printf 'run.sh: error: %s\n' "$1" >&2; [ $# -lt 2 ] || printf 'run.sh: hint: %s\n' "$2" >&2; exit 2; }

backend=cuda out='' minutes='' steps=5 only=() again='' list='' ppsim='' probes=$root/build/gpu_probe pack=''
while [ $# -gt 0 ]; do
  case $1 in
    --again) again=yes; shift; continue ;;
    --list) list=yes; shift; continue ;;
    -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
  esac
  [[ $1 =~ ^--(backend|out|steps|minutes|only|ppsim|probes|pack)$ ]] || fail "unknown option '$1'" "run.sh --help says what there is"
  [ $# -ge 2 ] || fail "$1 needs a value"
  case $1 in --only) only+=("$2") ;; *) declare "${1#--}=$2" ;; esac
  shift 2
done
[[ $backend =~ ^(cuda|threads)$ ]] || fail "--backend: '$backend' is none" "cuda or threads"
[[ $minutes =~ ^([1-9][0-9]*)?$ ]] || fail "--minutes: '$minutes' is not a whole number from 1 up"
[[ $steps =~ ^[1-9][0-9]*$ ]] || fail "--steps: '$steps' is not a whole number from 1 up"
: "${out:=$root/build/evidence-$backend}"
absolute() { case $1 in "" | /*) echo "$1" ;; *) echo "$PWD/$1" ;; esac; }
ppsim=$(absolute "$ppsim") probes=$(absolute "$probes") pack=$(absolute "$pack")
[ -z "$ppsim" ] || [ -x "$ppsim" ] || fail "--ppsim: there is no program '$ppsim'"
[ -z "$pack" ] || touch "$pack" 2>/dev/null || fail "--pack: cannot write '$pack'"
if [ -n "$list" ] && [ ! -d "$out" ]; then
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
fi
mkdir -p "$out"/{done,failed,log} 2>/dev/null || fail "--out: cannot write into '$out'"
cd "$out" # so that the commands in what is recorded are the same everywhere
exec 9>lock
flock -n 9 || fail "another run.sh works in '$PWD'" "wait for it, or --out FOLDER"
child=''
stop() {
  [ -z "$child" ] || kill "$child" 2>/dev/null || :
  echo "stopped: the same command goes on where it was" >&2
  exit 130
}
trap stop INT TERM

# --- units -----------------------------------------------------------------------------------------------------------------------

begun=$SECONDS ran=0 failures=() left=() matched=''

selected() {
  local pattern
  [ ${#only[@]} -gt 0 ] || return 0
  # shellcheck disable=SC2053 # it is a pattern
  for pattern in "${only[@]}"; do
    if [[ $1 == $pattern ]]; then return 0; fi
  done
  return 1
}

# The machine; and its clocks, power and temperature while units run, as a GPU that slows itself down makes other times.
note_machine() {
  local settings gpu=no\ GPU
  if command -v nvidia-smi >/dev/null; then
    gpu=$(nvidia-smi --query-gpu=name,driver_version,vbios_version,memory.total,clocks.max.sm,clocks.max.mem,power.limit --format=csv,noheader || :)
  fi
  # Costs of one machine say nothing of another, and runs are recorded with one number of steps.
  settings="$backend, $steps steps, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, $gpu"
  [ -e settings ] || echo "$settings" >settings
  [ "$settings" = "$(cat settings)" ] || fail "'$PWD' holds what ran with '$(cat settings)', and now it is '$settings'" "--out FOLDER: another one"
  { date -u +%F; uname -srm; echo "$settings"; "$ppsim" --version; "$ppsim" list backends; } >machine.txt
  [ "$gpu" != 'no GPU' ] || return 0
  nvidia-smi --query-gpu=timestamp,clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv,noheader --loop=1 >>clocks.csv 2>&1 9>&- &
  watcher=$!
  trap '{ kill $watcher && wait $watcher; } 2>/dev/null || :' EXIT # and it is gone when this one is
}

is_left() {
  matched=yes
  left+=("$1")
  [ -z "$list" ] || echo "left    $1"
}

# unit NAME SECONDS COMMAND...: runs COMMAND, its output into log/NAME, unless that was done before, or is neither wanted nor
# needed, or there is no time for it. The first one of a call is begun in any case, so that calls come to an end.
needed=''
unit() {
  local name=$1 limit=$2 file=${1//\//.} status=0 cut='' time_left why=''
  shift 2
  if selected "$name"; then matched=yes; elif [ -z "$needed" ]; then return 0; fi
  if [ -e "done/$file" ]; then [ -z "$list" ] || echo "done    $name"; return 0; fi
  if [ -e "failed/$file" ] && [ -z "$again" ]; then
    failures+=("$name")
    [ -z "$list" ] || echo "failed  $name"
    return 0
  fi
  if [ -n "$list" ]; then is_left "$name"; return 0; fi
  if [ -n "$minutes" ]; then
    time_left=$((60 * 10#$minutes - (SECONDS - begun)))
    if [ "$limit" -gt "$time_left" ]; then
      if [ $ran -gt 0 ] || [ "$time_left" -le 0 ]; then is_left "$name"; return 0; fi
      limit=$time_left cut=yes
    fi
  fi
  rm -f "failed/$file"
  printf '%s\n' "$*" >"log/$file"
  timeout --kill-after=10 "$limit" "$@" >>"log/$file" 2>&1 9>&- & # in the background, so that a signal is heard at once
  child=$!
  wait $child || status=$?
  child=''
  ran=$((ran + 1))
  if [ $status = 124 ] || [ $status = 137 ]; then
    if [ -n "$cut" ]; then is_left "$name"; return 0; fi # it goes on from there, or has more time, in the next call
    why=" (longer than $limit s)"
  fi
  if [ $status = 0 ] && grep -Eq '^ +cores +CONTENDED|^ +contended +yes' "log/$file"; then
    status=5 why=" (other programs used its cores)"
  fi
  if [ $status = 0 ]; then
    touch "done/$file"
    echo "done    $name ($((SECONDS - begun)) s)"
  else
    mv "log/$file" "failed/$file"
    echo "exit status $status$why" >>"failed/$file"
    failures+=("$name")
    echo "FAILED  $name: exit status $status$why"
    tail -n 4 "failed/$file" | sed '$d; s/^/        /'
  fi
}

is_done() { [ -e "done/${1//\//.}" ]; }

# --- the program -------------------------------------------------------------------------------------------------------------------

if [ -z "$ppsim" ]; then
  if [ "$backend" = cuda ]; then
    if [ -z "$list" ]; then rm -f done/build.ppsim failed/build.ppsim; fi # it does what is new, and nothing twice
    needed=yes
    unit build/ppsim 580 bash "$root/tests/gpu/build.sh" --targets "ppsim_cli ppsim_gpu ppsim_mpi"
    needed='' ran=0
    # shellcheck disable=SC1091 # made by the build
    [ ! -e "$root/build/gpu/env.sh" ] || . "$root/build/gpu/env.sh"
    ppsim=$root/build/gpu/ppsim
  else
    ppsim=$root/build/release/ppsim
    [ -n "$list" ] || "$root/tools/build" plugins
  fi
fi
if [ -z "$list" ] && [ -x "$ppsim" ]; then
  "$ppsim" list backends | sed -n "/^$backend\$/,/^[a-z]/p" | grep -q '^  usable  *yes' || {
    "$ppsim" list backends | sed -n "/^$backend\$/,/^[a-z]/p" | sed -n 's/^  \(here\|remedy\)/  \1/p' >&2
    fail "backend '$backend' cannot be used here" "run.sh --list says what it would run"
  }
  note_machine
fi
if [ ! -x "$ppsim" ] && [ -z "$list" ]; then # the build has failed, or goes on in the next call
  echo "no program yet: see $PWD/failed, or log"
  if [ ${#left[@]} -gt 0 ]; then exit 4; else exit 1; fi
fi

# --- what it is that is run --------------------------------------------------------------------------------------------------------

# An idle GPU takes a while to raise its clock.
warmup=2
[ "$backend" = threads ] || warmup=8
schedules=(gpipe 1f1b interleaved zb-h1 zb-v dualpipe-v)
chunks_of() { case $1 in interleaved | zb-v | dualpipe-v) echo 2 ;; *) echo 1 ;; esac }
# In a stage are two layers, as one chunk or as two, so that all schedules do the same work.
layers_of() { echo $((2 / $1)); }

# work BLOCK SIZE STAGES: the options of one work. On a GPU tokens shrink with the share of it that a stage has, so that tasks
# take as long: a layer's forward is 16 * tokens * width^2 operations, of which a multiprocessor of an H100 does 2 to 4e12
# in a second; a stage's forward then takes 0.5, 1.4 and 6.3 ms.
work() {
  local tokens width
  case $backend:$2 in
    cuda:short) tokens=$((4096 / $3)) width=1024 ;;
    cuda:medium) tokens=$((4096 / $3)) width=2048 ;;
    cuda:long) tokens=$((6144 / $3)) width=4096 ;;
    threads:medium) tokens=64 width=512 ;;
  esac
  echo --block "$1" --tokens $tokens --width $width
}

# Costs of timed tasks are what is said.
timed_costs() {
  printf 'title = "timed tasks"\nstages = %d\nvpp = %d\nforward = "5 ms"\ninput-grad = "5 ms"\nweight-grad = "5 ms"\ncompute = "timed"\n' "$1" "$2"
}

# costs FOLDER STAGES BLOCK SIZE: runs/FOLDER/v1.toml and v2.toml.
costs() {
  local folder=$1 stages=$2 block=$3 size=$4 chunks arguments
  [ -n "$list" ] || mkdir -p "runs/$folder"
  for chunks in 1 2; do
    if [ "$block" = timed ]; then
      [ -n "$list" ] || timed_costs "$stages" $chunks >"runs/$folder/v$chunks.toml"
      continue
    fi
    read -ra arguments <<<"$(work "$block" "$size" "$stages")"
    unit "costs/$folder/v$chunks" 90 "$ppsim" calibrate --backend "$backend" --stages "$stages" --vpp $chunks \
      "${arguments[@]}" --layers-per-chunk "$(layers_of $chunks)" -o "runs/$folder/v$chunks.toml"
  done
}

# paced FROM TO: the same costs over an emulated link whose latency is half a forward.
paced() {
  local chunks from to mean
  [ -n "$list" ] || mkdir -p "runs/$2"
  for chunks in 1 2; do
    from=runs/$1/v$chunks.toml to=runs/$2/v$chunks.toml
    if [ ! -e "$from" ] || [ -n "$list" ] || [ "$to" -nt "$from" ]; then continue; fi
    # Of the first chunk: "1.5 ms", "230 us", "980 ns".
    mean=$(sed -n 's/^forward = \[\{0,1\}"\([0-9.]*\) \{0,1\}\([nmu]\{0,1\}s\)".*/\1 \2/p' "$from" | awk '{ print $1 / 2 $2 }')
    [ -n "$mean" ] || fail "'$PWD/$from' says no time of a forward" "calibrate again: remove it, and done/costs.$1.v$chunks"
    sed -e '/^comm = /d; /^transport = /d' -e "0,/^forward = /s//comm = \"$mean\"\ntransport = \"paced\"\nforward = /" "$from" >"$to.part"
    mv "$to.part" "$to"
  done
}

# runs FOLDER STAGES: every schedule with few and with many microbatches.
runs() {
  local folder=$1 stages=$2 mb schedule scenario
  for mb in $((2 * stages)) $((4 * stages)); do
    for schedule in "${schedules[@]}"; do
      scenario=runs/$folder/v$(chunks_of "$schedule").toml
      if [ ! -e "$scenario" ] && [ -z "$list" ]; then # its calibration has failed, or is left
        ! selected "runs/$folder/$schedule-m$mb" || is_left "runs/$folder/$schedule-m$mb"
        continue
      fi
      unit "runs/$folder/$schedule-m$mb" 90 "$ppsim" replay --backend "$backend" --scenario "$scenario" \
        --schedule "$schedule" --mb $mb --warmup $warmup --steps "$steps" -o "runs/$folder/$schedule-m$mb.json.gz"
    done
  done
}

# Whether one of the runs of FOLDER... with STAGES is wanted: wants STAGES FOLDER...
wants() {
  local stages=$1 folder schedule mb
  shift
  for folder; do
    for schedule in "${schedules[@]}"; do
      for mb in $((2 * stages)) $((4 * stages)); do if selected "$folder/$schedule-m$mb"; then return 0; fi; done
    done
  done
  return 1
}

# The same for orders that are synthesized: wants_orders STAGES FOLDER...
wants_orders() {
  local stages=$1 folder limit
  shift
  for folder; do
    for limit in "$stages" $((3 * stages / 2)); do
      if selected "synthesized/$folder/k$limit-m$((4 * stages))" || selected "synthesized/$folder/k$limit-order"; then return 0; fi
    done
  done
  return 1
}

# matrix STAGES BLOCK SIZE: over copies and, after them, over paced links.
matrix() {
  local folder=p$1-$2-$3
  if wants "$1" "runs/$folder" "runs/$folder-paced" || wants "$1" "heldout/${folder%-medium}"-{tokens,width} ||
    wants_orders "$1" "$folder" "$folder-paced"; then needed=yes; fi
  costs "$folder" "$1" "$2" "$3"
  needed=''
  runs "$folder" "$1"
  paced "$folder" "$folder-paced"
  runs "$folder-paced" "$1"
}

# held_out STAGES BLOCK NAME OPTION...: costs that were scaled from those of the medium size to another shape, which is then run.
held_out() {
  local stages=$1 block=$2 name=heldout/p$1-$2-$3 from=runs/p$1-$2-medium/v1.toml schedule
  shift 3
  if wants "$stages" "$name"; then needed=yes; fi
  if [ -e "$from" ] || [ -n "$list" ]; then
    [ -n "$list" ] || mkdir -p "$name"
    unit "$name/v1" 10 "$ppsim" scale "$from" "$@" -o "$name/v1.toml"
  fi
  needed=''
  for schedule in gpipe 1f1b zb-h1; do
    if [ ! -e "$name/v1.toml" ] && [ -z "$list" ]; then
      ! selected "$name/$schedule-m$((4 * stages))" || is_left "$name/$schedule-m$((4 * stages))"
      continue
    fi
    unit "$name/$schedule-m$((4 * stages))" 90 "$ppsim" replay --backend "$backend" --scenario "$name/v1.toml" \
      --schedule "$schedule" --mb $((4 * stages)) --warmup $warmup --steps "$steps" -o "$name/$schedule-m$((4 * stages)).json.gz"
  done
}

# synthesized FOLDER STAGES: orders that the search finds for these costs, with the memory of 1F1B and with half more.
synthesized() {
  local from=runs/$1/v1.toml to=synthesized/$1 stages=$2 mb=$((4 * $2)) limit
  wants_orders "$stages" "$1" || return 0
  if [ -z "$list" ] && [ -e "$from" ]; then mkdir -p "$to" && cp "$from" "$to/v1.toml"; fi
  for limit in "$stages" $((3 * stages / 2)); do
    if [ ! -e "$from" ] && [ -z "$list" ]; then # its calibration has failed, or is left
      ! selected "$to/k$limit-m$mb" || is_left "$to/k$limit-m$mb"
      continue
    fi
    if selected "$to/k$limit-m$mb"; then needed=yes; fi
    unit "$to/k$limit-order" 60 "$ppsim" synthesize --scenario "$to/v1.toml" --mb $mb --activation-limit "$limit" --effort 1 --csv "$to/k$limit.csv"
    needed=''
    [ -e "$to/k$limit.csv" ] || [ -n "$list" ] || continue
    unit "$to/k$limit-m$mb" 90 "$ppsim" replay --backend "$backend" --scenario "$to/v1.toml" \
      --schedule-file "$to/k$limit.csv" --warmup $warmup --steps "$steps" -o "$to/k$limit-m$mb.json.gz"
  done
}

# --- all of it, the most telling first ---------------------------------------------------------------------------------------------

if [ "$backend" = cuda ]; then
  small=(--mb 8 --tokens 256 --width 256)
  for schedule in 1f1b interleaved zb-h1 dualpipe-v; do
    unit "first/cuda-$schedule" 90 "$ppsim" replay --backend cuda --stages 4 --vpp "$(chunks_of $schedule)" --schedule $schedule "${small[@]}"
  done
  unit first/cuda-transformer 90 "$ppsim" replay --backend cuda --stages 4 --block transformer --schedule 1f1b "${small[@]}"
  unit first/cuda-timed-paced 90 "$ppsim" replay --backend cuda --stages 4 --schedule 1f1b --mb 8 --compute timed \
    --forward 1ms --backward 2ms --comm 500us --transport paced
  unit first/selftest 90 "$ppsim" selftest --backend cuda
  [ ! -e "$probes/run.sh" ] || unit first/probes 450 env OUT="$PWD" bash "$probes/run.sh"
  for stages in 4 2 8; do matrix $stages mlp medium; done
  unit nccl/self 90 "$ppsim" replay --backend cuda --stages 4 --schedule 1f1b --transport nccl-self "${small[@]}" -o "nccl-self.json.gz"
  for schedule in 1f1b interleaved zb-h1; do
    unit "nccl/$schedule" 120 env PPSIM_RANKS_PER_GPU=4 NCCL_DEBUG=WARN NCCL_CUMEM_HOST_ENABLE=0 mpirun --allow-run-as-root --oversubscribe -n 4 "$ppsim" replay --backend nccl \
      --stages 4 --vpp "$(chunks_of $schedule)" --schedule $schedule --steps 3 --timeout 60s "${small[@]}"
  done
  tiny=(--stages 2 --mb 4 --tokens 64 --width 128 --warmup 1 --steps 1 --timeout 250s)
  for tool in memcheck racecheck; do
    unit "sanitizer/$tool" 300 compute-sanitizer --report-api-errors no --tool $tool --error-exitcode 9 "$ppsim" replay --backend cuda --schedule zb-h1 "${tiny[@]}"
    unit "sanitizer/$tool-transformer" 300 compute-sanitizer --report-api-errors no --tool $tool --error-exitcode 9 "$ppsim" replay --backend cuda \
      --block transformer --schedule 1f1b "${tiny[@]}"
  done
  if [ "$ppsim" = "$root/build/gpu/ppsim" ]; then
    unit tests/build 580 bash "$root/tests/gpu/build.sh"
    if is_done tests/build; then unit tests/ctest 400 ctest --test-dir "$root/build/gpu" -L 'unit|runtime|gpu_emulation|mpi' --parallel "$(nproc)"; fi
  fi
  for folder in p4-mlp-medium p4-mlp-medium-paced; do synthesized $folder 4; done
  for stages in 4 2 8; do
    held_out $stages mlp tokens --tokens $((8192 / stages))
    held_out $stages mlp width --width 3072
  done
  for stages in 4 2 8; do matrix $stages transformer medium; done
  synthesized p4-transformer-medium-paced 4
  for size in short long; do for stages in 4 2 8; do for block in mlp transformer; do matrix $stages $block $size; done; done; done
  for stages in 4 2 8; do held_out $stages transformer tokens --tokens $((8192 / stages)); done
else
  for stages in 2 4 8; do matrix $stages timed 5ms; done
  synthesized p4-timed-5ms-paced 4
  for block in mlp transformer; do
    for stages in 2 4 8; do
      if [ "$stages" -gt "$(nproc)" ]; then continue; fi # stages that compute need a core each
      matrix $stages $block medium
      held_out $stages $block tokens --tokens 128
      held_out $stages $block width --width 384
    done
  done
fi

# --- what it says ------------------------------------------------------------------------------------------------------------------

[ ${#only[@]} -eq 0 ] || [ -n "$matched" ] || fail "--only: no unit matches ${only[*]}" "run.sh --list names them all"

holds=0
# validate NAME FOLDER...: all runs there against the costs beside them.
validate() {
  local name=$1 folder folders=() status=0
  shift
  for folder; do if compgen -G "$folder/*.json.gz" >/dev/null; then folders+=("$folder"); fi; done
  [ ${#folders[@]} -gt 0 ] || return 0
  echo
  echo "== $name"
  "$ppsim" validate "${folders[@]}" --json="$name.json" --svg "$name.svg" --markdown="$name.md" 2>&1 | tee "$name.txt" || status=$?
  case $status in 0) ;; 3) holds=3 ;; *) failures+=("validate $name") ;; esac
}
if [ -z "$list" ]; then
  validate runs runs/*/
  validate heldout heldout/*/
  validate synthesized synthesized/*/
  [ -z "$pack" ] || tar -czf "$pack" --exclude=./lock --exclude=./clocks.csv . || failures+=("--pack $pack")
  if [ -n "$pack" ] && [ -e clocks.csv ]; then gzip -c clocks.csv >"${pack%.tar.gz}-clocks.csv.gz" || :; fi
fi

echo
echo "$ran units were run, ${#failures[@]} failed, ${#left[@]} are left"
[ ${#failures[@]} -eq 0 ] || printf 'failed (--again runs them again; %s/failed has their output): %s\n' "$PWD" "${failures[*]}"
if [ ${#left[@]} -gt 0 ]; then exit 4; elif [ ${#failures[@]} -gt 0 ]; then exit 1; else exit $holds; fi
