#!/bin/sh
# Redo the figures of the gossip family: runs.csv and curves.csv, tables (Markdown) and plots (SVG).
#
#   tests/bench/experiments/run.sh [quick|full] DIR
#
# quick: one seed, less of everything, to see that it works; full: three, about 80 minutes of processor time.
# BUILD (build): a release build directory of meson.
# DATA: a folder that holds frappe.train57k.libfm.gz and frappe.test.libfm.gz (He & Chua, "Neural
# Factorization Machines for Sparse Predictive Analytics", 2017: their validation and test files); without it the experiments on Frappe are left out.
set -eu

here=$(dirname "$0")
. "$here/options.sh"
begin experiments/experiments

data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
trap 'exit 1' HUP INT TERM
for name in frappe.train57k frappe.test; do
	if [ -n "${DATA-}" ] && [ -r "$DATA/$name.libfm.gz" ]; then
		gzip -dc "$DATA/$name.libfm.gz" >"$data/$name.libfm"
	fi
done
[ -r "$data/frappe.test.libfm" ] || echo "run.sh: no Frappe in DATA=${DATA-}: it is left out" >&2

for experiment in check topologies speedup sparse bytes frappe gamma tuned; do
	"$program" "$experiment" "$mode" "$out" "$data"
done
times >"$out/times" # of the shell; of the programs: user, system
{
	echo "# Tables of the gossip family's experiments"
	echo
	echo "Printed by \`run.sh $mode\` on $(date -u +%F), $(nproc) cores of $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1);" \
		"processor time $(tail -n 1 "$out/times")."
	echo
	python3 "$here/report.py" "$out"
} >"$out/tables.md"
echo "run.sh: see $out/tables.md and $out/*.svg"
