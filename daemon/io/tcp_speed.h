/* How fast the network takes what a TCP socket sends, as the kernel measures it. */
#ifndef DAEMON_IO_TCP_SPEED_H
#define DAEMON_IO_TCP_SPEED_H

/* Bytes a second, from the last acknowledgements (TCP_INFO's delivery rate: time in which the reader
 * took nothing, or there was nothing to send, does not count). 0: not known, or no TCP. */
double tcp_speed(int fd);

#endif
