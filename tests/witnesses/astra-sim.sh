#!/usr/bin/env bash
# astra-sim.sh: Chakra traces (--chakra) of several schedules, run by ASTRA-sim with its analytical, congestion-aware network: the step
# has to be that of 'ppsim --transfer link --stages-per-node 1', to 1e-8; then the time that each of the two takes for a large one. Each
# file is read with Chakra's own reader besides, and what that finds held against the order as a CSV.
# Exit status: 0 all agree, 1 some do not, 2 something is missing.
# ASTRA_REPO, ASTRA_CHAKRA_REPO, ASTRA_NETWORK_REPO, ASTRA_MEMORY_REPO, CHAKRA_REPO: clones of your own, fetched from instead of GitHub;
# ASTRA_CHAKRA_COMMIT, ASTRA_NETWORK_COMMIT: others than those that docs/witnesses.md names.
. "$(dirname "$(readlink -f "$0")")/common.sh"
needs git git g++ g++ cmake cmake ninja ninja-build protoc protobuf-compiler python3 python3
python3 -c 'import google.protobuf' 2>/dev/null || fail 'no protobuf for Python' 'apt install python3-protobuf'
github=https://github.com
checkout astra-sim "${ASTRA_REPO:-$github/astra-sim/astra-sim}" 518bd513ae110428cd62eb60efc0f3993fd53c70
extern=astra-sim/extern
checkout $extern/graph_frontend/chakra "${ASTRA_CHAKRA_REPO:-$github/astra-sim/chakra}" "${ASTRA_CHAKRA_COMMIT:-f37c2bb50afa8b0e99b32ba9921662ab77502e85}"
checkout $extern/network_backend/analytical "${ASTRA_NETWORK_REPO:-$github/astra-sim/astra-network-analytical}" \
  "${ASTRA_NETWORK_COMMIT:-599a0473a9a74f5383f73b3cea5a12b9bc5ebaef}"
checkout $extern/remote_memory_backend/analytical "${ASTRA_MEMORY_REPO:-$github/astra-sim/astra-memory-analytical}" 641cce854d256bfd288b1de9607b6757313363f9
checkout chakra "${CHAKRA_REPO:-$github/mlcommons/chakra}" 21585d8f2d65603d791d2121e3d4632351120262

program=build-astra/bin/AstraSim_Analytical_Congestion_Aware
if [ ! -x $program ]; then
  # Debian's fmt, spdlog and yaml-cpp in place of copies; several files at once, as each is mostly headers
  mkdir -p $extern/helper/{fmt,spdlog} $extern/network_backend/analytical/extern/yaml-cpp
  echo 'find_package(fmt REQUIRED)' >$extern/helper/fmt/CMakeLists.txt
  echo 'find_package(spdlog REQUIRED)' >$extern/helper/spdlog/CMakeLists.txt
  : >$extern/network_backend/analytical/extern/yaml-cpp/CMakeLists.txt
  protoc --proto_path=$extern/graph_frontend/chakra/schema/protobuf --cpp_out=$extern/graph_frontend/chakra/schema/protobuf et_def.proto
  # Where Chakra's reader has no versions yet, ASTRA-sim finds it all the same
  echo 'namespace Chakra { namespace FeederV3 {} using namespace FeederV3; }' >reader.hpp
  { cmake -G Ninja -S astra-sim/build/astra_analytical -B build-astra -DBUILDTARGET=congestion_aware -DCMAKE_CXX_FLAGS="-include $PWD/reader.hpp" \
      -DCMAKE_FIND_PACKAGE_TARGETS_GLOBAL=ON -DFETCHCONTENT_TRY_FIND_PACKAGE_MODE=ALWAYS -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 &&
      cmake --build build-astra; } >astra-sim.log 2>&1 ||
    fail 'ASTRA-sim does not build' "see $work/astra-sim.log; apt install libfmt-dev libspdlog-dev libyaml-cpp-dev libprotobuf-dev"
