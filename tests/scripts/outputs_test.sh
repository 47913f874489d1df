#!/usr/bin/env bash
# outputs_test.sh SOURCE_DIR PPSIM: what becomes of files, stdout and stderr where something is in the way of them.
set -euo pipefail
. "$1/tests/scripts/checks.sh"
chmod 755 "$work"
ppsim=$work/bin/ppsim # where another user can run it, wherever it was built
cp "$2" "$ppsim"
mkdir "$work/here"
cd "$work/here"
small=(--stages 2 --mb 2 --forward 1ms) # without --backward: there is a note
# Root may write everywhere: for what the system has to refuse. The file of another is one that this one can write.
as_other() { if [ "$(id -u)" = 0 ]; then setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; else "$@"; fi; }

"$ppsim" "${small[@]}" --json right.json >right.txt 2>notes.txt
check 'the command prints a note' grep -q note notes.txt

# Streams that cannot be written.
run bash -c '"$@" 2>/dev/full' - "$ppsim" "${small[@]}"
check 'a full disk for notes: the report' prints "$(cat right.txt)"
run bash -c '"$@" 2>&-' - "$ppsim" "${small[@]}" --json closed.json
check 'no stderr: the report' prints "$(cat right.txt)"
check 'no stderr: no file contains the notes' cmp right.json closed.json
run bash -c '{ "$@" && echo "status 0" >&3; } 3>&1 2>&1 >left.txt | true; cat left.txt' - bash -c 'sleep 0.2; "$@"' - "$ppsim" "${small[@]}"
check 'closed reader of stderr: the report' cmp left.txt right.txt
run bash -c '"$@" >&-' - "$ppsim" "${small[@]}"
check 'no stdout is an error' [ "$status" = 1 ]
check 'the error names stdout' said "report: cannot write 'stdout'"
run bash -c '"$@" 2>/dev/full' - "$ppsim" --stages 0
check 'an error that cannot be printed keeps its status' [ "$status" = 2 ]
run bash -c 'set -o pipefail; { sleep 0.2; "$@"; } | true' - "$ppsim" help
check 'closed reader of stdout: status 141' [ "$status" = 141 ]
check 'closed reader of stdout: no message' [ ! -s "$work/err" ]
run bash -c 'set -o pipefail; { sleep 0.2; "$@"; } | true' - "$ppsim" "${small[@]}" --json --svg first.svg
check 'closed reader of stdout: files are written' [ -s first.svg ]

# Threads that the system refuses: nothing was tested.
run as_other bash -c 'ulimit -u 1; exec "$@"' - "$ppsim" selftest
check 'a self-test without threads fails' [ "$status" = 1 ]
check 'the failed self-test gives the reason' said 'the system cannot start its thread'

# Names.
echo mine >victim
run bash -c 'ln -s victim out.json.$$.tmp; exec "$@"' - "$ppsim" "${small[@]}" --json out.json
check 'a planted link is not followed' [ "$(cat victim)" = mine ]
check 'a planted link does not block the output' cmp out.json right.json
longest=$(printf '%0250d.json' 0)
run "$ppsim" "${small[@]}" --json "$longest"
check 'the longest possible name' cmp "$longest" right.json
run "$ppsim" "${small[@]}" --json "x$longest"
check 'a longer name is an error' [ "$status" = 1 ]
check 'a failed write leaves nothing' [ ! -e "x$longest" ]

# What is replaced.
mkdir elsewhere
echo old >elsewhere/run.json
chmod 640 elsewhere/run.json
ln -s elsewhere/run.json link.json
[ "$(id -u)" != 0 ] || chown 65534:65534 elsewhere/run.json
before=$(stat -c '%a %u %g' elsewhere/run.json)
run "$ppsim" "${small[@]}" --json link.json
check 'a link stays a link' [ -L link.json ]
check "a link's target is overwritten" cmp elsewhere/run.json right.json
check 'a target keeps its permissions and owner' [ "$(stat -c '%a %u %g' elsewhere/run.json)" = "$before" ]
umask 027
run "$ppsim" "${small[@]}" --json new.json
check 'a new file has the permissions of new files' [ "$(stat -c %a new.json)" = 640 ]
umask 022
ln -s round.json around.json
ln -s around.json round.json
run "$ppsim" "${small[@]}" --json round.json
check 'cyclic links are an error' said "cannot write 'round.json': Too many levels of symbolic links"

# Folders that cannot be written.
mkdir closed
echo old >closed/run.json
chmod 666 closed/run.json
chmod 555 closed
run as_other "$ppsim" "${small[@]}" --json closed/run.json
check 'a writable file in a read-only folder is overwritten in place' cmp closed/run.json right.json
check 'overwriting in place prints a note' said "note: --json: 'closed/run.json' is overwritten in place"
run as_other "$ppsim" "${small[@]}" --json closed/new.json
check 'a new file in a read-only folder is an error' said "cannot write 'closed/new.json': Permission denied"
chmod 755 closed

# Sets, and what does not fit.
mkdir -p set/run.1.et
run "$ppsim" --stages 3 --mb 2 --chakra set/run
check 'one file of a set that cannot be written is an error' said "cannot write 'set/run.1.et': Is a directory"
check 'the other files of the set are not written' [ "$(ls -A set)" = run.1.et ]
mkfifo set/pipe.0.et
run timeout 1 "$ppsim" --stages 2 --mb 2 --chakra set/pipe
check 'a pipe without a reader blocks until a signal' [ "$status" = 124 ]
check 'an interrupted write leaves nothing' [ "$(ls -A set | tr '\n' ' ')" = 'pipe.0.et run.1.et ' ]
rm -r set
run bash -c 'ulimit -f 8; "$@"' - "$ppsim" --stages 4 --mb 64 --trace large.json
check 'exceeding the file size limit is an error' said "cannot write 'large.json': File too large"
check 'a failed write leaves nothing' [ ! -e large.json ]
check 'no temporary files are left' [ "$(find . -name '.ppsim-*' | wc -l)" = 0 ]

# Signals, while a set is written. Who is too late tries with more.
interrupt() { # SIGNAL STATUS
  local stages=64 pid
  while :; do
    mkdir stopped
    run_until_there() {
      "$ppsim" --stages "$stages" --mb 64 --chakra stopped/run >/dev/null 2>&1 & pid=$!
      until [ -n "$(ls -A stopped)" ] || ! kill -0 $pid 2>/dev/null; do :; done
      kill -s "$1" $pid 2>/dev/null || true
      wait $pid
    }
    run run_until_there "$1"
    [ "$status" = 0 ] || break
    rm -r stopped
    stages=$((2 * stages))
  done
  check "$1 ends it" [ "$status" = "$2" ]
  check "$1 leaves nothing" [ -z "$(ls -A stopped)" ]
  rmdir stopped
}
set -m # or SIGINT is ignored by what runs in the background
interrupt INT 130
interrupt TERM 143
interrupt HUP 129
