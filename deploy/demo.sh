#!/bin/bash
# dadam on one machine, as a person meets it first: builds a release, starts N daemons on loopback that
# know one other address each, lets them find each other, trains DeepFM on MovieLens ratings with D-Adam
# over a ring, shows the progress, prints what every node did and how good the mean model is, and stops
# the daemons that it started.
#
#   deploy/demo.sh [--nodes N] [--job FILE] [--keep] [--build DIR]
#   deploy/demo.sh --pipeline [--picture FILE] [--keep] [--build DIR]
#
#   --nodes N    daemons, 1 to 16 (default 4)
#   --job FILE   another job than deploy/examples/movielens.yaml; its data below the folder of FILE
#   --keep       leave the daemons running and print the commands to talk to them
#   --build DIR  the programs of this build, as they are, instead of a release that is built first
#   --pipeline   instead: cut a perceptron into four stages, one per daemon, train it on a few pictures of clothes
#                (deploy/examples/fashion-few-shot.yaml), then attack the exported model with a second pipeline
#                (fashion-attack.yaml) and write a picture of what that did
#   --picture FILE  where (default: attack.png in the build's directory)
#
# Exit 0, with "demo: ok" as the last line, only if the job is done and the mean model's test AUC is at
# least .770 (MovieLens) or .86 (generated data, where the ratings can't be had); with --pipeline, if both jobs
# are done, the model's test accuracy is at least .6, and at least half of the attacked pictures fool it.
set -u
cd "$(dirname "$0")/.." || exit 1

nodes=4 job= keep= build= pipeline= picture=
usage() {
	sed -n '2,22s/^# \{0,1\}//p' "$0"
	exit "$1"
}
while [ $# -gt 0 ]; do
	case $1 in
	--nodes | --job | --build | --picture)
		[ $# -ge 2 ] || { echo "demo: $1 needs a value" >&2; usage 2 >&2; }
		declare "${1#--}=$2"
		shift 2
		;;
	--keep) keep=yes; shift ;;
	--pipeline) pipeline=yes; shift ;;
	-h | --help) usage 0 ;;
	*) echo "demo: unknown option '$1'" >&2; usage 2 >&2 ;;
	esac
done
case $nodes in
[1-9] | 1[0-6]) ;;
*) echo "demo: --nodes $nodes: a number from 1 to 16" >&2; exit 2 ;;
esac
if [ -n "$pipeline" ] && { [ -n "$job" ] || [ "$nodes" != 4 ]; }; then
	echo "demo: --pipeline has jobs and 4 nodes of its own; take --job and --nodes away" >&2
	exit 2
fi
[ -z "$picture" ] || [ -n "$pipeline" ] || { echo "demo: --picture goes with --pipeline" >&2; exit 2; }
[ -z "$job" ] || [ -r "$job" ] || { echo "demo: --job $job: no such file" >&2; exit 2; }

say() { printf '\n== %s\n' "$*"; }
die() {
	echo "demo: $*" >&2
	exit 1
}

