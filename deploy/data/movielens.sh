#!/bin/sh
# Makes DIR/movielens.csv: 100 004 film ratings, columns userId,movieId,year,genres,rating,timestamp.
#
#   deploy/data/movielens.sh DIR
#
# The table is the object `movielens` of Debian's package r-cran-dslabs (GroupLens ml-latest-small of
# 2016). The package is downloaded, not installed, and converted without R. A file that is there and
# whole is left alone.
#
# Exit 0: the file is there. 2: wrong use. 3: the package can't be had. 1: anything else.
set -u

rows=100004
package=r-cran-dslabs

if [ $# -ne 1 ] || [ "${1#-}" != "$1" ]; then
	sed -n '2,10s/^# \{0,1\}//p' "$0"
	[ "${1:-}" = --help ] || [ "${1:-}" = -h ] && exit 0
	exit 2
fi
dir=$1
here=$(cd "$(dirname "$0")" && pwd) || exit 1
out=$dir/movielens.csv

say() { echo "movielens: $*"; }
terms() {
	say "data: MovieLens (GroupLens, University of Minnesota): research and other non-commercial use;"
	say "not part of dadam and not redistributed with it. Harper & Konstan 2015, doi 10.1145/2827872"
}
whole() { [ -f "$1" ] && [ "$(wc -l <"$1")" -eq $((rows + 1)) ]; }

if whole "$out"; then
	say "$out is there: $rows ratings"
	terms
	exit 0
fi
mkdir -p "$dir" || exit 1
temp=$(mktemp -d "${TMPDIR:-/tmp}/dadam-movielens.XXXXXX") || exit 1
trap 'rm -rf "$temp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fetch() {
	command -v apt-get >/dev/null 2>&1 || { echo "no apt-get: not a Debian system" >"$temp/why"; return 1; }
	(cd "$temp" && apt-get -q download "$package") >"$temp/why" 2>&1 && return 0
	# The lists of packages may be missing or old.
	[ "$(id -u)" -eq 0 ] && apt-get -qq update >/dev/null 2>&1 || return 1
	(cd "$temp" && apt-get -q download "$package") >"$temp/why" 2>&1
}
say "getting Debian's $package"
if ! fetch; then
	say "the package $package can't be had:" >&2
	tail -n 2 "$temp/why" | sed 's/^/movielens:   /' >&2
	say "check the network and run as root: apt-get update" >&2
	exit 3
fi
dpkg-deb -x "$temp"/"$package"_*.deb "$temp/package" || exit 1
data=$temp/package/usr/lib/R/site-library/dslabs/data/Rdata.rdb
python3 "$here/rdata2csv.py" "$data" movielens userId movieId year genres rating timestamp >"$temp/movielens.csv" || exit 1
if ! whole "$temp/movielens.csv"; then
	say "found $(($(wc -l <"$temp/movielens.csv") - 1)) ratings in $package, expected $rows" >&2
	exit 1
fi
cp "$temp/movielens.csv" "$out.part" && mv "$out.part" "$out" || exit 1
say "$out: $rows ratings"
terms
