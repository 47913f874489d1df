#!/usr/bin/env bash
# namespaces.sh MPIEXEC COMMAND...: four ranks, each of which counts processes by itself, as in containers. None may take another
# for gone, whose number means nothing to it. Exit status 77: this machine does not let us count by ourselves.
set -u
mpiexec=$1
shift
. "$(dirname "$0")/environment.sh"
# Through shared memory Open MPI takes numbers of processes for its own too.
export OMPI_MCA_btl=tcp,self OMPI_MCA_pml=ob1 OMPI_MCA_btl_tcp_if_include=lo
apart=(unshare --pid --fork --mount-proc)
"${apart[@]}" true 2>/dev/null || exit 77
# Other numbers: as many processes are started before as the rank has.
said=$("$mpiexec" -n 4 "${apart[@]}" sh -c 'for i in $(seq "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"); do /bin/true; done; "$@"; exit $?' sh "$@" 2>&1)
status=$?
echo "$said"
[ $status -eq 0 ] && ! grep -q 'ppsim: error' <<<"$said"
