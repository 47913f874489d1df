#!/usr/bin/env bash
# certificates_test.sh SOURCE_DIR PPSIM PYTHON: that `ppsim certify` and a checker that has nothing of ppsim, written from
# docs/synthesis.md alone, say the same of certificates, as they are and with a bound that is larger by one.
set -euo pipefail
source_dir=$1 ppsim=$2 python=$3
. "$source_dir/tests/scripts/checks.sh"
checker="$source_dir/tests/support/check_certificate.py"
count=0
# Names say what is true: refuted-*.json are not.
for file in "$source_dir"/traces/samples/certificates/*.json "$source_dir"/tests/fuzz/corpus/certificate/*.json; do
  name=$(basename "$file")
  case $name in refuted-*) wanted=3 ;; *) wanted=0 ;; esac
  run "$python" "$checker" --all-orders "$file"
  check "the other checker says $wanted of $name" [ "$status" = "$wanted" ]
  run "$ppsim" certify "$file"
  check "certify says $wanted of $name" [ "$status" = "$wanted" ]
  # One more, without the order, which would refute it before any rule does.
  "$python" -c 'import json, sys
c = json.load(open(sys.argv[1]))
c.update(order=None, makespan=None, lower_bound=c["lower_bound"] + 1)
json.dump(c, open(sys.argv[2], "w"))' "$file" "$work/more.json"
  run "$ppsim" certify "$work/more.json"
  said=$status
  run "$python" "$checker" "$work/more.json"
  check "both say the same of $name with a larger bound" [ "$status" = "$said" ]
  count=$((count + 1))
done
check 'certificates were found' [ "$count" -ge 15 ]
run "$python" "$source_dir/tests/support/rule_mutants.py" "$source_dir"/traces/samples/certificates/*.json \
  "$source_dir"/tests/fuzz/corpus/certificate/[!r]*.json
check 'each rule, changed by one, is caught' [ "$status" = 0 ]
run "$ppsim" certify --json "$source_dir/tests/support/few-that-grow.json"
check 'what is known of all by then is used, too' grep -q '"cases_shown": 10' "$work/out"
run "$python" "$checker" "$checker"
check 'a malformed certificate has another status than a wrong one' [ "$status" = 2 ]
