#!/usr/bin/env python3
"""Every quote of the protocols' pages in a comment must stand there, word for word. Speaks TAP.

A quote is written  WIRE.md 2: "All ranks are ..."  (or CONTROL.md) in a C comment; it may go over
several lines; the number is the section that must hold it.

Usage: wire_quotes.py SOURCE_ROOT
"""
import os
import re
import sys

ROOT = sys.argv[1]
QUOTE = re.compile(r'(WIRE|CONTROL)\.md\s+(\d+(?:\.\d+)?):\s+"([^"]+)"')


def sections(page):
    """The page's text by section number, blanks made single."""
    with open(os.path.join(ROOT, "proto", page + ".md"), encoding="utf-8") as f:
        parts = re.split(r"^#+ (\d+(?:\.\d+)?) .*$", f.read(), flags=re.M)
    return {parts[i]: " ".join(parts[i + 1].split()) for i in range(1, len(parts), 2)}


def sources():
    names = []
    for top in ("proto", "daemon", "ctl", "libcore", "tests"):
        for folder, _, found in os.walk(os.path.join(ROOT, top)):
            names += [os.path.join(folder, n) for n in found if n.endswith((".c", ".h"))]
    return sorted(names)


def main():
    pages = {page: sections(page) for page in ("WIRE", "CONTROL")}
    found, wrong = 0, []
    for name in sources():
        with open(name, encoding="utf-8") as f:
            text = re.sub(r"\s*\n\s*\*?\s*", " ", f.read())
        for page, number, quote in QUOTE.findall(text):
            found += 1
            if " ".join(quote.split()) not in pages[page].get(number, ""):
                wrong.append(f"{os.path.relpath(name, ROOT)}: {page}.md {number} does not say \"{quote}\"")
    print("1..1")
    for line in wrong:
        print("#", line)
    print(f"{'not ok' if wrong or found == 0 else 'ok'} 1 - {found}_quotes_of_the_protocols_stand_in_their_pages")
    return 1 if wrong or found == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
