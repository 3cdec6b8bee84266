/* Vectors of parameters on huge pages: 2 MiB aligned, MADV_HUGEPAGE from 3 MiB on, never copied by a
 * fork (MADV_DONTFORK). Smaller vectors come from the heap, aligned to 64 bytes.
 *
 * Fresh memory in 4 KiB pages is dearer than copying it: 31 ms for 100 MB against 5 ms. */
#ifndef DAEMON_WORKER_BIG_MEM_H
#define DAEMON_WORKER_BIG_MEM_H

/* Install it as the table of libcore/base/mem.h. Call it before threads. */
void big_mem_install(void);

#endif
