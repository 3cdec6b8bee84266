# Completion of dadamctl for bash. Ids and names are asked of the daemon that the command line means. What there is to
# complete is in `dadamctl help`: deploy_files_test.py compares the two.

# dadamctl as it was called, with the socket that was given, and a little patience only
_dadamctl_ask()
{
	"${words[0]}" "${socket[@]}" --timeout 1s "$@" 2>/dev/null
}

# the operands of a verb
_dadamctl_operands()
{
	case $1 in
	show | logs | export | topology) _dadamctl_ask ls -a | sed -n 's/^\([0-9a-f]\{6,\}\) .*/\1/p' ;;
	watch | stop) _dadamctl_ask ls | sed -n 's/^\([0-9a-f]\{6,\}\) .*/\1/p' ;;
	peers) _dadamctl_ask -o json peers | sed -n 's/^ *"name": "\(.*\)",\{0,1\}$/\1/p' ;;
	help) echo status peers ls submit show watch logs stop export topology version help exit spec config ;;
	esac
}

_dadamctl_options()
{
	echo --socket -o --output --json --timeout --color -h --help -V --version
	case $1 in
	ls) echo -a --all ;;
	submit) echo --wait --set --id-only ;;
	show) echo --spec ;;
	logs) echo -f --follow -n --lines ;;
	export) echo --take --force ;;
	topology) echo --dot ;;
	esac
}

_dadamctl()
{
	local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb='' i
	local words=() socket=()

	# bash cuts "--word=value" into three
	for ((i = 0; i < COMP_CWORD; i++)); do
		[ "${COMP_WORDS[i]}" = = ] || words+=("${COMP_WORDS[i]}")
	done
	[ "$cur" != = ] || cur=
	before=${words[${#words[@]} - 1]}
	for ((i = 1; i < ${#words[@]}; i++)); do
		case ${words[i]} in
		--socket) ((++i < ${#words[@]})) && socket=(--socket "${words[i]}") ;;
		-o | --output | --timeout | --color | --set | --take | -n | --lines) ((++i)) ;;
		-*) ;;
		*) [ -n "$verb" ] || verb=${words[i]} ;;
		esac
	done
	COMPREPLY=()
	case $verb:$before:$cur in
	*:--timeout:* | *:--set:* | *:-n:* | *:--lines:*) ;;
	*:--color:*) COMPREPLY=($(compgen -W 'auto always never' -- "$cur")) ;;
	*:--take:*) COMPREPLY=($(compgen -W 'mean local' -- "$cur")) ;;
	*:--socket:* | export:-o:* | export:--output:*)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		compopt -o filenames 2>/dev/null
		;;
	*:-o:* | *:--output:*) COMPREPLY=($(compgen -W 'table json' -- "$cur")) ;;
	*:*:-*) COMPREPLY=($(compgen -W "$(_dadamctl_options "$verb")" -- "$cur")) ;;
	:*) COMPREPLY=($(compgen -W 'status peers ls submit show watch logs stop export topology version help' -- "$cur")) ;;
	submit:*)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		compopt -o filenames 2>/dev/null
		;;
	*) COMPREPLY=($(compgen -W "$(_dadamctl_operands "$verb")" -- "$cur")) ;;
	esac
}

complete -F _dadamctl dadamctl
