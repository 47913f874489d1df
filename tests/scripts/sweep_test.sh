#!/usr/bin/env bash
# sweep_test.sh SOURCE_DIR PPSIM: tables of sweeps that are ended in the middle, and gone on with.
set -euo pipefail
. "$1/tests/scripts/checks.sh"
ppsim=$2
cd "$work"
sweep=("$ppsim" sweep --stages 2 --mb 4 --vary comm=0..99us:+1us --vary forward=1us..200us:+1us --vary schedule=1f1b,zb-h1,zb-v,chimera)

size_of() { stat -c %s "$1" 2>/dev/null || echo 0; }
# Goes on with a table, waits until it has grown by so many bytes, and sends a signal; $status is what it ends with. Where a
# busy machine sends it too late, again.
end_with() { # SIGNAL BYTES TABLE
  : >"$work/calls"
  touch "$3"
  cp "$3" before
  for _ in 1 2 3 4 5; do
    cat before >"$3"
    "${sweep[@]}" --table "$3" --resume >"$work/out" 2>"$work/err" &
    local sweeping=$! until=$(($(size_of before) + $2))
    until [ "$(size_of "$3")" -gt "$until" ]; do kill -0 "$sweeping" 2>/dev/null || break; done
    kill -s "$1" "$sweeping" 2>/dev/null || true
    status=0
    wait "$sweeping" 2>/dev/null || status=$?
    [ "$status" = 0 ] || break
  done
}

for form in csv jsonl; do
  "${sweep[@]}" --threads 1 --table "whole.$form" 2>/dev/null
  for bytes in 0 60000 100000; do
    end_with KILL "$bytes" "killed.$form"
    check "$form: it was killed in the middle" [ "$status" = 137 ]
    check "$form: after $bytes bytes more there are fewer than all" [ "$(size_of "killed.$form")" -lt "$(size_of "whole.$form")" ]
  done
  end_with INT 100000 "killed.$form"
  check "$form: an interrupt has its status" [ "$status" = 130 ]
  check "$form: and says how far it came" said 'interrupted: [0-9]* of 80000 rows are written; --resume continues'
  check "$form: the last line is whole" [ "$(tail -c 1 "killed.$form" | wc -l)" = 1 ]
  head -c -7 "killed.$form" >half && cat half >"killed.$form" # as a full disk leaves it
  run "${sweep[@]}" --threads 3 --table "killed.$form" --resume
  check "$form: it goes on" [ "$status" = 0 ]
  check "$form: to the bytes of a sweep that nobody ended" cmp "killed.$form" "whole.$form"
  run "${sweep[@]}" --table "killed.$form" --resume
  check "$form: a whole table is done" [ "$status" = 0 ]
  check "$form: and stays as it is" cmp "killed.$form" "whole.$form"
done

cp whole.csv kept.csv
cp whole.csv.sweep kept.csv.sweep
run "${sweep[@]}" --overhead 1us --table kept.csv --resume
check 'other options are another sweep' [ "$status" = 2 ]
check 'the error names the difference' said "belongs to another sweep: this sweep has '--overhead 1us'"
check 'the table is unchanged' cmp kept.csv whole.csv
rm kept.csv.sweep
run "${sweep[@]}" --table kept.csv --resume
check 'a table of an unknown sweep is refused' [ "$status" = 2 ]
check 'a refused table is unchanged' cmp kept.csv whole.csv

# Files that are named count by what is in them.
printf 'stages = 2\nmb = 4\n' >run.toml
run "$ppsim" sweep --scenario run.toml --vary comm=0..9us:+1us --table files.csv
printf 'stages = 2\nmb = 8\n' >run.toml
run "$ppsim" sweep --scenario run.toml --vary comm=0..9us:+1us --table files.csv --resume
check 'a changed scenario is another sweep' [ "$status" = 2 ]
check 'the error names the scenario file' said 'run.toml has'

# A table is not written over what is read, nor by two at once.
cp files.csv order.csv
run "$ppsim" sweep --schedule-file order.csv --vary comm=1us,2us --table order.csv
check 'a table that overwrites an input is refused' [ "$status" = 2 ]
check 'the input is unchanged' cmp order.csv files.csv
exec 9>locked.csv
flock 9
run "$ppsim" sweep --stages 2 --vary mb=2,4 --table locked.csv
check 'a table that another process writes is not touched' said 'is being written by another process'
run bash -c '"$@" >/dev/full' - "$ppsim" sweep --stages 2 --vary mb=2,4
check 'a full disk is an error' [ "$status" = 1 ]
exit 0
