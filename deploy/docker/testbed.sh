#!/bin/bash
# dadam on many hosts, on one: every daemon in a container of its own, on a private network.
#
#   deploy/docker/testbed.sh all  [--nodes N]   up, the demo's job with one container killed, down
#   deploy/docker/testbed.sh up   [--nodes N]   builds the image and starts N containers (2 to 16, default 4)
#   deploy/docker/testbed.sh job                the demo's job on all of them
#   deploy/docker/testbed.sh kill N             docker kill -s KILL of container N
#   deploy/docker/testbed.sh ctl N VERB...      dadamctl in container N
#   deploy/docker/testbed.sh down [--image]     removes containers, network and volumes; with --image the image too
#   deploy/docker/testbed.sh image              only builds the image, dadamd:local
#   deploy/docker/testbed.sh check              exit 77 and one line where no Docker engine answers
#
#   --name X   several testbeds side by side (default dadam)
#
# Where no registry can be reached, debian:bookworm-slim is made with debootstrap (as root) from this host's own
# package sources. Only what carries this testbed's label is ever removed.
set -u
cd "$(dirname "$0")/../.." || exit 1
. deploy/testbed-lib.sh
me=testbed

usage() {
	sed -n '2,18s/^# \{0,1\}//p' "$0"
	exit "$1"
}

verb='' nodes=4 name=dadam with_image='' operands=()
while [ $# -gt 0 ]; do
	case $1 in
	--nodes | --name)
		[ $# -ge 2 ] || { echo "$me: $1 needs a value" >&2; exit 2; }
		if [ "$1" = --nodes ]; then nodes=$2; else name=$2; fi
		shift 2
		;;
	--image) with_image=yes; shift ;;
	-h | --help) usage 0 ;;
	ctl | kill) verb=$1 operands=("${@:2}"); break ;;
	all | up | job | down | image | check) verb=$1; shift ;;
	*) echo "$me: unknown argument '$1'; try $0 --help" >&2; exit 2 ;;
	esac
done
[ -n "$verb" ] || usage 2 >&2
is_number "$nodes" 2 16 || { echo "$me: --nodes $nodes: a number from 2 to 16" >&2; exit 2; }
case $name in
'' | *[!a-z0-9-]*) echo "$me: --name $name: a-z 0-9 - only" >&2; exit 2 ;;
esac
image=dadamd:local
base=debian:bookworm-slim
label=dadam.testbed=$name
work=${TMPDIR:-/tmp}/dadam-testbed-$name

why_not() {
	command -v docker >/dev/null || { echo "there is no docker on this machine"; return; }
	timeout 20 docker info --format '{{.ServerVersion}}' 2>&1 >/dev/null | head -n 1
}

container() { echo "$name-node-$1"; }

ctl() {
	local n=$1
	shift
	case " $* " in
	*" - "*) docker exec -i "$(container "$n")" dadamctl "$@" ;; # a file on standard input
	*) docker exec "$(container "$n")" dadamctl "$@" ;;
	esac
}

kill_node() { docker kill -s KILL "$(container "$1")" >/dev/null; }

# ---- the image ----

# What apt of this host says of Debian 12's main archive, or nothing
host_mirror() {
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Codename: bookworm' 2>/dev/null | head -n 1
}

# The host's way to packages, for apt in the image: its Debian 12 sources, proxies and checks. Only in the image.
copy_apt_settings() {
	local root=$1 lines
	lines=$(apt-get indextargets --format 'deb $(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
		grep ' bookworm' | sort -u)
	[ -z "$lines" ] || printf '%s\n' "$lines" >"$root/etc/apt/sources.list"
	apt-config dump | grep -iE '^Acquire::([a-z]+::)?(proxy|check-valid-until|check-date|verify-peer)' >"$root/etc/apt/apt.conf.d/80host"
	echo 'Acquire::Languages "none";' >>"$root/etc/apt/apt.conf.d/80host"
}

