/* A heap whose k-th allocation fails, and that counts what is still held.
 *
 *   for (int k = 0; st != ST_OK; k++) {
 *           fail_mem_at(k);
 *           st = thing_create(&t, ...);
 *           cr_assert_eq(fail_mem_outstanding(), st == ST_OK ? 3 : 0);
 *   }
 *   thing_destroy(t); fail_mem_off(); */
#ifndef TESTS_LIB_FAIL_MEM_H
#define TESTS_LIB_FAIL_MEM_H

void fail_mem_at(int k);           /* install; allocation k (0 = the next one) and all later ones fail; k < 0: none fails */
long fail_mem_outstanding(void);   /* blocks allocated and not freed since fail_mem_at */
void fail_mem_off(void);           /* back to the C library's heap */

#endif
