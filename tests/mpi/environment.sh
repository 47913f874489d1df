# How tests start processes: as root too, more than there are cores, bound to none. Sourced.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none

# Of bash: what $mpirun has started so far, by rank, into the array `ranks`.
find_ranks() {
  local pid rank
  for pid in $(pgrep -P "$mpirun"); do
    rank=$(tr '\0' '\n' <"/proc/$pid/environ" | sed -n 's/^\(OMPI_COMM_WORLD_RANK\|PMI_RANK\)=//p' | head -n 1)
    [ -z "$rank" ] || ranks[rank]=$pid
  done
}
# computed PID PARTS: whether that process has computed for a second divided by PARTS.
computed() { awk -v least="$(($(getconf CLK_TCK) / $2))" '{ sub(/.*\) /, ""); if ($12 + $13 < least) exit 1 }' "/proc/$1/stat" 2>/dev/null; }
