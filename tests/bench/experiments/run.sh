#!/bin/sh
# Redo the figures of the gossip family: runs.csv and curves.csv, tables (Markdown) and plots (SVG).
#
#   tests/bench/experiments/run.sh [quick|full] DIR
#
# quick: a few minutes, one seed, less of everything, to see that it works; full: about 40 minutes of processor time.
# BUILD (build): a release build directory of meson.
# DATA: a folder that holds frappe.train57k.libfm.gz and frappe.test.libfm.gz (He & Chua, "Neural
# Factorization Machines for Sparse Predictive Analytics", 2017: their validation and test files); without it the experiments on Frappe are left out.
set -eu

usage() {
	echo "usage: run.sh [quick|full] DIR, with BUILD=builddir and DATA=folder in the environment" >&2
	exit 2
}

mode=quick
case "${1-}" in
quick | full)
	mode=$1
	shift
	;;
esac
[ $# -eq 1 ] || usage
out=$1
build=${BUILD:-build}
here=$(dirname "$0")
mkdir -p "$out"
ninja -C "$build" tests/bench/experiments/experiments >"$out/build.log" || {
	tail -n 20 "$out/build.log" >&2
	exit 1
}

data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
for name in frappe.train57k frappe.test; do
	if [ -n "${DATA-}" ] && [ -r "$DATA/$name.libfm.gz" ]; then
		gzip -dc "$DATA/$name.libfm.gz" >"$data/$name.libfm"
	fi
done
[ -r "$data/frappe.test.libfm" ] || echo "run.sh: no Frappe in DATA=${DATA-}: it is left out" >&2

for experiment in check topologies bytes frappe sparse speedup; do
	"$build/tests/bench/experiments/experiments" "$experiment" "$mode" "$out" "$data"
done
python3 "$here/report.py" "$out" >"$out/tables.md"
echo "run.sh: see $out/tables.md and $out/*.svg"
