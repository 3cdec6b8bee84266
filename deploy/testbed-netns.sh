#!/bin/bash
# dadam on many hosts, on one: every daemon in a network namespace of its own, joined by veth links to a bridge
# that has a namespace too. The host's own interfaces are never touched. Needs root and iproute2; --cut also nft.
#
#   deploy/testbed-netns.sh all  [--nodes N] [--rate R]   up, the demo's job with one node killed, down
#   deploy/testbed-netns.sh up   [--nodes N] [--rate R]   builds and starts N daemons (2 to 16, default 4)
#   deploy/testbed-netns.sh job                           the demo's job on all of them
#   deploy/testbed-netns.sh kill N                        ends node N as power loss does
#   deploy/testbed-netns.sh ctl N VERB...                 dadamctl on node N
#   deploy/testbed-netns.sh --cut A B                     no packet passes between A and B: each one node or
#                                                         several, as in  --cut 1,2 3,4
#   deploy/testbed-netns.sh --heal                        all links work again
#   deploy/testbed-netns.sh down                          stops the daemons, removes everything
#   deploy/testbed-netns.sh check                         exit 77 and one line where the kernel can't do it
#
#   --rate R   every node sends at most so fast, as 100mbit (tc tbf)
#   --name X   several testbeds side by side (default dadam)
#
# DADAM_BUILD names a build directory whose binaries are used; else a release is built in build-release.
set -u
cd "$(dirname "$0")/.." || exit 1
. deploy/testbed-lib.sh
me=testbed-netns

usage() {
	sed -n '2,21s/^# \{0,1\}//p' "$0"
	exit "$1"
}

verb='' nodes=4 rate='' name=dadam operands=()
while [ $# -gt 0 ]; do
	case $1 in
	--nodes | --rate | --name)
		[ $# -ge 2 ] || { echo "$me: $1 needs a value" >&2; exit 2; }
		case $1 in --nodes) nodes=$2 ;; --rate) rate=$2 ;; --name) name=$2 ;; esac
		shift 2
		;;
	--cut) verb=cut operands=("${@:2}"); break ;;
	--heal) verb=heal; shift ;;
	-h | --help) usage 0 ;;
	ctl | kill) verb=$1 operands=("${@:2}"); break ;;
	all | up | job | down | check) verb=$1; shift ;;
	*) echo "$me: unknown argument '$1'; try $0 --help" >&2; exit 2 ;;
	esac
done
[ -n "$verb" ] || usage 2 >&2
is_number "$nodes" 2 16 || { echo "$me: --nodes $nodes: a number from 2 to 16" >&2; exit 2; }
case $name in
'' | *[!a-z0-9-]* | ?????????*) echo "$me: --name $name: at most 8 of a-z 0-9 -" >&2; exit 2 ;;
esac
work=/tmp/dadam-netns-$name
switch=$name-switch

space() { echo "$name-$1"; }
address() { echo "10.77.0.$1"; }

# why_not: one line why this can't be done here, or nothing
why_not() {
	[ "$(id -u)" -eq 0 ] || { echo "network namespaces need root"; return; }
	command -v ip >/dev/null || { echo "iproute2 is not installed"; return; }
	local probe=dadam-probe-$$
	ip netns add "$probe" 2>/dev/null || { echo "the kernel makes no network namespaces here"; return; }
	if ! ip -n "$probe" link add br0 type bridge 2>/dev/null; then
		echo "the kernel has no bridge here"
	elif ! ip -n "$probe" link add v0 type veth peer name v1 2>/dev/null; then
		echo "the kernel has no veth links here"
	elif ! ip -n "$probe" link set v0 up 2>/dev/null || ! ip netns exec "$probe" true 2>/dev/null; then
		echo "programs cannot be started in network namespaces here"
	fi
	ip netns del "$probe"
}

# why_not_all: the same, with what --rate and --cut need
why_not_all() {
	local why probe=dadam-probe-$$
	why=$(why_not)
	[ -z "$why" ] || { echo "$why"; return; }
	ip netns add "$probe" || return
	if ! ip netns exec "$probe" tc qdisc add dev lo root tbf rate 100mbit burst 256kb latency 100ms 2>/dev/null; then
		echo "the kernel limits no rates here (tc tbf)"
	elif ! ip netns exec "$probe" nft add table inet testbed 2>/dev/null; then
		echo "packets cannot be dropped here (nft)"
	fi
	ip netns del "$probe"
}

ctl() {
	local n=$1
	shift
	"$(cat "$work/bin")/ctl/dadamctl" --socket "$work/node-$n/ctl.sock" "$@"
}

# is_ours PID N: a number may have been given to another process since
is_ours() { [ -d "/proc/$1" ] && tr '\0' ' ' 2>/dev/null <"/proc/$1/cmdline" | grep -q -- "--config $work/node-$2/dadamd.yaml"; } 2>/dev/null

signal_node() { # SIGNAL N
	local pid
	pid=$(cat "$work/node-$2/pid" 2>/dev/null) || return 1
	is_ours "$pid" "$2" && kill -s "$1" "$pid"
}

is_gone() { ! is_ours "$(cat "$work/node-$1/pid")" "$1"; }
kill_node() { signal_node KILL "$1"; }

choose_build() {
	local build=${DADAM_BUILD:-$PWD/build-release}
	if [ -z "${DADAM_BUILD:-}" ]; then
		say "building a release"
		sh deploy/install-deps.sh || die "packages are missing (see above)"
		[ -f "$build/build.ninja" ] || meson setup "$build" --buildtype=release -Dtests=false >"$work/build.log" 2>&1 ||
			{ cat "$work/build.log" >&2; die "meson setup failed"; }
		ninja -C "$build" >"$work/build.log" 2>&1 || { tail -n 40 "$work/build.log" >&2; die "the build failed"; }
	fi
	echo "$build" >"$work/bin"
}

