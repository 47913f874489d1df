#!/usr/bin/env bash
# run.sh PROGRAM data|browser MODULES: tests of the pages that PROGRAM writes; of their data with Node.js alone, or in Chromium, driven
# by what tools/browser-tests has put into MODULES. Ends with 77, and says why, where something of that is missing.
set -euo pipefail
program=$1 part=$2 modules=$3 here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
skip() { echo "skipped: $1; tools/browser-tests installs it"; exit 77; }

command -v node >/dev/null || skip 'there is no Node.js (nodejs)'
[ "$(node -p 'parseInt(process.versions.node)')" -ge 18 ] || skip "Node.js is $(node --version), and has to be 18 or later"
if [ "$part" = browser ]; then
  [ "${PPSIM_CHROMIUM-}" ] || for name in chromium chromium-browser google-chrome; do
    PPSIM_CHROMIUM=$(command -v $name) && break
  done
  [ "$PPSIM_CHROMIUM" ] || skip 'there is no Chromium (chromium)'
  for package in axe-core playwright-core; do
    [ -e "$modules/$package" ] || skip "$package from npm is not in $modules"
  done
fi
export PPSIM_PROGRAM=$program PPSIM_CHROMIUM NODE_PATH=$modules
exec node --test-reporter=spec "$here/${part}_test.js"
