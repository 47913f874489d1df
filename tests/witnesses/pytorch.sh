#!/usr/bin/env bash
# pytorch.sh: orders of ppsim held against torch.distributed.pipelining of PyTorch 2.14, and what --pytorch-version 2.6 writes against
# 2.6; pytorch.py says what is compared. PyTorch is Debian's: of a newer Debian, in a chroot that is made with debootstrap on the
# first run (as root; 2 GB each). At the end profiles are in $work/orders/profiles, and kineto_means.py holds what 'ppsim import'
# makes of them against the means of their tasks.
# Exit status: 0 all is as ppsim says, 1 something is not, 2 something is missing.
# DEBIAN_MIRROR: another than debootstrap's own.
# PYTORCH: a python3 with PyTorch 2.14 of your own, and no chroot, and no 2.6.
. "$(dirname "$(readlink -f "$0")")/common.sh"
needs python3 python3
rm -rf orders
python3 "$here/pytorch_orders.py" "$ppsim" orders
if [ "${PYTORCH-}" ]; then
  "$PYTORCH" "$here/pytorch.py" orders lowering classes train hang profile && python3 "$here/kineto_means.py" "$ppsim" orders/profiles
  exit
fi
[ "$(id -u)" = 0 ] || fail 'a chroot needs root' "or name a python3 with PyTorch 2.14: PYTORCH=python3 $name"

in_chroot() { # SUITE PARTS: pytorch.py with Debian SUITE's PyTorch
  debian "$1" python3-torch
  mkdir -p "$1/witnesses"
  cp "$here/pytorch.py" "$1/witnesses"
  enter "$1" orders
  chroot "$1" python3 /witnesses/pytorch.py /orders "${@:2}" 2>"$1.err" || { failed=yes; tail -n 5 "$1.err"; }
  leave
}
failed=
in_chroot trixie lowering
in_chroot forky lowering classes train hang profile
python3 "$here/kineto_means.py" "$ppsim" orders/profiles && [ -z "$failed" ]
