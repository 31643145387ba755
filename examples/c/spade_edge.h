/*
 * spade_edge.h: a node of a SPADE-Edge fleet inside of a program. The program gives the losses; the library connects to
 * the neighbors, learns with them, and says what its releases have leaked.
 *
 *   int32_t node = spade_open("node.json", 500, loss, &data);
 *   if (node > 0 && spade_run(node, 0) == SPADE_DONE && spade_model(node, x, 20) == 20)
 *       use(x);
 *   spade_close(node);
 *
 * HANDLES. A node is a number above 0. It is never used twice in a process. Numbers that are no open node are refused.
 *
 * ERRORS. What is below 0 is an error, one of the numbers SPADE_... below. spade_error has its text. No error ends the
 * process, and neither does a panic within a call. Two things do, as memory errors in C do: memory that runs out, and a
 * panic in a thread of the library's own.
 *
 * THREADS. Every function may be called from any thread, at the same time, and from within a callback. None may be
 * called from a signal handler, or in a child after fork.
 *
 * OWNERSHIP. What is passed in belongs to the caller and is not kept, except for callbacks and their user pointers.
 * What comes out is copied into the caller's memory.
 *
 * TEXT is UTF-8. A function that returns text writes as much of it as fits, ends it with a zero if size is not 0, and
 * returns the length of the whole text without the zero, as snprintf does. With size 0 the pointer may be NULL.
 *
 * SIGNALS. The library takes over no signal that a program waits for: not SIGINT, SIGTERM or SIGHUP. The Go runtime in
 * it installs handlers for SIGSEGV, SIGBUS, SIGFPE, SIGPIPE and SIGURG when it is loaded, which call those that were
 * there before. It sets SA_ONSTACK in all handlers that it finds; a handler that is installed later must set it as
 * well, for it may run in a thread with a small stack. README.md says more.
 */
#ifndef SPADE_EDGE_H
#define SPADE_EDGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. It grows when a function changes; new functions leave it as it is. */
#define SPADE_ABI 2

/* What functions return. The numbers are the exit codes of the program spade-edge, below 0. */
#define SPADE_DONE 0      /* the model is final */
#define SPADE_FAILED -1   /* anything that has no number of its own */
#define SPADE_USAGE -2    /* no such node, a wrong argument, or a wrong file; nothing was begun */
#define SPADE_REFUSED -3  /* a privacy budget is spent, or the forecast is hopeless; nothing was released */
#define SPADE_MISMATCH -4 /* the neighbors have another fleet, or the state is not this node's */
#define SPADE_STOPPED -5  /* spade_stop, or "spade-edge stop"; opened and run again, the node goes on */

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
 * spade_line is told in a line of text, valid during the call, what happens. Calls of one node come one at a time, in
 * whatever thread. It must return soon, in the way of spade_loss. The lines tell nothing of the node's own data.
 */
typedef void (*spade_line)(const char *line, void *user);

/* spade_abi returns SPADE_ABI of the library, which should be that of the header. */
int32_t spade_abi(void);

/*
 * spade_open reads a node file, its fleet file and its key, and returns a node. Relative paths start from the folder
 * of the file. With a loss, what the node file says of its oracle does not count; samples, 1..2^31-1, is how many the
 * loss knows. With NULL and 0 the node learns from its file's oracle: then the data are read when it runs, and an
 * oracle that is a program becomes a child of this process.
 *
 * user is passed to the loss. It must be valid until spade_run has returned, or, of a node that is not run, until
 * spade_close has.
 */
int32_t spade_open(const char *node_file, size_t samples, spade_loss loss, void *user);

/*
 * spade_open_text is spade_open with the content of the files in memory, of node_length and fleet_length bytes.
 * Relative paths start from folder. With fleet NULL the fleet file is read from the path in the node's text. Key,
 * state and ledger stay files: they must outlive the process.
 */
int32_t spade_open_text(const char *node, size_t node_length, const char *fleet, size_t fleet_length,
                        const char *folder, size_t samples, spade_loss loss, void *user);

/*
 * spade_lines says who is told what happens; NULL for nobody. It is called before spade_run. Returns 0. If it is not
 * called, standard error gets the lines that say whom the node waits for, and why, more and more rarely.
 */
int32_t spade_lines(int32_t node, spade_line line, void *user);

/* Flags of spade_run. */
#define SPADE_ANYWAY 1u  /* begin even if the forecast is that the run will be little better than guessing */
#define SPADE_RECOVER 2u /* with an empty state folder, take the place of a lost device */

/*
 * spade_run takes the node through all rounds that are left, and returns when it is over: one of the numbers above. It
 * keeps every release in the state folder before it sends it, so that a process that ends at any time goes on from
 * there. A node runs once; to go on after any return, close it and open it again.
 */
int32_t spade_run(int32_t node, uint32_t flags);

/*
 * spade_stop makes spade_run return SPADE_STOPPED once the loss has returned, which takes a moment: it does not wait.
 * If the node does not run yet, its run ends as it begins. Returns 0.
 */
int32_t spade_stop(int32_t node);

/*
 * spade_status writes where the node stands, before, while and after it runs, in JSON: the text of "spade-edge status
 * -json". 64 KiB are enough for most; it changes between two calls.
 */
int64_t spade_status(int32_t node, char *text, size_t size);

/* spade_dim returns how many numbers a model has, the d of the fleet. */
int64_t spade_dim(int32_t node);

/*
 * spade_model copies the node's last release into x, which has room for count numbers, and returns how many it copied,
 * the d of the fleet. Less room is an error, SPADE_USAGE. A node that has not run yet has the model that it has kept;
 * without any this is an error.
 */
int64_t spade_model(int32_t node, float *x, size_t count);

/*
 * spade_certificate writes what all releases so far have leaked at most, in JSON; "spade-edge privacy -verify" checks
 * it. It is an error if the fleet is not private, or if the node has neither run nor left one.
 */
int64_t spade_certificate(int32_t node, char *text, size_t size);

/* spade_close ends what there is of a node. If it runs, this is spade_stop: spade_run still returns. Returns 0. */
int32_t spade_close(int32_t node);

/*
 * spade_error writes the text of the last error of a call in this thread, cut to 4,095 bytes. Calls without an error
 * leave it as it is; empty if there was none.
 */
int64_t spade_error(char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
