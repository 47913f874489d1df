#!/usr/bin/env bash
# run_test.sh PPSIM [PLUGINS]: that run.sh runs what it is asked for, goes on where it stopped, and tells what failed; with a folder
# of plugins for an emulated GPU, also what it runs on a GPU, in small. Times are not looked at.
set -u
ppsim=$1 plugins=${2:-} run=$(dirname "$(readlink -f "$0")")/run.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0 backend=threads

# expect WHAT STATUS... -- TEXT... -- ARGUMENT...: run.sh ends with one of the statuses and prints each text.
expect() {
  local what=$1 statuses=() texts=() status text
  shift
  while [ "$1" != -- ]; do statuses+=("$1"); shift; done; shift
  while [ "$1" != -- ]; do texts+=("$1"); shift; done; shift
  bash "$run" --backend "$backend" --out "$work/out" "$@" >"$work/said" 2>&1
  status=$?
  [[ " ${statuses[*]} " == *" $status "* ]] || { echo "FAILED: $what: exit status $status"; sed 's/^/  | /' "$work/said"; failed=1; }
  for text in "${texts[@]}"; do
    grep -qF -- "$text" "$work/said" || { echo "FAILED: $what: no '$text'"; sed 's/^/  | /' "$work/said"; failed=1; }
  done
}

cat >"$work/broken" <<END
#!/bin/sh
[ "\$1" != replay ] || { echo cannot >&2; exit 1; }
exec "$ppsim" "\$@"
END
chmod +x "$work/broken"
two=(--only 'runs/p2-timed-5ms*/gpipe-m4')

expect 'a list runs nothing' 4 -- 'left    runs/p8-timed-5ms-paced/zb-v-m32' '0 units were run, 0 failed' -- --list --ppsim "$ppsim"
[ ! -e "$work/out" ] || { echo "FAILED: a list leaves a folder"; failed=1; }
expect 'as much as there is time for, and one in any case' 4 -- 'FAILED  runs/p2-timed-5ms/gpipe-m4: exit status 1' cannot \
  '1 units were run, 1 failed, 1 are left' -- --minutes=1 "${two[@]}" --ppsim "$work/broken"
expect 'what failed is not tried again by itself' 1 -- 'done    runs/p2-timed-5ms-paced/gpipe-m4' '1 units were run, 1 failed' \
  'failed (--again' -- "${two[@]}" --ppsim "$ppsim"
expect 'but when asked' 0 3 -- 'done    runs/p2-timed-5ms/gpipe-m4' '1 units were run, 0 failed, 0 are left' \
  'memory      not compared' -- --again "${two[@]}" --ppsim "$ppsim"
expect 'what is done is done' 0 3 -- '0 units were run, 0 failed, 0 are left' '== runs' -- "${two[@]}" --ppsim "$ppsim" --pack "$work/all.tar.gz"
expect 'other settings are another folder' 2 -- "holds what ran with 'threads, 5 steps" -- "${two[@]}" --ppsim "$ppsim" --steps 6
expect 'a pattern that matches nothing' 2 -- '--only: no unit matches runs/typo*' -- --only 'runs/typo*' --ppsim "$ppsim"
expect 'orders of the search, and the costs that they need' 0 3 -- 'done    synthesized/p4-timed-5ms-paced/k4-order' \
  'done    synthesized/p4-timed-5ms-paced/k4-m16' '2 units were run, 0 failed, 0 are left' '== synthesized' -- \
  --only 'synthesized/p4-timed-5ms-paced/k4-m16' --ppsim "$ppsim"
expect 'a wrong option' 2 -- "unknown option '--bakcend'" -- --bakcend x
expect 'a wrong backend' 2 -- "--backend: 'tpu' is none" -- --backend tpu
expect 'a wrong number' 2 -- "--minutes: '0' is not a whole number from 1 up" -- --minutes 0
expect 'no program' 2 -- "--ppsim: there is no program '$work/none'" -- --ppsim "$work/none"
expect 'no place to pack' 2 -- "--pack: cannot write '$work/none/x.tar.gz'" -- --ppsim "$ppsim" --pack "$work/none/x.tar.gz"

# What other programs had a part in is not evidence.
cat >"$work/contended" <<END
#!/bin/sh
[ "\$1" != replay ] || { echo '  cores       CONTENDED: in tasks, a stage had only 50 % of a core'; exit 0; }
exec "$ppsim" "\$@"
END
chmod +x "$work/contended"
expect 'a contended run is not done' 1 -- 'FAILED  runs/p2-timed-5ms/zb-h1-m4: exit status 5 (other programs used its cores)' -- \
  --only 'runs/p2-timed-5ms/zb-h1-m4' --ppsim "$work/contended"
expect 'a name that only looks like a unit' 2 -- '--only: no unit matches heldout/p2-mlp-tokens/zb-v-m16' -- \
  --only heldout/p2-mlp-tokens/zb-v-m16 --ppsim "$ppsim"

