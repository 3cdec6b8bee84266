#!/bin/bash
# Builds the Debian packages dadamd, dadamctl and libdadam-dev from this tree.
#
#   deploy/debian/build.sh [--output DIR]
#
#   --output DIR   where the packages go (default: build-debian in the tree)
#
# dpkg-buildpackage wants debian/ at the top of the tree and writes beside it, so all of it happens in a
# copy below $TMPDIR that is removed at the end. Needs what `apt-get build-dep` would install; says what is
# missing. The last lines are the paths of the packages.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
output=$top/build-debian
case ${1:-} in
'') ;;
--output) output=${2:?--output needs a folder} ;;
-h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
*) echo "build.sh: unknown option '$1' (try --help)" >&2; exit 2 ;;
esac

work=$(mktemp -d "${TMPDIR:-/tmp}/dadam-debian.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/dadam"
# what git knows and what is new, but not build folders; a tree without git is taken whole
if git -C "$top" rev-parse >/dev/null 2>&1; then
	(cd "$top" && git ls-files -z -co --exclude-standard | while IFS= read -rd '' f; do [ ! -e "$f" ] || printf '%s\0' "$f"; done |
		tar --null -T - -cf -) | tar -xf - -C "$work/dadam"
else
	tar -C "$top" --exclude='./build*' -cf - . | tar -xf - -C "$work/dadam"
fi
cp -r "$work/dadam/deploy/debian" "$work/dadam/debian"
rm -f "$work/dadam/debian/build.sh"
if ! missing=$(cd "$work/dadam" && dpkg-checkbuilddeps 2>&1); then
	echo "build.sh: $missing" >&2
	echo "build.sh: install them: apt-get build-dep ./  in a tree with debian/ at its top, or by name" >&2
	exit 1
fi
if ! (cd "$work/dadam" && dpkg-buildpackage -b -us -uc) >"$work/log" 2>&1; then
	tail -n 40 "$work/log" >&2
	echo "build.sh: dpkg-buildpackage failed (its last lines stand above)" >&2
	exit 1
fi
mkdir -p "$output"
cp "$work"/*.deb "$output/"
cd "$work" && ls -- *.deb | sed "s|^|$output/|"
