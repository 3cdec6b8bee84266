# What the run.sh here and in experiments_pipeline share; read with `.`, with their "$@".
#
#   BUILD=builddir DATA=folder run.sh [quick|full] DIR
#
# sets mode (quick), out (DIR, made), build (BUILD or build); begin PROGRAM builds a program below tests/bench and sets program.

usage() {
	echo "usage: run.sh [quick|full] DIR, with BUILD=builddir and DATA=folder in the environment" >&2
	exit 2
}

begin() {
	program=$build/tests/bench/$1
	mkdir -p "$out"
	ninja -C "$build" "tests/bench/$1" >"$out/build.log" || {
		tail -n 20 "$out/build.log" >&2
		exit 1
	}
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
