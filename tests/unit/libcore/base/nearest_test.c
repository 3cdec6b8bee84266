/* "Did you mean ...?" */
#include "libcore/base/nearest.h"

#include <criterion/criterion.h>

Test(nearest, a_mistyped_word_finds_its_neighbour)
{
	static const char *const words[] = {"ring",  "complete",  "star",
					    "torus", "hypercube", "sgd"};
	static const struct {
		const char *text, *found;
	} cases[] = {{"rign", "ring"},   {"Ring", "ring"},        {"stra", "star"},
		     {"torsu", "torus"}, {"complet", "complete"}, {"hyper-cube", "hypercube"},
		     {"sdg", "sgd"},     {"banana", 0},           {"", 0},
		     {"zz", 0}};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *found = nearest_word(cases[i].text, words, 6);

		if (cases[i].found == NULL)
			cr_expect_null(found, "%s", cases[i].text);
		else
			cr_expect_str_eq(found, cases[i].found, "%s", cases[i].text);
	}
	cr_expect_null(nearest_word("ring", words, 0));
}
