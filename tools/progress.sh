# progress: what ninja says, in one line that moves: how far, how long still. Where nobody looks (a log), a line every 20 seconds.
# What is no progress (warnings, errors) is passed on. Sourced by bash scripts.
progress() {
  local line done all left begin=$SECONDS shown=-20 moving=
  [ -t 2 ] && moving=yes
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]} left=
      [ "$done" != 0 ] || continue # ninja looks for new files
      [ $((done * 10)) -lt "$all" ] || left=", about $(((SECONDS - begin) * (all - done) / done)) s left" # before, who knows
      if [ "$moving" ]; then
        printf '\r\033[Kppsim: %d of %d%s' "$done" "$all" "$left"
      elif [ $((SECONDS - shown)) -ge 20 ]; then
        shown=$SECONDS
        printf 'ppsim: %d of %d%s\n' "$done" "$all" "$left"
      fi
    elif [ "$line" != 'ninja: no work to do.' ]; then
      [ -z "$moving" ] || printf '\r\033[K'
      printf '%s\n' "$line"
    fi
  done
  [ -z "$moving" ] || printf '\r\033[K'
} >&2
