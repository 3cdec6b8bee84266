#!/usr/bin/env python3
"""Counts meson's test log and prints the closing line "N passed, N failed[, N skipped]".

A program that speaks TAP counts by its sub-tests, any other as one. A program that fails although no
sub-test says so (a crash, a time-out, a sanitizer report) counts as one failure more. Exit 0 only
when something ran and nothing failed.
"""
import json
import re
import sys

GOOD, SKIPPED = ("OK", "EXPECTEDFAIL"), ("SKIP",)


def count(test):
    """(passed, failed, skipped) of one program of the log."""
    passed = failed = skipped = 0
    for line in (test.get("stdout") or "").splitlines():
        if re.match(r"not ok\b", line):
            failed += 1
        elif re.match(r"ok\b", line):
            if re.search(r"#\s*skip", line, re.IGNORECASE):
                skipped += 1
            else:
                passed += 1
    result = test["result"]
    if result in SKIPPED:
        return passed, failed, max(skipped, 1)
    if passed + failed + skipped == 0:
        return (1, 0, 0) if result in GOOD else (0, 1, 0)
    if result not in GOOD and failed == 0:
        failed = 1
    return passed, failed, skipped


def main(path):
    try:
        with open(path, encoding="utf-8") as log:
            tests = [json.loads(line) for line in log if line.strip()]
    except OSError as reason:
        print(f"no test log: {reason}", file=sys.stderr)
        tests = []
    totals = [0, 0, 0]
    for test in tests:
        numbers = count(test)
        totals = [a + b for a, b in zip(totals, numbers)]
        if numbers[1]:
            print(f"failed: {test['name']} ({test['result']})")
        why = re.search(r"^1\.\.0 # SKIP (.*)", test.get("stdout") or "", re.M)
        if why:
            print(f"skipped: {test['name']}: {why.group(1)}")
    passed, failed, skipped = totals
    if not tests:
        failed = 1
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


sys.exit(main(sys.argv[1]))
