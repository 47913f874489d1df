# Another Debian, in a chroot of its own in the current folder: made by debootstrap on the first run, as root. Sourced, where fail() is
# defined. DEBIAN_MIRROR: another than this Debian's own, or debootstrap's.
chroot_mounts=()
leave() { local mount; for mount in "${chroot_mounts[@]}"; do umount "$mount"; done; chroot_mounts=(); }
trap leave EXIT

debian_mirror() {
  if [ "${DEBIAN_MIRROR-}" ]; then
    echo "$DEBIAN_MIRROR"
  elif grep -qx 'ID=debian' /etc/os-release 2>/dev/null; then
    apt-cache policy | awk '$3 ~ /^[a-z]+\/main$/ { print $2; exit }'
  fi
}
debian() { # SUITE PACKAGE...: makes SUITE, and installs what is not there; the log is SUITE.log
  local suite=$1 root=$PWD/$1 left
  shift
  [ "$(id -u)" = 0 ] || fail 'a chroot needs root'
  command -v debootstrap >/dev/null || fail 'no debootstrap' 'apt install debootstrap'
  # What a run that was killed has mounted would be deleted, too
  for left in $(awk -v "inside=$root/" 'index($2, inside) == 1 { print $2 }' /proc/mounts | tac); do umount -l "$left"; done
  if [ ! -e "$root/made" ]; then
    rm -rf "$root"
    debootstrap --variant=minbase "$suite" "$root" "$(debian_mirror)" /usr/share/debootstrap/scripts/sid >"$suite.log" 2>&1 ||
      fail "no Debian $suite" "see $root.log"
    # How this machine reaches the network
    cp /etc/hosts "$root/etc/"
    grep -ls '^ *Acquire::' /etc/apt/apt.conf.d/* | xargs -r cp -t "$root/etc/apt/apt.conf.d"
    [ ! -d /etc/ssl/certs ] || cp -rLn /etc/ssl/certs "$root/etc/ssl/" 2>/dev/null || true
    touch "$root/made"
  fi
  chroot "$root" dpkg --status "$@" >/dev/null 2>&1 ||
    { chroot "$root" apt-get update && chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } >>"$suite.log" 2>&1 ||
    fail "Debian $suite without $*" "see $root.log"
}
enter() { # SUITE FOLDER...: mounts these folders, /proc and /dev/shm; leave() unmounts them
  local root=$PWD/$1 folder
  shift
  mount -t proc proc "$root/proc"
  chroot_mounts+=("$root/proc")
  mount -t tmpfs tmpfs "$root/dev/shm"
  chroot_mounts+=("$root/dev/shm")
  for folder; do
    mkdir -p "$root/$folder"
    mount --bind "$folder" "$root/$folder"
    chroot_mounts+=("$root/$folder")
  done
}
copy_checkout() { # FROM SUITE: the sources of FROM as they are, with their times, to /ppsim of SUITE, whose build/ is kept
  mkdir -p "$2/ppsim"
  find "$2/ppsim" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
  git -C "$1" ls-files -z | (cd "$1" && xargs -0 sh -c 'for file; do [ ! -e "$file" ] || printf "%s\0" "$file"; done' sh) |
    tar -C "$1" --null --files-from - -c | tar -C "$2/ppsim" -x
}
