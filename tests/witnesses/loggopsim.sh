#!/usr/bin/env bash
# loggopsim.sh: GOAL files (--goal) of many schedules, run by LogGOPSim: the step has to be that of 'ppsim --comm', to the nanosecond.
# Exit status: 0 all are equal, 1 some are not, 2 something is missing.
# LOGGOPSIM_REPO: a clone of your own, fetched from instead of GitHub.
. "$(dirname "$(readlink -f "$0")")/common.sh"
needs git git g++ g++ make make gengetopt gengetopt re2c re2c
[ -e /usr/include/graphviz/cgraph.h ] || fail 'no cgraph.h' 'apt install libgraphviz-dev'
checkout loggopsim "${LOGGOPSIM_REPO:-https://github.com/spcl/LogGOPSim}" 76451de16546c7ea39651c183cbc532f4a3457c0
make -s -C loggopsim/src/LogGOPSim CXXFLAGS='-std=c++17 -O2 -w' CCFLAGS='-O2 -w' >loggopsim.log 2>&1 || fail "LogGOPSim does not build" "see $work/loggopsim.log"

compared=0 differ=0 tasks=0
costs=(--forward 1003us --input-grad 907us --weight-grad 811us --boundary-bytes 1MiB)
compare() { # COMM_NS ARGUMENTS
  local comm=$1 ours theirs
  shift
  "$ppsim" "$@" --comm "${comm}ns" --goal w.goal --json=w.json >w.out 2>&1 || { echo "not run: ppsim $* --comm ${comm}ns"; cat w.out; differ=$((differ + 1)); return; }
  ours=$(sed -n 's/^  "makespan_ns": \([0-9]*\),$/\1/p' w.json)
  loggopsim/src/LogGOPSim/txt2bin -i w.goal -o w.bin >/dev/null
  theirs=$(loggopsim/src/LogGOPSim/LogGOPSim -f w.bin -L "$comm" -o 0 -g 0 -G 0 -S 2000000000 2>/dev/null |
    awk '/^Host [0-9]+:/ { if ($3 > most) most = $3 } END { print most }')
  compared=$((compared + 1)) tasks=$((tasks + $(grep -c ': calc ' w.goal)))
  [ "$ours" = "$theirs" ] || { echo "differs: ppsim $* --comm ${comm}ns: $ours ns here, ${theirs:-nothing} there"; differ=$((differ + 1)); }
}
for comm in 1 10007 400009; do
  for shape in '2 4' '4 4' '4 8' '8 8' '8 32'; do
    read -r p m <<<"$shape"
    for schedule in sequential gpipe 1f1b eager-1f1b zb-h1 zb-h2 zb-auto 'interleaved --vpp 2' 'interleaved --vpp 3' 'looped-bfs --vpp 2' \
        'zb-interleaved --vpp 2' zb-v v-half v-min 'hanayo --vpp 4'; do
      compare "$comm" --stages "$p" --mb "$m" --schedule $schedule "${costs[@]}"
    done
  done
done
echo "LogGOPSim: $compared runs compared ($tasks tasks), $differ differ"
[ "$differ" = 0 ] && [ "$compared" -gt 0 ]
