# run.sh MPIEXEC COMMAND...: COMMAND as four ranks.
. "$(dirname "$0")/environment.sh"
mpiexec=$1
shift
exec "$mpiexec" -n 4 "$@"
