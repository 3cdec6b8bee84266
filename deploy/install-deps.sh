#!/bin/sh
# Installs what dadam needs to be built, tested and tried: Debian packages only, nothing else.
#
#   deploy/install-deps.sh           build, demo and tests
#   deploy/install-deps.sh --build   only what it takes to build the programs (as in the container's image)
#   deploy/install-deps.sh --check   say what is missing, install nothing (exit 1 when something is)
#
# Does nothing when all is there. Needs root (or sudo) only when something has to be installed.
set -eu

build="gcc libc6-dev meson ninja-build pkg-config libuv1-dev libprotobuf-c-dev protobuf-c-compiler
protobuf-compiler libzstd-dev libfyaml-dev libjansson-dev libisal-dev libopenblas-serial-dev libdnnl-dev zlib1g-dev"
demo="python3 xz-utils bzip2 dataset-fashion-mnist"
tests="libcriterion-dev clang libclang-rt-14-dev procps python3-yaml systemd systemd-container debootstrap debhelper
iproute2 nftables"

is_installed() {
	dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed
}

wanted="$build $demo $tests"
[ "${1:-}" != --build ] || wanted=$build
missing=
for package in $wanted; do
	is_installed "$package" || missing="$missing $package"
done
if [ -z "$missing" ]; then
	exit 0
fi
if [ "${1:-}" = --check ]; then
	echo "missing:$missing"
	exit 1
fi
if ! command -v apt-get >/dev/null 2>&1; then
	echo "install-deps: this is not a Debian system (no apt-get). Needed, by their Debian names:$missing" >&2
	exit 1
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null 2>&1; then
		echo "install-deps: not root, and there is no sudo. As root:  apt-get install$missing" >&2
		exit 1
	fi
	as_root=sudo
fi
echo "install-deps: installing$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086
if ! { $as_root apt-get update && $as_root apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
	tail -n 20 "$log" >&2
	echo "install-deps: apt-get failed (its last lines stand above)" >&2
	exit 1
fi
