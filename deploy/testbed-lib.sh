# What the two testbeds (docker/testbed.sh, testbed-netns.sh) share: data, job, waiting, the story. Sourced by bash.
#
# The one that sources it sets  me      its name, for messages
#                               nodes   how many nodes there are
#                               work    a directory of its own
# and has  ctl N VERB...        dadamctl on node N
#          kill_node N          as power loss does it

say() { printf '\n== %s\n' "$*"; }
die() {
	echo "$me: $*" >&2
	exit 1
}

is_number() { # TEXT LEAST GREATEST
	case $1 in
	'' | *[!0-9]* | ????*) return 1 ;;
	esac
	[ "$1" -ge "$2" ] && [ "$1" -le "$3" ]
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
		read -rt 0.2 <> <(:) || :
	done
}

# prepare_data: $work/data with the demo's data, $work/job.yaml, $work/least (the AUC that is wanted)
prepare_data() {
	local cache=$PWD/build-release/movielens
	mkdir -p "$work/data" || exit 1
	if deploy/data/movielens.sh "$cache"; then
		cp "$cache/movielens.csv" "$work/data/" || exit 1
		cp deploy/examples/movielens.yaml "$work/job.yaml" || exit 1
		echo 0.770 >"$work/least"
	else
		echo "MovieLens can't be had here (see above): using generated click data instead"
		cp deploy/examples/synthetic-ctr.yaml "$work/job.yaml" || exit 1
		echo 0.86 >"$work/least"
	fi
	chmod -R a+rX "$work/data"
	sed -i "s/^workers: .*/workers: {min: $nodes, wait: 1m}/" "$work/job.yaml"
	# long enough for somebody to die in the middle; the model is as good up to 2500 steps (see the job's file)
	sed -i "s/^steps: .*/steps: ${DADAM_TESTBED_STEPS:-2400}/" "$work/job.yaml"
}

# alive N: how many nodes are alive in the eyes of node N
alive() { ctl "$1" peers -o json | json 'sum(p["state"] == "alive" for p in d["peers"])'; }

all_see() { # COUNT NODE...
	local count=$1 n
	shift
	for n in "$@"; do
		[ "$(alive "$n")" = "$count" ] || return 1
	done
}

everybody() { seq 1 "$nodes"; }

meet() {
	# shellcheck disable=SC2046
	wait_for 60 "$nodes nodes to find each other" all_see "$nodes" $(everybody)
	ctl 1 peers
}

# submit: the job's id, also in $work/id
submit() {
	ctl 1 submit - --id-only <"$work/job.yaml" >"$work/id" || die "the job was refused"
	echo "job $(cat "$work/id")"
}

step_of() { ctl 1 show "$(cat "$work/id")" -o json | json 'd["jobs"][0]["step"]'; }
phase_of() { ctl 1 show "$(cat "$work/id")" -o json | json 'd["jobs"][0]["phase"]'; }
lost_ranks() { ctl 1 show "$(cat "$work/id")" -o json | json 'sum(r["state"] == "lost" for r in d["jobs"][0]["ranks"])'; }
third_done() {
	[ "$(phase_of)" != waiting ] && [ "$(ctl 1 show "$(cat "$work/id")" -o json | json 'd["jobs"][0]["step"] * 3 >= d["jobs"][0]["steps_total"]')" = True ]
}

watch() {
	local result=0 id
	id=$(cat "$work/id")
	ctl 1 watch "$id" || result=$?
	[ $result -eq 0 ] && return 0
	ctl 1 logs "$id" -n 20 >&2
	die "the job did not succeed: dadamctl watch ended with $result"
}

# verdict N: what node N says of the job; its mean model's AUC holds
verdict() {
	local auc least id
	id=$(cat "$work/id")
	least=$(cat "$work/least")
	ctl "$1" show "$id"
	auc=$(ctl "$1" show "$id" -o json | json 'd["jobs"][0]["mean"]["metrics"]["auc"]') || die "there is no mean model"
	echo "mean model: test AUC $auc, wanted at least $least"
	python3 -c 'import sys; sys.exit(not float(sys.argv[1]) >= float(sys.argv[2]))' "$auc" "$least" ||
		die "the mean model's test AUC is too low"
}

run_job() {
	say "the job"
	submit
	watch
	verdict 1
}

# run_job_and_kill: the job again, and the last node dies in the middle
run_job_and_kill() {
	say "the job; node $nodes is killed in the middle"
	submit
	wait_for 120 "a third of the job" third_done
	[ "$(phase_of)" = running ] || die "the job is $(phase_of) before anybody could be killed"
	kill_node "$nodes" || die "node $nodes could not be killed"
	echo "killed node $nodes at step $(step_of)"
	watch
	[ "$(lost_ranks)" = 1 ] || die "$(lost_ranks) ranks were lost, expected 1: was the job over too soon?"
	say "the others finished; node 1 tells"
	# shellcheck disable=SC2046
	wait_for 30 "the others to agree that node $nodes is dead" all_see $((nodes - 1)) $(seq 1 $((nodes - 1)))
	ctl 1 peers
	verdict 1
}