# What watches the clocks ends with the script.
mkdir "$work/bin"
printf '#!/bin/sh\ncase "$*" in *--loop*) echo $$ >"%s/watcher"; exec sleep 60 ;; *) echo "a GPU" ;; esac\n' "$work" >"$work/bin/nvidia-smi"
chmod +x "$work/bin/nvidia-smi"
PATH=$work/bin:$PATH expect 'with a GPU to watch' 0 3 -- 'done    runs/p2-timed-5ms/gpipe-m4' -- \
  --only runs/p2-timed-5ms/gpipe-m4 --ppsim "$ppsim" --out "$work/watched"
[ -s "$work/watcher" ] || { echo "FAILED: nobody watches the clocks"; failed=1; }
! kill -0 "$(cat "$work/watcher")" 2>/dev/null || { echo "FAILED: the watcher outlives the script"; failed=1; }

# One at a time, and a signal ends what runs.
bash "$run" --backend threads --out "$work/long" --ppsim "$ppsim" --only 'runs/p8-timed-5ms/*-m32' >"$work/long.said" 2>&1 &
first=$!
for _ in $(seq 50); do [ ! -e "$work/long/log/runs.p8-timed-5ms.gpipe-m32" ] || break; sleep 0.1; done
expect 'one at a time' 2 -- "another run.sh works in '$work/long'" -- --out "$work/long" --ppsim "$ppsim"
kill -TERM $first
wait $first
[ $? = 130 ] || { echo "FAILED: a signal: status"; failed=1; }
unit_runs() { for at in /proc/[0-9]*/cwd; do [ "$(readlink "$at" 2>/dev/null)" != "$work/long" ] || return 0; done; return 1; }
for _ in $(seq 100); do unit_runs || break; sleep 0.1; done
! unit_runs || { echo "FAILED: a signal leaves its unit running"; failed=1; }

tar -tzf "$work/all.tar.gz" >"$work/packed"
for file in ./runs/p2-timed-5ms/gpipe-m4.json.gz ./runs/p2-timed-5ms-paced/v1.toml ./runs.json ./runs.svg ./log/runs.p2-timed-5ms.gpipe-m4; do
  grep -qxF "$file" "$work/packed" || { echo "FAILED: $file is not packed"; failed=1; }
done
grep -qxF 'comm = "2.5ms"' "$work/out/runs/p2-timed-5ms-paced/v1.toml" || { echo "FAILED: a paced link of half a forward"; failed=1; }

# Without --ppsim it builds: here, in a copy of the tree, what stands in for the build fails, and then makes the program.
mkdir -p "$work/tree/tests/gpu"
cp "$run" "$work/tree/tests/gpu/"
printf '#!/bin/sh\necho "no compiler"; exit 1\n' >"$work/tree/tests/gpu/build.sh"
run=$work/tree/tests/gpu/run.sh backend=cuda
expect 'a build that fails' 1 -- 'FAILED  build/ppsim: exit status 1' 'no compiler' 'no program yet' -- --minutes 9 --out "$work/built"
printf '#!/bin/sh\nmkdir -p "%s/build/gpu"; cp "%s" "%s/build/gpu/ppsim"\n' "$work/tree" "$work/broken" "$work/tree" >"$work/tree/tests/gpu/build.sh"
CUDA_VISIBLE_DEVICES='' expect 'a build, and a backend that cannot be used' 2 -- 'done    build/ppsim' "backend 'cuda' cannot be used here" -- \
  --minutes 9 --out "$work/built" --only 'first/*'
run=$(dirname "$(readlink -f "$0")")/run.sh

if [ -n "$plugins" ]; then
  # Works of a 64th of the size.
  cat >"$work/small" <<END
#!/usr/bin/env bash
export PPSIM_PLUGIN_DIR='$plugins'
for argument; do
  case \$before in
    --tokens) argument=\$((argument / 64 > 8 ? argument / 64 : 8)) ;;
    --width) argument=\$((argument / 64 > 32 ? argument / 64 : 32)) ;;
    --steps | --warmup) argument=1 ;;
  esac
  arguments+=("\$argument") before=\$argument
done
exec "$ppsim" "\${arguments[@]}"
END
  chmod +x "$work/small"
  backend=cuda
  expect 'what is run on a GPU' 0 3 -- 'done    first/cuda-1f1b' 'done    first/cuda-transformer' 'done    costs/p2-mlp-medium/v2' \
    'done    runs/p2-mlp-medium-paced/zb-v-m4' 'done    nccl/self' 'done    heldout/p2-mlp-width/1f1b-m8' ', 0 failed, 0 are left' \
    'results     correct in all 2' 'memory      as predicted in all 2' '== heldout' 'memory      as predicted in all 1' -- \
    --only first/cuda-1f1b --only first/cuda-transformer --only 'costs/p2-mlp-medium/*' --only 'runs/p2-mlp-medium/gpipe-m4' \
    --only 'runs/p2-mlp-medium-paced/zb-v-m4' --only nccl/self --only heldout/p2-mlp-width/v1 --only heldout/p2-mlp-width/1f1b-m8 \
    --ppsim "$work/small" --out "$work/gpu" --probes "$work"
fi
exit $failed
