#!/usr/bin/env bash
# synthesis_test.sh SOURCE_DIR PPSIM PYTHON: that synthesis finds and proves at least what tests/synthesis/held.txt says, on instances
# of each class that take a moment; and that the tools which make and run instances notice what is wrong.
set -euo pipefail
. "$1/tests/scripts/checks.sh"
source_dir=$1
table=("$3" "$1/tools/synthesis-table" --ppsim "$2")
instances=("$3" "$1/tools/synthesis-instances")

run "${instances[@]}"
cp "$work/out" "$work/all.json"
run "${instances[@]}" --seed 1
check 'instances are the same for the same seed' cmp "$work/out" "$work/all.json"
run "${instances[@]}" --seed 2 uneven
cp "$work/out" "$work/other.json"
run "${instances[@]}" uneven
check 'and others for another' [ "$(cmp -s "$work/out" "$work/other.json" || echo differ)" = differ ]
while read -r each; do grep -qF "$each" "$work/all.json" || die "each instance of a class is among all: $each"; done <"$work/out"
run "${instances[@]}" nonsense
check 'a class that there is not' [ "$status" = 2 ]

# Figures: those of one round, the first orders and windows for most.
only=p4_m12_c,v_p4_m12_unit,v_p4_m12_real_mem0.75p,lin_p8_m24_c2F,lin_het0_p8,lin_head1.4_p8,v_p8_m24_unit_mem1p
only=$only,loop2_p8_m32_mem1.5p,tight_p8_m24_c1F_mem0.25p,uneven0_p8,weights_p8
run "${table[@]}" --effort 1 --only "$only" --hold "$source_dir/tests/synthesis/held.txt" "$source_dir/tests/synthesis/instances.json" \
  "$work/all.json"
check 'no order is longer, and no bound lower, than it was' [ "$status" = 0 ]
check 'a table of them' grep -q '^| all |' "$work/out"

# The tables of tests/synthesis/tables.md, but for their times: those of a whole run, which takes minutes.
for file in "$source_dir/tests/synthesis/instances.json" "$work/all.json"; do
  run "${table[@]}" --from "$source_dir/tests/synthesis/figures.txt" "$file"
  check 'what a run has found of each instance contradicts nothing that is known' [ "$status" = 0 ]
  sed 's/ [^|]*| [^|]*|$//' "$work/out" >"$work/rows.txt"
  while read -r row; do grep -qF "$row" "$source_dir/tests/synthesis/tables.md" || die "tables.md has no row: $row"; done <"$work/rows.txt"
  cat "$work/rows.txt" >>"$work/tables.txt"
done

# Those that reach their goal, of a whole run with --goals.
run "${table[@]}" --goals --from "$source_dir/tests/synthesis/goals.txt" "$source_dir/tests/synthesis/instances.json" "$work/all.json"
check 'a table of goals' [ "$status" = 0 ]
cut -d '|' -f 1-5 "$work/out" >"$work/goals.txt"
while read -r row; do grep -qF "$row" "$source_dir/tests/synthesis/tables.md" || die "tables.md has no row: $row"; done <"$work/goals.txt"

# What docs/synthesis.md says of them.
tr -s '\n ' ' ' <"$source_dir/docs/synthesis.md" >"$work/document.txt"
sum() { awk -F '|' -v column="$1" '/^\| all / {sum += $column} END {print sum}' "$work/tables.txt"; }
worst() { awk -F '|' -v class="$1" 'index($2, class) == 2 && $7 + 0 >= most {most = $7 + 0} END {printf "%.2f %%", most}' "$work/tables.txt"; }
slowest() { # of the classes of that pattern, by tables.md, in whole seconds; in its column $2, else in that of all searches
  awk -F '|' -v class="$1" -v column="${2:-10}" 'NF == column + 1 && $2 ~ class && $column + 0 >= most {most = $column + 0} END {printf "%.0f", most + 0.499}' "$source_dir/tests/synthesis/tables.md"
}
reached=$(awk -F '|' '/^\| all / && $8 + 0 > most {most = $8 + 0} END {printf "%.2f %%", most + 0.01}' "$work/tables.txt")
for words in "of $(sum 4) of $(sum 3) instances are within 1 %" "and $(sum 5) are proven optimal" \
  "more (58) | $(worst 'linear, room for p or more, p <= 16') | $(slowest 'more, p <= 16') |" \
  "in loops | $(worst 'linear, room for p or more, p = '); $(worst 'linear, room for p/2'); $(worst loop) | $(slowest 'p = |p/2|loop') |" \
  "0.5 p activations | $(worst 'V, room for p'), $(worst 'V, room for 0.75'), $(worst 'V, room for 0.5') | $(slowest ' V,') |" \
  "No order is $reached longer than another program's" \
  "$(awk -F '|' '{sum += $5} END {print sum}' "$work/goals.txt") of them get there: within $(slowest 'p = 32|<= 16|p/2|0.75|V, room for p|loop' 8) s, with 64 stages within $(slowest 'p = 64' 8) s, in a V with 0.5 p or 0.625 p within $(slowest 'V, room for 0.5' 8) s"; do
  grep -qF "$words" "$work/document.txt" || die "docs/synthesis.md does not say: $words"
done

# What it has to notice.
one=(--effort 0 --only lin_p4_m12_c1F_mem2p)
run "${table[@]}" "${one[@]}" --rows
check 'one instance' grep -q '^| lin_p4_m12_c1F_mem2p | 706.937 ms | 706.937 ms | 0.00 % | 0.00 % |' "$work/out"
run "${table[@]}" --goals --only lin_p4_m12_c1F_mem1p,v_p4_m12_unit_mem1p
check 'a search that ends at the gap that its class is to reach' grep -q '^| linear, .* | 1.00 % | 1 | 1 | 0.[1-9]' "$work/out"
check 'which depends on the class' grep -q '^| V, room for p | 0.60 % | 1 | 1 | 0.00 % |' "$work/out"
made() { sed "s/\"$1\": 706.937/\"$1\": $2/" "$source_dir/tests/synthesis/instances.json" >"$work/made.json"; }
made proven_lower_bound 707
run "${table[@]}" "${one[@]}" "$work/made.json"
check 'an order that is shorter than can be' said 'order shorter than the bound that is known'
check 'ends with 1' [ "$status" = 1 ]
made reached 706
run "${table[@]}" "${one[@]}" "$work/made.json"
check 'a bound that an order beats' said 'bound above the order that is known'
for figures in '706936999 706937000' '706937000 706937001'; do
  echo "lin_p4_m12_c1F_mem2p $figures" >"$work/held.txt"
  PPSIM_UPDATE_GOLDEN='' run "${table[@]}" "${one[@]}" --hold "$work/held.txt"
  check "what was better: $figures" [ "$status" = 1 ]
done
echo 'lin_p4_m12_c1F_mem2p 706937001 706936999' >"$work/held.txt"
PPSIM_UPDATE_GOLDEN='' run "${table[@]}" "${one[@]}" --hold "$work/held.txt"
check 'better than it was is well' [ "$status" = 0 ]
run "${table[@]}" --only nonsense
check 'no instance is an error' [ "$status" = 1 ]
echo 'another 706937000 706937000' >"$work/held.txt"
run "${table[@]}" --only lin_p4_m12_c1F_mem2p --from "$work/held.txt"
check 'an instance that no run has found is an error' [ "$status" = 1 ]
check 'which one' said 'lin_p4_m12_c1F_mem2p: not in held.txt'
