#!/bin/sh
# Runs one Criterion program for meson (protocol: tap) and fails where Criterion itself goes green
# when it should not: a sanitizer report, no test at all, or a run without its closing line.
out=$("$@" 2>&1)
rc=$?
printf '%s\n' "$out" | grep -E '^(TAP|1\.\.|ok |not ok |#|  ---|  \.\.\.|   )' 
printf '%s\n' "$out" | grep -vE '^(TAP|1\.\.|ok |not ok )' >&2
case "$out" in
*"Tested: 0 "*) echo "not ok - $1 ran no test"; exit 99 ;;
*"ERROR: LeakSanitizer"* | *"ERROR: AddressSanitizer"* | *"runtime error:"*)
	echo "not ok - $1: sanitizer report"; exit 99 ;;
*"Synthesis: Tested: "*) exit $rc ;;
*) echo "not ok - $1: no closing line"; exit 98 ;;
esac
