#!/usr/bin/env bash
# witnesses_test.sh SOURCE_DIR: that the scripts of tests/witnesses start, and refuse what they do not know. What they compare takes
# other programs, and is not run here (docs/witnesses.md).
set -euo pipefail
source_dir=$1
. "$source_dir/tests/scripts/checks.sh"
count=0
for script in "$source_dir"/tests/witnesses/*.sh; do
  bash -n "$script" || exit 1
  name=$(basename "$script")
  [ "$name" != common.sh ] || continue
  count=$((count + 1))
  run "$script" --help
  check "$name --help says what it does, and no more" [ "$(head -c ${#name} "$work/out")$(grep -c '^set\|^\. ' "$work/out")" = "${name}0" ]
  run "$script" --nonsense
  check "$name says what it does not know" said "$name: error: unknown option '--nonsense'"
  check "$name ends with 2 then" [ "$status" = 2 ]
  check "$name is on the page of witnesses" grep -q "tests/witnesses/$name" "$source_dir/docs/witnesses.md"
  ! grep -q '^no_program=yes' "$script" || continue # it compiles what it holds against others
  run "$script" --work "$work/here" --ppsim "$work/none"
  check "$name says where there is no program" said "there is no program '$work/none'"
  check "$name has not begun then" [ ! -e "$work/here" ]
done
[ "$count" = 4 ] || { echo "failed: $count scripts, not 4"; exit 1; }
