#!/usr/bin/env bash
# Exports a store with `logdump` and with the reader that was written from docs/FILE_FORMAT.md alone,
# and shows where they differ.
#
# Usage: compare.sh STORE
# LOGDUMP names the program; by default the one that `swift build` made.
set -euo pipefail

if [ $# -ne 1 ]; then
  echo "usage: $0 STORE" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
logdump=${LOGDUMP:-$here/../../.build/debug/logdump}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ours=0 theirs=0
"$logdump" "$1" export >"$work/logdump" || ours=$?
PYTHONDONTWRITEBYTECODE=1 python3 "$here/divan_reader.py" "$1" >"$work/python" || theirs=$?
if [ "$ours" -ne "$theirs" ]; then
  echo "logdump says $ours, divan_reader.py says $theirs" >&2
  exit 1
fi
diff -u "$work/logdump" "$work/python"
echo "$(wc -l <"$work/python") documents are the same in both; status $ours"
