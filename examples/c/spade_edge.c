// The functions of spade_edge.h that have const or function pointers in them, which Go's exports cannot have, and the
// error of a thread. User pointers go to Go as integers: they may be any number, and Go's own pointers may not.
#include "spade_edge.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "_cgo_export.h"

// The error of a thread is of the heap: a library that is loaded while a program runs has next to no room for thread
// local variables beside those of Go.
struct error {
	size_t length;
	char text[4096];
};

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void make_key(void) { pthread_key_create(&key, free); }

void spade_go_set_error(const char *text, size_t length) {
	pthread_once(&once, make_key);
	struct error *e = pthread_getspecific(key);
	if (e == NULL && ((e = malloc(sizeof *e)) == NULL || pthread_setspecific(key, e) != 0)) {
		free(e);
		return;
	}
	e->length = length < sizeof e->text ? length : sizeof e->text - 1;
	memcpy(e->text, text, e->length);
}

int64_t spade_error(char *text, size_t size) {
	pthread_once(&once, make_key);
	struct error *e = pthread_getspecific(key);
	size_t length = e == NULL ? 0 : e->length, n = length < size ? length : size - 1;
	if (text != NULL && size > 0) {
		if (n > 0)
			memcpy(text, e->text, n);
		text[n] = 0;
	}
	return (int64_t)length;
}

double spade_go_loss(uintptr_t loss, const float *x, size_t d, size_t sample, uintptr_t user) {
	return ((spade_loss)loss)(x, d, sample, (void *)user);
}

void spade_go_line(uintptr_t line, const char *text, uintptr_t user) {
	((spade_line)line)(text, (void *)user);
}

int32_t spade_open(const char *node_file, size_t samples, spade_loss loss, void *user) {
	return spade_go_open((char *)node_file, NULL, 0, NULL, 0, NULL, samples, (uintptr_t)loss, (uintptr_t)user);
}

int32_t spade_open_text(const char *node, size_t node_length, const char *fleet, size_t fleet_length,
                        const char *folder, size_t samples, spade_loss loss, void *user) {
	return spade_go_open(NULL, (char *)node, node_length, (char *)fleet, fleet_length, (char *)folder, samples,
	                     (uintptr_t)loss, (uintptr_t)user);
}

int32_t spade_lines(int32_t node, spade_line line, void *user) {
	return spade_go_lines(node, (uintptr_t)line, (uintptr_t)user);
}
