#!/bin/bash
# Installs what is missing, builds with sanitizers, runs every test, and ends with "N passed, N failed".
#
#   tests/run.sh [--build DIR] [meson test arguments...]
#
# N counts the sub-tests of meson's test log; a test program that is no list of sub-tests counts as one.
# Exit 0 only if nothing failed.
set -u
cd "$(dirname "$0")/.." || exit 1

build=build-tests
if [ "${1:-}" = --build ]; then
	build=$2
	shift 2
fi

fail() {
	echo "0 passed, 1 failed"
	exit 1
}

sh deploy/install-deps.sh || fail
if [ ! -f "$build/build.ninja" ]; then
	if ! log=$(meson setup "$build" -Db_sanitize=address,undefined -Db_lundef=false 2>&1); then
		printf '%s\n' "$log"
		fail
	fi
fi
echo "building with address and undefined-behaviour sanitizers in $build"
if ! ninja -C "$build" >"$build/ninja.log" 2>&1; then
	grep -A12 -E 'FAILED|error:' "$build/ninja.log" | head -n 80
	fail
fi
rm -f "$build/meson-logs/testlog.json"
meson test -C "$build" --no-rebuild --print-errorlogs "$@"
exec python3 tests/lib/count.py "$build/meson-logs/testlog.json"