make_base() {
	local root
	[ "$(id -u)" -eq 0 ] || die "$base can't be had from a registry; as root it is made with debootstrap"
	command -v apt-get >/dev/null || die "$base can't be had from a registry, nor made: this is not a Debian system"
	if ! command -v debootstrap >/dev/null; then
		echo "installing debootstrap"
		{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends debootstrap; } >"$work/apt.log" 2>&1 ||
			{ tail -n 5 "$work/apt.log" >&2; die "debootstrap could not be installed"; }
	fi
	root=$work/base
	echo "no registry can be reached: making $base with debootstrap"
	# shellcheck disable=SC2046
	debootstrap --variant=minbase bookworm "$root" $(host_mirror) >"$work/debootstrap.log" 2>&1 ||
		{ tail -n 5 "$work/debootstrap.log" >&2; die "debootstrap failed"; }
	copy_apt_settings "$root"
	rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale}/*
	tar -c -C "$root" --exclude=./dev/* --exclude=./proc/* --exclude=./sys/* . |
		docker import --change 'LABEL dadam.image=base' --change 'CMD ["bash"]' - "$base" >/dev/null || die "docker import failed"
	rm -rf "$root"
}

build_image() {
	mkdir -p "$work" || exit 1
	say "the image $image"
	if ! docker image inspect "$base" >/dev/null 2>&1 && ! timeout 120 docker pull -q "$base" >/dev/null 2>&1; then
		make_base
	fi
	docker build -t "$image" -f deploy/docker/Dockerfile . >"$work/build.log" 2>&1 || { tail -n 40 "$work/build.log" >&2; die "docker build failed"; }
	# The first stage under a name too, so that what it has cached stays and what older builds left can go.
	docker build --target build -t "${image%:*}:build" -f deploy/docker/Dockerfile . >"$work/build.log" 2>&1 &&
		docker image prune -f --filter label=dadam.image >/dev/null
	docker image ls "$image"
}

# ---- up and down ----

start_node() {
	docker run -d --name "$(container "$1")" --hostname "node-$1" --label "$label" --network "$name-net" --network-alias node \
		--read-only --cap-drop ALL --security-opt no-new-privileges --tmpfs /run/dadamd:uid=17326,gid=17326,mode=0755 --tmpfs /tmp \
		-v "$work/data:/srv/data:ro" "$image" >/dev/null || die "container $1 could not be started"
}

ours() { docker ps -aq --filter "label=$label"; }

answers() { ctl "$1" status; }

up() {
	local n
	[ -z "$(ours)" ] || die "there are containers of it already; first: $0 --name $name down"
	build_image
	say "data"
	prepare_data
	echo "$nodes" >"$work/nodes"
	say "$nodes containers on a private network"
	docker network create --label "$label" "$name-net" >/dev/null || die "the network could not be made"
	for n in $(everybody); do
		start_node "$n"
	done
	for n in $(everybody); do
		wait_for 60 "container $n to answer" answers "$n"
	done
	meet
}

remove_image() { # NAME LABEL
	[ "$(docker image inspect -f '{{index .Config.Labels "dadam.image"}}' "$1" 2>/dev/null)" != "$2" ] || docker image rm "$1" >/dev/null
}

down() {
	local list
	list=$(ours)
	# shellcheck disable=SC2086
	if [ -n "$list" ]; then
		docker stop -t 20 $list >/dev/null
		docker rm -f -v $list >/dev/null
	fi
	list=$(docker network ls -q --filter "label=$label")
	# shellcheck disable=SC2086
	[ -z "$list" ] || docker network rm $list >/dev/null
	rm -rf "$work"
	[ -n "$with_image" ] || return 0
	# Images that carry our label only; one that came from a registry stays.
	remove_image "$image" dadamd
	remove_image "${image%:*}:build" build
	docker image prune -f --filter label=dadam.image >/dev/null
	remove_image "$base" base
}

show_logs() {
	local id
	[ "$1" -ne 0 ] || return 0
	for id in $(ours); do
		echo "-- the end of the log of $(docker inspect -f '{{.Name}} ({{.State.Status}})' "$id")"
		docker logs --tail 8 "$id" 2>&1
	done >&2
}

all() {
	[ -z "$(ours)" ] || die "there are containers of it already; first: $0 --name $name down"
	trap 'status=$?; trap - EXIT; show_logs $status; down; [ $status -ne 0 ] || echo "$me: ok"; exit $status' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	up
	run_job_and_kill
}

why=$(why_not)
case $verb in
check) [ -z "$why" ] || { echo "$me: $why"; exit 77; }; exit 0 ;;
esac
[ -z "$why" ] || die "no Docker engine answers: $why"
case $verb in
all) all ;;
up) up ;;
image) work=$(mktemp -d) || exit 1; trap 'rm -rf "$work"' EXIT; build_image ;;
down) down ;;
*)
	[ -f "$work/nodes" ] || die "nothing is up; first: $0 up"
	nodes=$(cat "$work/nodes")
	case $verb in
	job) run_job ;;
	kill) is_number "${operands[0]:-}" 1 "$nodes" || die "kill N: containers are 1 to $nodes"; kill_node "${operands[0]}" ;;
	ctl) is_number "${operands[0]:-}" 1 "$nodes" || die "ctl N VERB...: containers are 1 to $nodes"; ctl "${operands[@]}" ;;
	esac
	;;
esac
