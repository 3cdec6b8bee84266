/* The help texts of dadamctl. See args.h. */
#include "ctl/args.h"

static const char general[] =
	"dadamctl - control dadamd, the daemon that trains models over many hosts without a server\n"
	"\n"
	"  dadamctl [--socket PATH] [-o table|json] [--timeout TIME] [--color WHEN] VERB ...\n"
	"\n"
	"  start here   status         what this node is and does      peers      who is there\n"
	"  jobs         submit FILE    start a job from a spec         ls [-a]    list jobs\n"
	"               watch JOB      live progress, who is slow      show JOB   everything about one job\n"
	"               logs JOB [-f]  what the job's processes said   stop JOB\n"
	"               export JOB -o FILE.safetensors                 topology JOB [--dot]\n"
	"  other        version        help [VERB]                     help exit  the exit statuses\n"
	"               help spec      every key of a job spec         help config  every key of dadamd.yaml\n"
	"\n"
	"JOB is an id, the start of one, or a name.\n"
	"\n"
	"examples     dadamctl submit job.yaml --wait\n"
	"             dadamctl submit job.yaml --set algorithm.learning_rate=3e-4 --set workers.min=2\n"
	"             dadamctl ls -o json | jq '.jobs[].loss'\n"
	"\n"
	"options\n"
	"  --socket PATH        the daemon's control socket (DADAM_SOCKET); else $XDG_RUNTIME_DIR/dadamd/ctl.sock,\n"
	"                       the one in the state directory, /run/dadamd/ctl.sock\n"
	"  -o, --output FORMAT  table, json (DADAM_OUTPUT); json: one document on stdout, errors as an object on stderr\n"
	"  --json               the same as -o json, also where -o is a file (export)\n"
	"  --timeout TIME       for each request, 5s (DADAM_TIMEOUT)\n"
	"  --color WHEN         auto, always, never (DADAM_COLOR, NO_COLOR)\n"
	"  -h, --help           of dadamctl or of the verb\n"
	"  -V, --version        of dadamctl alone\n";

/* In the order of enum verb. */
static const char *const texts[N_VERBS] = {
	"dadamctl status\n"
	"  What this node is, whether it is well, and its jobs.\n"
	"examples     dadamctl status\n"
	"             dadamctl status -o json | jq .node.listen\n",

	"dadamctl peers [NODE]\n"
	"  Who is in the cluster, as this node sees it. RTT: round trip. SEEN: since the last byte from there.\n"
	"  FLAGS: S seed, X told by a peer, R remembered, I inbound, N neighbour in a running job.\n"
	"  NODE (its name, id or address, or the start of one): all that is known of it, each address with its\n"
	"  last error, and why it can't be reached.\n"
	"examples     dadamctl peers\n"
	"             dadamctl peers node-c\n"
	"             dadamctl peers -o json | jq '.peers[] | select(.state != \"alive\")'\n",

	"dadamctl ls [-a]\n"
	"  Jobs that have not ended.\n"
	"  -a, --all   ended ones too\n"
	"examples     dadamctl ls -a\n"
	"             dadamctl ls -o json | jq -r '.jobs[].id'\n",

	"dadamctl submit FILE|- [--wait] [--set KEY=VALUE]... [--id-only]\n"
	"  Check a job spec here, then start it. Returns at once.\n"
	"  --wait           follow it, and exit with its result: 0 DONE, 1 FAILED, 7 could not start, 12 STOPPED\n"
	"  --set KEY=VALUE  over what the file says, as algorithm.period=8; an empty VALUE takes the key away\n"
	"  --id-only        print the job's id and nothing else; with --wait the progress goes to stderr\n"
	"examples     dadamctl submit deepfm.yaml --wait\n"
	"             dadamctl submit deepfm.yaml --set steps=500 --set model.options.hidden='[64, 64]'\n"
	"             id=$(dadamctl submit deepfm.yaml --id-only)\n",

	"dadamctl show JOB [--spec]\n"
	"  Everything about one job: each rank's steps, loss, tests, bytes and times, and the mean model.\n"
	"  MISSED: segments (wire.segment parameters each) of rounds that a lost link did not bring; the rank mixed\n"
	"  without them, which shifts the mean a little.\n"
	"  --spec   print the job's spec and nothing else\n"
	"examples     dadamctl show 3f9a21\n"
	"             dadamctl show ctr --spec >again.yaml\n",

	"dadamctl watch JOB\n"
	"  Follow a job to its end and exit with its result: 0 DONE, 1 FAILED, 7 could not start, 12 STOPPED.\n"
	"  On a terminal one view that is kept up to date; elsewhere a line at each change of phase and every\n"
	"  30 s (DADAM_PROGRESS_SECONDS). Interrupting it leaves the job alone. -o json: the job at its end.\n"
	"  COMPUTE and WAIT are shares of the last seconds: who waits is held up by a neighbour, who does not is\n"
	"  the slow one.\n"
	"examples     dadamctl watch 3f9a21\n",

	"dadamctl logs JOB [-f] [-n N]\n"
	"  What this node's daemon and worker logged about the job; kept after its end.\n"
	"  -f, --follow    go on until the job has ended\n"
	"  -n, --lines N   only the last N lines first\n"
	"examples     dadamctl logs 3f9a21 -n 20\n"
	"             dadamctl logs -f ctr\n",

	"dadamctl stop JOB\n"
	"  End a job on all nodes. What it has learned up to then is kept where the job says so.\n"
	"  All ranks end after one and the same round, as many rounds from now as there are ranks (a pipeline: this iteration).\n"
	"  A name means the job of that name that has not ended; when several have not, give the id.\n"
	"examples     dadamctl stop 3f9a21\n",

	"dadamctl export JOB -o FILE.safetensors [--take mean|local] [--force]\n"
	"  Write a model of an ended job as safetensors. The file appears whole or not at all.\n"
	"  -o, --output FILE   where to; - is stdout, unless that is a terminal\n"
	"  --take WHICH        mean: of all ranks (default); local: of this node's rank\n"
	"  --force             replace FILE when it is there already\n"
	"examples     dadamctl export ctr -o ctr.safetensors\n"
	"             dadamctl export ctr -o - | sha256sum\n",

	"dadamctl topology JOB [--dot]\n"
	"  Who exchanges with whom, with what weight, and how fast it mixes.\n"
	"  --dot   as a graph for Graphviz\n"
	"examples     dadamctl topology ctr\n"
	"             dadamctl topology ctr --dot | dot -Tsvg >ctr.svg\n",

	"dadamctl version\n"
	"  The versions of dadamctl and of the daemon. --version: of dadamctl alone.\n"
	"examples     dadamctl version -o json\n",

	("dadamctl help [VERB|exit|spec|config]\n" /* the brackets tell clang that no comma is missing */
	 "  The help of a verb; the exit statuses; every key of a job spec; every key of dadamd.yaml.\n"
	 "examples     dadamctl help submit\n"),
};

const char *help_text(void)
{
	return general;
}

const char *help_of(enum verb verb)
{
	return texts[verb];
}
