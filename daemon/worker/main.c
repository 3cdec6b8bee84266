/* dadam-worker: the process of one rank of one job. Started by dadamd with an ipc socketpair as
 * descriptor 3; it has no command line. It opens no sockets and resolves no names: its links are handed
 * to it over that descriptor. */
#include "daemon/worker/big_mem.h"
#include "daemon/worker/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DAEMON_FD 3

int main(int argc, char **argv)
{
	struct stat st;

	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("dadam-worker %s\n", DADAM_VERSION);
		return 0;
	}
	if (argc != 1 || fstat(DAEMON_FD, &st) != 0 || !S_ISSOCK(st.st_mode)) {
		fprintf(stderr, "dadam-worker: started by dadamd only, with a socket as descriptor %d\n", DAEMON_FD);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	/* Ranks share the machine, and equal numbers of threads are part of determinism. */
	setenv("OPENBLAS_NUM_THREADS", "1", 1);
	setenv("OMP_NUM_THREADS", "1", 1);
	big_mem_install();
	return worker_run(DAEMON_FD);
}