dir=$(mktemp -d "${TMPDIR:-/tmp}/dadam-demo.XXXXXX") || exit 1
pids=()
finish() {
	status=$?
	trap - EXIT INT TERM
	if [ -n "$keep" ] && [ $status -eq 0 ]; then
		exit 0
	fi
	if [ ${#pids[@]} -gt 0 ]; then
		kill "${pids[@]}" 2>/dev/null
		wait "${pids[@]}" 2>/dev/null
	fi
	if [ $status -ne 0 ] && [ -d "$dir" ]; then
		for log in "$dir"/node-*/dadamd.log; do
			[ -f "$log" ] && { echo "-- the end of $log"; tail -n 5 "$log"; }
		done >&2
	fi
	rm -rf "$dir"
	[ $status -ne 0 ] || echo "demo: ok"
	exit $status
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [ -n "$build" ]; then
	say "the programs of $build"
	[ -x "$build/ctl/dadamctl" ] || die "$build is no build: no ctl/dadamctl there"
else
	say "building a release"
	sh deploy/install-deps.sh || die "packages are missing (see above)"
	build=build-release
	if [ ! -f $build/build.ninja ]; then
		meson setup $build --buildtype=release -Dtests=false >"$dir/setup.log" 2>&1 || { cat "$dir/setup.log" >&2; die "meson setup failed"; }
	fi
	ninja -C $build >"$dir/ninja.log" 2>&1 || { tail -n 40 "$dir/ninja.log" >&2; die "the build failed"; }
fi
build=$(cd "$build" && pwd)
dadamd=$build/daemon/dadamd
dadamctl=$build/ctl/dadamctl
"$dadamctl" --version 2>/dev/null || true

say "data"
mkdir "$dir/data" || exit 1
least= metric=auc
clothes=/usr/share/datasets/fashion-mnist
if [ -n "$pipeline" ]; then
	[ -r $clothes/train-images-idx3-ubyte.gz ] || die "no pictures in $clothes: apt-get install dataset-fashion-mnist"
	data="$clothes, $dir/data"
	cp deploy/examples/fashion-few-shot.yaml "$dir/job.yaml"
	least=0.6 metric=accuracy
elif [ -n "$job" ]; then
	data=$(cd "$(dirname "$job")" && pwd)
	cp "$job" "$dir/job.yaml" || exit 1
else
	data=$dir/data
	cache=$build/movielens
	if deploy/data/movielens.sh "$cache"; then
		cp "$cache/movielens.csv" "$dir/data/" || exit 1
		cp deploy/examples/movielens.yaml "$dir/job.yaml"
		least=0.770
	else
		echo "MovieLens can't be had here (see above): using generated click data instead"
		cp deploy/examples/synthetic-ctr.yaml "$dir/job.yaml"
		least=0.86
	fi
fi
[ -n "$job$pipeline" ] || sed -i "s/^workers: .*/workers: {min: $nodes, wait: 1m}/" "$dir/job.yaml"

ctl() { # ctl NODE VERB...
	local n=$1
	shift
	"$dadamctl" --socket "$dir/node-$n/ctl.sock" "$@"
}

# json EXPRESSION: evaluates a Python expression on the document `d` from standard input
json() { python3 -c 'import json, sys
d = json.load(sys.stdin)
print(eval(sys.argv[1]))' "$1"; }

# wait_for SECONDS WHAT COMMAND...: until the command succeeds
wait_for() {
	local end=$((SECONDS + $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || die "gave up waiting for $what"
		for pid in "${pids[@]}"; do
			kill -0 "$pid" 2>/dev/null || die "a daemon ended while waiting for $what"
		done
		read -rt 0.1 <> <(:) || :
	done
}

say "starting $nodes daemons on loopback; each knows one other address"
seed=
for n in $(seq 1 "$nodes"); do
	home=$dir/node-$n
	mkdir "$home" || exit 1
	cat >"$home/dadamd.yaml" <<-CONFIG
		cluster: {name: demo}
		node: {name: node-$n}
		listen: 127.0.0.1:0
		discovery: {seeds: [$seed]}
		state: $home/state
		control: {socket: $home/ctl.sock}
		data: {roots: [$data]}
	CONFIG
	setsid "$dadamd" --config "$home/dadamd.yaml" >"$home/dadamd.log" 2>&1 &
	pids+=($!)
	wait_for 10 "node-$n to answer" ctl "$n" status
	seed=$(ctl "$n" status -o json | json 'd["node"]["listen"]') || exit 1
	echo "node-$n  process ${pids[-1]}  listens on $seed"
done

all_met() {
	local n
	for n in $(seq 1 "$nodes"); do
		[ "$(ctl "$n" peers -o json | json 'sum(p["state"] == "alive" for p in d["peers"])')" = "$nodes" ] || return 1
	done
}
wait_for 20 "the daemons to find each other" all_met
ctl 1 peers

# run SPEC MODEL: from submit to the model's file; the job's id is $id
run() {
	local result
	say "submitting the job to node-1"
	ctl 1 submit "$1" || die "the job was refused"
	id=$(ctl 1 ls -a -o json | json 'd["jobs"][0]["id"]') || exit 1
	say "progress"
	DADAM_PROGRESS_SECONDS=3 ctl 1 watch "$id"
	result=$?
	say "result, as node-$nodes tells it"
	ctl "$nodes" show "$id"
	[ $result -eq 0 ] || { ctl 1 logs "$id" -n 20 >&2; die "the job did not succeed: dadamctl watch ended with $result"; }
	ctl "$nodes" export "$id" -o "$2" --force || die "the model could not be exported"
}

model=$dir/model.safetensors
[ -z "$pipeline" ] || model=$dir/data/model.safetensors
run "$dir/job.yaml" "$model"
if [ -n "$least" ]; then
	figure=$(ctl 1 show "$id" -o json | json "d['jobs'][0]['mean']['metrics']['$metric']") || die "there is no model of all"
	echo "model of all ranks: test $metric $figure, wanted at least $least"
	python3 -c 'import sys; sys.exit(not float(sys.argv[1]) >= float(sys.argv[2]))' "$figure" "$least" ||
		die "the model's test $metric is too low"
fi

if [ -n "$pipeline" ]; then
	say "attacking that model: the pictures are the parameters now"
	run deploy/examples/fashion-attack.yaml "$dir/perturbation.safetensors"
	say "what the attack did"
	picture=${picture:-$build/attack.png}
	python3 deploy/picture.py "$model" "$dir/perturbation.safetensors" $clothes/t10k-images-idx3-ubyte.gz \
		$clothes/t10k-labels-idx1-ubyte.gz "$picture" || die "the attack failed"
	echo "original, perturbation (x 5) and result: $picture"
fi

if [ -n "$keep" ]; then
	say "the daemons go on running (--keep)"
	echo "dadamctl is $dadamctl"
	for n in $(seq 1 "$nodes"); do
		echo "  $dadamctl --socket $dir/node-$n/ctl.sock status"
	done
	echo "  $dadamctl --socket $dir/node-1/ctl.sock show $id"
	echo "stop them:   kill ${pids[*]}"
	echo "remove:      rm -rf $dir"
	echo "demo: ok"
fi
