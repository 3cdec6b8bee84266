#!/bin/sh
# Redo the figures of the pipeline methods: a table of runs per problem (CSV), tables (Markdown) and plots (SVG).
#
#   tests/bench/experiments_pipeline/run.sh [quick|full] DIR
#
# quick: under a minute, one seed and a few settings, to see that it works; full: 22 minutes of processor time.
# BUILD (build): a build directory of meson, for full a release one.
# DATA (/usr/share/datasets/fashion-mnist): Fashion-MNIST as Debian's package dataset-fashion-mnist has it;
# without it the problems with nets are left out.
set -eu

here=$(dirname "$0")
. "$here/../experiments/options.sh"
begin experiments_pipeline/experiments_pipeline
from=${DATA:-/usr/share/datasets/fashion-mnist}
export OPENBLAS_NUM_THREADS=1

problems="linf icnn attack attack-ball fewshot-7 fewshot-20"
if [ ! -r "$from/train-images-idx3-ubyte.gz" ]; then
	echo "run.sh: no Fashion-MNIST in DATA=$from: the problems with nets are left out" >&2
	problems="linf icnn"
fi
for problem in $problems; do
	"$program" "$problem" "$mode" "$out/$problem.csv" "$from"
done
python3 "$here/tables.py" "$out" >"$out/tables.md"
echo "run.sh: see $out/tables.md and $out/*.svg"
