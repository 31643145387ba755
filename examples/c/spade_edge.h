/*
 * spade_edge.h: a node of a SPADE-Edge fleet inside a program. The program computes the losses; the library connects to
 * the neighbors, learns with them, and bounds what its releases leaked.
 *
 *   int32_t node = spade_open("node.json", 500, loss, &data);
 *   if (node > 0 && spade_run(node, 0) == SPADE_DONE && spade_model(node, x, 20) == 20)
 *       use(x);
 *   spade_close(node);
 *
 * HANDLES. A handle of a node is a number above 0, never reused in a process. Functions refuse handles that are not open.
 *
 * ERRORS. A result below 0 is an error code, SPADE_... below; spade_error has its text. Neither an error nor a panic
 * within a call ends the process. Lack of memory does, and so does a panic in a thread of the library.
 *
 * THREADS. Every function may be called from any thread, at the same time, and from within a callback. None may be
 * called from a signal handler, or in a child after fork.
 *
 * OWNERSHIP. Arguments belong to the caller; the library keeps only callbacks and their user pointers. Results are
 * copied into the caller's memory.
 *
 * TEXT is UTF-8. A function that returns text writes as much as fits, ends it with a zero if size is not 0, and returns
 * the length of the whole text without the zero, as snprintf does. With size 0 the pointer may be NULL.
 *
 * SIGNALS. The library does not handle signals that programs wait for, such as SIGINT, SIGTERM and SIGHUP. When it is
 * loaded, its Go runtime installs handlers for SIGSEGV, SIGBUS, SIGFPE, SIGPIPE and SIGURG, which call the previous
 * handlers. It sets SA_ONSTACK in all existing handlers; a handler that you install later must set it, too, because it
 * may run in a thread with a small stack. README.md has details.
 */
#ifndef SPADE_EDGE_H
#define SPADE_EDGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. It increases when a function changes, not when one is added. */
#define SPADE_ABI 2

/* Result codes: the exit codes of the program spade-edge, negated. */
#define SPADE_DONE 0      /* the model is final */
#define SPADE_FAILED -1   /* any other error */
#define SPADE_USAGE -2    /* no such node, a wrong argument, or a wrong file; nothing was started */
#define SPADE_REFUSED -3  /* a privacy budget is spent, or the forecast is hopeless; nothing was released */
#define SPADE_MISMATCH -4 /* the neighbors have another fleet, or the state is not this node's */
#define SPADE_STOPPED -5  /* spade_stop, or "spade-edge stop"; open and run the node again to continue */

/*
 * spade_loss returns the loss of a sample, 0..samples-1, at the model x of d numbers. x is valid during the call. It
 * returns NaN if it has no loss. The node asks for a loss that is NaN, infinite or beyond 1e30 up to three times. Then a
 * run without privacy ends with SPADE_FAILED; a private run uses a public constant instead, because silence would tell
 * the neighbors something about the data.
 *
 * A node makes one call at a time, from any thread; two nodes may call at the same time. The same x and sample must give
 * the same loss, or the same loss plus noise of mean zero. spade_loss must return: no longjmp, no C++ exception, no thread
 * exit. The library waits for the call, also after spade_stop.
 */
typedef double (*spade_loss)(const float *x, size_t d, size_t sample, void *user);

/*
 * spade_line receives a log line, valid during the call. A node makes one call at a time, from any thread. spade_line
 * must return soon, like spade_loss. The lines contain nothing about the node's own data.
 */
typedef void (*spade_line)(const char *line, void *user);

/* spade_abi returns the library's SPADE_ABI, which must equal the header's. */
int32_t spade_abi(void);

/*
 * spade_open reads a node file, its fleet file and its key, and returns a node. Relative paths start from the folder
 * of the file. A loss replaces the oracle of the node file; samples, 1..2^31-1, is its number of samples. With NULL and 0
 * the node uses its file's oracle: then the data is read when it runs, and an oracle that is a program becomes a child
 * of this process. The node cannot tell whether a loss has the data of its last start: in a run that protects each record,
 * its estimator forgets what it learned, and the run does not continue with the same bits.
 *
 * user is passed to the loss. It must be valid until spade_run returns or, for a node that is not run, until
 * spade_close returns.
 */
int32_t spade_open(const char *node_file, size_t samples, spade_loss loss, void *user);

/*
 * spade_open_text is spade_open with the content of the files in memory, of node_length and fleet_length bytes.
 * Relative paths start from folder. If fleet is NULL, the fleet file is read from the path in the node's text.
 * Key, state and ledger remain files, because they must outlive the process.
 */
int32_t spade_open_text(const char *node, size_t node_length, const char *fleet, size_t fleet_length,
                        const char *folder, size_t samples, spade_loss loss, void *user);

/*
 * spade_lines sets the receiver of log lines, NULL for none. Call it before spade_run. It returns 0. Without it, lines
 * that say which neighbors are missing, and why, go to standard error at growing intervals.
 */
int32_t spade_lines(int32_t node, spade_line line, void *user);

/* A flag of spade_run. */
#define SPADE_ANYWAY 1u /* start even if the forecast says that the run gains next to nothing */

/*
 * spade_run runs all remaining rounds and returns a result code. It stores every release in the state folder before it
 * sends it, so that a process that ends at any time can continue. A node runs once: to continue after a return, close
 * and open it again.
 */
int32_t spade_run(int32_t node, uint32_t flags);

/*
 * spade_stop makes spade_run return SPADE_STOPPED as soon as the current loss returns; it does not wait for that. If the
 * node does not run yet, its run will end at once. Returns 0.
 */
int32_t spade_stop(int32_t node);

/*
 * spade_status writes the status of the node in JSON, before, during and after its run: the text of "spade-edge status
 * -json". Usually 64 KiB are enough; the text may change between two calls.
 */
int64_t spade_status(int32_t node, char *text, size_t size);

/* spade_dim returns the number of parameters of the model, d. */
int64_t spade_dim(int32_t node);

/*
 * spade_model copies the node's last release into x, which has room for count numbers, and returns d. It fails with
 * SPADE_USAGE if count is less than d. Before the run it copies the stored model, and fails if there is none.
 */
int64_t spade_model(int32_t node, float *x, size_t count);

/*
 * spade_certificate writes the certificate in JSON: an upper bound on what all releases so far leaked. "spade-edge
 * privacy -verify" verifies it. It fails if the fleet is not private, or if the node has no certificate yet.
 */
int64_t spade_certificate(int32_t node, char *text, size_t size);

/* spade_close releases a node. If the node runs, it first does what spade_stop does; spade_run still returns. Returns 0. */
int32_t spade_close(int32_t node);

/*
 * spade_error writes the text of the last error of a call in this thread, at most 4,095 bytes; empty if there was none.
 * Successful calls do not change it.
 */
int64_t spade_error(char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
