// The functions of spade_edge.h that have const or function pointers in them, which Go's exports cannot have, and the
// error of a thread. User pointers go to Go as integers: they may be any number, and Go's own pointers may not.
#include "spade_edge.h"

#include <string.h>

#include "_cgo_export.h"

static _Thread_local struct {
	size_t length;
	char text[4096];
} last;

void spade_go_set_error(const char *text, size_t length) {
	last.length = length < sizeof last.text ? length : sizeof last.text - 1;
	memcpy(last.text, text, last.length);
}

int64_t spade_error(char *text, size_t size) {
	if (text != NULL && size > 0) {
		size_t n = last.length < size ? last.length : size - 1;
		memcpy(text, last.text, n);
		text[n] = 0;
	}
	return (int64_t)last.length;
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
