/* Paths under data roots: found, not found, and never outside. */
#include "daemon/worker/data_paths.h"

#include "libcore/base/mem.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char base[64], roots[160];

static void touch(const char *name)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", base, name);
	f = fopen(path, "w");
	cr_assert_not_null(f);
	fclose(f);
}

static void setup(void)
{
	char path[160];

	strcpy(base, "/tmp/dadam-paths-XXXXXX");
	cr_assert_not_null(mkdtemp(base));
	snprintf(path, sizeof path, "%s/one", base);
	cr_assert_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/two", base);
	cr_assert_eq(mkdir(path, 0700), 0);
	snprintf(roots, sizeof roots, "%s/one:%s/two", base, base);
	touch("secret");
	touch("one/a.csv");
	touch("two/b.csv");
	snprintf(path, sizeof path, "%s/two/out", base);
	cr_assert_eq(symlink("../secret", path), 0);
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -r %s", base);
	cr_assert_eq(system(command), 0);
}

static enum status resolve(const char *path, char out[256])
{
	char *found = NULL;
	struct error err;
	enum status st = data_path_resolve(&found, path, roots, &err);

	snprintf(out, 256, "%.255s", st == ST_OK ? found + strlen(base) : err.msg);
	if (st == ST_OK)
		mem_free(found);
	return st;
}

Test(data_paths, a_file_is_found_in_the_first_root_that_has_it, .init = setup, .fini = teardown)
{
	char out[256];

	cr_assert_eq(resolve("a.csv", out), ST_OK);
	cr_assert_str_eq(out, "/one/a.csv");
	cr_assert_eq(resolve("b.csv", out), ST_OK);
	cr_assert_str_eq(out, "/two/b.csv");
}

Test(data_paths, an_absolute_path_inside_a_root_is_allowed, .init = setup, .fini = teardown)
{
	char path[160], out[256];

	snprintf(path, sizeof path, "%s/two/b.csv", base);
	cr_assert_eq(resolve(path, out), ST_OK);
}

Test(data_paths, nothing_leads_out_of_the_roots, .init = setup, .fini = teardown)
{
	char path[160], out[256];

	cr_assert_eq(resolve("../secret", out), ST_DENIED);
	cr_assert_eq(resolve("out", out), ST_DENIED, "a symbolic link");
	cr_assert_eq(resolve("/etc/passwd", out), ST_DENIED);
	snprintf(path, sizeof path, "%s/one", base);
	cr_assert_eq(resolve(path, out), ST_DENIED, "the root itself is no file in it");
}

/* By somebody else, where the tests run as root: root may read everything. */
Test(data_paths, a_file_that_is_not_readable_is_refused, .init = setup, .fini = teardown)
{
	char path[160], out[256];
	int ended = -1;
	pid_t child;

	cr_assert_eq(chmod(base, 0711), 0);
	snprintf(path, sizeof path, "%s/one", base);
	cr_assert_eq(chmod(path, 0711), 0);
	snprintf(path, sizeof path, "%s/one/a.csv", base);
	cr_assert_eq(chmod(path, 0), 0);
	child = fork();
	if (child == 0) {
		if (geteuid() == 0 && setuid(65534) != 0)
			_exit(2);
		_exit(resolve("a.csv", out) == ST_DENIED && strstr(out, "a.csv is not readable") != NULL ? 0 : 1);
	}
	cr_assert_eq(waitpid(child, &ended, 0), child);
	cr_assert_eq(ended, 0);
}

Test(data_paths, a_missing_file_is_named_with_the_roots, .init = setup, .fini = teardown)
{
	char out[256];

	cr_assert_eq(resolve("c.csv", out), ST_NOT_FOUND);
	cr_assert_not_null(strstr(out, "c.csv is in none of this node's data roots"));
	roots[0] = 0;
	cr_assert_eq(resolve("a.csv", out), ST_NOT_FOUND);
	cr_assert_not_null(strstr(out, "none are set"));
}

static uint32_t crc_of(const char *train, const char *test)
{
	char key_train[] = "train", key_test[] = "test", first[32], second[32];
	struct job_pair files[] = {{key_train, first}, {key_test, second}};
	struct job_pairs data = {.items = files, .n_items = 2};
	struct error err;
	uint32_t crc = 1;

	snprintf(first, sizeof first, "%s", train);
	snprintf(second, sizeof second, "%s", test);
	cr_assert_eq(data_files_crc(&crc, &data, roots, &err), ST_OK, "%s", err.msg);
	return crc;
}

static void put(const char *name, const char *text)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", base, name);
	f = fopen(path, "w");
	cr_assert_not_null(f);
	cr_assert_geq(fputs(text, f), 0);
	fclose(f);
}

Test(data_paths, the_sum_of_the_files_tells_content_and_order_but_not_the_root, .init = setup, .fini = teardown)
{
	uint32_t ab;

	put("one/a.csv", "1,2\n3,4\n");
	put("two/b.csv", "5,6\n");
	ab = crc_of("a.csv", "b.csv");
	cr_assert_neq(ab, crc_of("b.csv", "a.csv"));
	put("one/a.csv", "3,4\n1,2\n");
	cr_assert_neq(ab, crc_of("a.csv", "b.csv"));
	put("one/b.csv", "5,6\n");
	put("one/a.csv", "1,2\n3,4\n");
	cr_assert_eq(ab, crc_of("a.csv", "b.csv"));
}

Test(data_paths, a_sum_of_missing_or_unreadable_files_is_an_error, .init = setup, .fini = teardown)
{
	char train[] = "train", rows[] = "rows", absent[] = "c.csv", root[] = ".", twelve[] = "12";
	struct job_pair missing = {train, absent}, folder = {train, root}, none = {rows, twelve};
	struct error err;
	uint32_t crc = 1;

	cr_assert_eq(data_files_crc(&crc, &(struct job_pairs){.items = &missing, .n_items = 1}, roots, &err), ST_NOT_FOUND);
	cr_assert_neq(data_files_crc(&crc, &(struct job_pairs){.items = &folder, .n_items = 1}, roots, &err), ST_OK);
	cr_assert_eq(data_files_crc(&crc, &(struct job_pairs){.items = &none, .n_items = 1}, roots, &err), ST_OK);
	cr_assert_eq(crc, 0);
}