make_network() {
	local n
	ip netns add "$switch" && ip -n "$switch" link add br0 type bridge && ip -n "$switch" link set br0 up ||
		die "the bridge could not be made"
	for n in $(everybody); do
		ip netns add "$(space "$n")" &&
			ip -n "$switch" link add "port$n" type veth peer name eth0 netns "$(space "$n")" &&
			ip -n "$switch" link set "port$n" master br0 up &&
			ip -n "$(space "$n")" link set lo up &&
			ip -n "$(space "$n")" addr add "$(address "$n")/24" dev eth0 &&
			ip -n "$(space "$n")" link set eth0 up || die "the link of node $n could not be made"
		[ -z "$rate" ] || ip netns exec "$(space "$n")" tc qdisc add dev eth0 root tbf rate "$rate" burst 256kb latency 100ms ||
			die "--rate $rate: tc did not take it"
	done
}

# Each knows the address of one other node; open: there are no keys yet, so whoever reaches the port can join
# and start jobs. Here nobody else does: the bridge leads nowhere.
start_node() {
	local n=$1 home=$work/node-$1 seed=$(($1 - 1))
	[ "$seed" -gt 0 ] || seed=$nodes
	mkdir -p "$home" || exit 1
	cat >"$home/dadamd.yaml" <<-CONFIG
		cluster: {name: netns, open: true}
		node: {name: node-$n}
		listen: $(address "$n"):17326
		discovery: {seeds: [$(address "$seed")]}
		state: $home/state
		control: {socket: $home/ctl.sock}
		data: {roots: [$work/data]}
	CONFIG
	ip netns exec "$(space "$n")" "$(cat "$work/bin")/daemon/dadamd" --config "$home/dadamd.yaml" \
		</dev/null >>"$home/dadamd.log" 2>&1 &
	echo $! >"$home/pid"
	disown
	wait_for 20 "node $n to answer (see $home/dadamd.log)" ctl "$n" status
}

up() {
	local why n
	why=$(why_not)
	[ -z "$why" ] || die "$why"
	[ ! -e "$work" ] || die "$work is there already; first: $0 --name $name down"
	mkdir -p "$work" || exit 1
	echo "$nodes" >"$work/nodes"
	choose_build
	say "data"
	prepare_data
	say "$nodes daemons in network namespaces ${rate:+(at most $rate each)}"
	make_network
	for n in $(everybody); do
		start_node "$n"
	done
	meet
}

down() {
	local n
	for n in $(everybody); do
		signal_node TERM "$n"
	done
	for n in $(everybody); do
		[ ! -f "$work/node-$n/pid" ] || (wait_for 20 "node $n to end" is_gone "$n") || kill_node "$n"
		[ ! -e "/run/netns/$(space "$n")" ] || ip netns del "$(space "$n")"
	done
	[ ! -e "/run/netns/$switch" ] || ip netns del "$switch"
	rm -rf "$work"
}

# drop N M: node N neither sends to M nor hears it
drop() {
	ip netns exec "$(space "$1")" nft -f - <<-RULES
		table inet testbed {
			chain in { type filter hook input priority 0; }
			chain out { type filter hook output priority 0; }
		}
		add rule inet testbed in ip saddr $(address "$2") drop
		add rule inet testbed out ip daddr $(address "$2") drop
	RULES
}

cut() {
	local a b
	[ $# -eq 2 ] || die "--cut A B: two nodes, or two lists of nodes as 1,2 3,4"
	command -v nft >/dev/null || die "--cut needs nft (Debian's nftables)"
	for a in ${1//,/ }; do
		for b in ${2//,/ }; do
			is_number "$a" 1 "$nodes" && is_number "$b" 1 "$nodes" && [ "$a" != "$b" ] || die "--cut $1 $2: nodes are 1 to $nodes"
			drop "$a" "$b" && drop "$b" "$a" || die "--cut $a $b: nft refused"
		done
	done
	echo "cut: nothing passes between $1 and $2"
}

heal() {
	local n
	for n in $(everybody); do
		ip netns exec "$(space "$n")" nft delete table inet testbed 2>/dev/null
	done
	echo "healed"
}

all() {
	trap 'status=$?; trap - EXIT; show_logs $status; down; [ $status -ne 0 ] || echo "$me: ok"; exit $status' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	up
	run_job_and_kill
}

show_logs() {
	[ "$1" -ne 0 ] || return 0
	local n
	for n in $(everybody); do
		[ ! -f "$work/node-$n/dadamd.log" ] || { echo "-- the end of node $n's log"; tail -n 8 "$work/node-$n/dadamd.log"; }
	done >&2
}

case $verb in
all) [ ! -e "$work" ] || die "$work is there already; first: $0 --name $name down"; all ;;
up) up ;;
check) why=$(why_not_all); [ -z "$why" ] || { echo "$me: $why"; exit 77; } ;;
down) [ ! -f "$work/nodes" ] || { nodes=$(cat "$work/nodes"); down; } ;;
*)
	[ -f "$work/nodes" ] || die "nothing is up; first: $0 up"
	nodes=$(cat "$work/nodes")
	case $verb in
	job) run_job ;;
	kill) is_number "${operands[0]:-}" 1 "$nodes" || die "kill N: nodes are 1 to $nodes"; kill_node "${operands[0]}" ;;
	ctl) is_number "${operands[0]:-}" 1 "$nodes" || die "ctl N VERB...: nodes are 1 to $nodes"; ctl "${operands[@]}" ;;
	cut) cut "${operands[@]}" ;;
	heal) heal ;;
	esac
	;;
esac