fi
mkdir -p schema
protoc --proto_path=chakra/schema/protobuf --python_out=schema et_def.proto

cat >system.json <<'JSON'
{ "scheduling-policy": "FIFO", "endpoint-delay": 0, "active-chunks-per-dimension": 1, "preferred-dataset-splits": 1,
  "all-reduce-implementation": ["ring"], "all-gather-implementation": ["ring"], "reduce-scatter-implementation": ["ring"],
  "all-to-all-implementation": ["ring"], "collective-optimization": "localBWAware", "local-mem-bw": 50, "boost-mode": 0,
  "roofline-enabled": 0, "peak-perf": 900 }
JSON
echo '{ "memory-type": "NO_MEMORY_EXPANSION" }' >memory.json

compared=0 differ=0 largest=0
# One uplink for each stage: ASTRA-sim lets a rank send one message at a time, up or down
costs=(--forward 1008us --input-grad 912us --weight-grad 816us --latency 7us --bandwidth 50GiB/s --boundary-bytes 24MiB
  --transfer link --stages-per-node 1)
seconds() { local begin; begin=$(date +%s%N); "$@"; took=$(awk -v ns=$(($(date +%s%N) - begin)) 'BEGIN { printf "%.2f", ns / 1e9 }'); }
astra() {
  "$program" --workload-configuration=w --system-configuration=system.json --remote-memory-configuration=memory.json \
    --network-configuration=network.yml >astra.out 2>&1 || { tail -n 5 astra.out; fail 'ASTRA-sim ends with an error'; }
}
simulate() { "$ppsim" "$@" >w.out 2>&1 || { cat w.out; fail "ppsim refuses: $*"; }; }
compare() { # STAGES MICROBATCHES ARGUMENTS: sets $our_time and $their_time, in seconds
  local ours theirs off
  rm -f w.*.et
  simulate --stages "$1" --mb "$2" "${@:3}" "${costs[@]}" --chakra w --csv w.csv
  seconds simulate --schedule-file w.csv "${costs[@]}" --json=w.json
  our_time=$took
  printf 'topology: [ FullyConnected ]\nnpus_count: [ %s ]\nbandwidth: [ 50 ]\nlatency: [ 7000 ]\n' "$1" >network.yml
  seconds astra
  their_time=$took
  ours=$(sed -n 's/^  "makespan_ns": \([0-9]*\),$/\1/p' w.json)
  theirs=$(sed -n 's/.*sys\[[0-9]*\] finished, \([0-9]*\) cycles.*/\1/p' astra.out | sort -n | tail -n 1)
  PYTHONPATH=schema:chakra/src/third_party/utils python3 "$here/chakra_nodes.py" "$1" w w.csv || differ=$((differ + 1))
  compared=$((compared + 1))
  off=$(awk -v a="$ours" -v b="${theirs:-0}" 'BEGIN { d = (b - a) / a; printf "%.1e", d < 0 ? -d : d }')
  largest=$(printf '%s\n' "$off" "$largest" | sort -g | tail -n 1)
  awk -v off="$off" 'BEGIN { exit off <= 1e-8 ? 0 : 1 }' ||
    { echo "differs: ${*:3}, $1 stages, $2 microbatches: $ours ns here, ${theirs:-nothing} there ($off)"; differ=$((differ + 1)); }
}
for shape in '2 4' '4 8' '4 16' '8 16'; do
  for schedule in gpipe 1f1b eager-1f1b zb-h1 zb-h2 'interleaved --vpp 2' 'looped-bfs --vpp 2' 'zb-interleaved --vpp 2' zb-v v-half v-min 'hanayo --vpp 4'; do
    compare $shape --schedule $schedule
  done
done
compare 16 1024 --schedule interleaved --vpp 4
echo "time of the last, 16 stages, 1024 microbatches, 4 chunks each: ppsim $our_time s, ASTRA-sim $their_time s"
echo "ASTRA-sim: $compared runs compared, the largest difference is $largest, $differ differ"
[ "$differ" = 0 ]
