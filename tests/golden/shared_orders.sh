#!/bin/sh
# shared_orders.sh PYTHON CHECK_GOLDEN PPSIM: every reference order replayed, every bad file refused, and the order of each schedule
# that this version can make. Reference orders of schedules that it does not know are counted, not failed.
set -eu
python=$1 check=$2 ppsim=$3
"$python" "$check" "$ppsim" replay bad

orders=$("$python" "$check" "$ppsim" orders) || true
echo "$orders" | grep '^orders: ' | grep -v 'unknown schedule' && exit 1
echo "$orders" | tail -n 1 | grep -v '^0 passed'
