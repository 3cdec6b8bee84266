/* experiments check|bytes|frappe|speedup|sparse|topologies|gamma|tuned quick|full DIR [DATA]
 *
 * Runs one experiment and writes DIR/NAME.runs.csv and DIR/NAME.curves.csv. DATA: the folder with
 * frappe.train57k.libfm and frappe.test.libfm; without it Frappe is left out. See run.sh. */
#include "tests/bench/experiments/plans.h"

#include <string.h>

int main(int argc, char **argv)
{
	struct lab lab = {0};
	bool good = true;

	if (argc < 4 || argc > 5 || (strcmp(argv[2], "quick") != 0 && strcmp(argv[2], "full") != 0)) {
		(void)fprintf(stderr, "usage: experiments check|bytes|frappe|speedup|sparse|topologies|gamma|tuned quick|full DIR [DATA]\n");
		return 2;
	}
	lab.quick = strcmp(argv[2], "quick") == 0;
	if (strcmp(argv[1], "gamma") == 0) {
		plan_gamma(argv[3], lab.quick);
		return 0;
	}
	lab.data = argc == 5 ? argv[4] : NULL;
	lab_open(&lab, argv[3], argv[1]);
	if (strcmp(argv[1], "check") == 0)
		good = plan_check(&lab);
	else if (strcmp(argv[1], "bytes") == 0)
		plan_bytes(&lab);
	else if (strcmp(argv[1], "frappe") == 0)
		plan_frappe(&lab);
	else if (strcmp(argv[1], "speedup") == 0)
		plan_speedup(&lab);
	else if (strcmp(argv[1], "sparse") == 0)
		plan_sparse(&lab);
	else if (strcmp(argv[1], "topologies") == 0)
		plan_topologies(&lab);
	else if (strcmp(argv[1], "tuned") == 0)
		plan_tuned(&lab);
	else
		must(false, "no such experiment");
	lab_close(&lab);
	return good ? 0 : 1;
}
