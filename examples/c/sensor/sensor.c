// sensor learns with its neighbors when a machine is about to fail, from readings that never leave it:
// sensor NODE_FILE, of a fleet with "dim": 4. The loss is the logistic loss of a reading.
#include <math.h>
#include <stdio.h>

#include "spade_edge.h"

enum { READINGS = 200, FEATURES = 3, DIM = FEATURES + 1 };

struct reading {
	float x[FEATURES];
	int fails;
};

static double score(const float *w, const struct reading *r) {
	double z = w[FEATURES]; // the bias
	for (int j = 0; j < FEATURES; j++)
		z += (double)w[j] * r->x[j];
	return z;
}

static double loss(const float *w, size_t d, size_t sample, void *user) {
	const struct reading *r = (const struct reading *)user + sample;
	double z = d == DIM ? score(w, r) : NAN;
	return log1p(exp(r->fails ? -z : z));
}

static void say(const char *line, void *user) {
	fprintf(stderr, "%s: %s\n", (const char *)user, line);
}

int main(int argc, char **argv) {
	struct reading own[READINGS];
	float w[DIM];
	char text[4096];
	int right = 0;
	for (int i = 0; i < READINGS; i++) { // in place of a real sensor: vibration, heat and current
		for (int j = 0; j < FEATURES; j++)
			own[i].x[j] = (float)((i * (7 + 4 * j) + j) % 23 - 11) / 8;
		own[i].fails = own[i].x[0] + own[i].x[1] > 0.5F * own[i].x[2];
	}
	int32_t node = spade_open(argc == 2 ? argv[1] : NULL, READINGS, loss, own);
	if (node < 0 || spade_lines(node, say, argv[0]) < 0 || spade_run(node, 0) != SPADE_DONE || spade_model(node, w, DIM) != DIM) {
		spade_error(text, sizeof text);
		fprintf(stderr, "sensor: %s\n", text);
		return 1;
	}
	for (int i = 0; i < READINGS; i++)
		right += (score(w, &own[i]) > 0) == own[i].fails;
	printf("%d of %d right; w = %.3f %.3f %.3f, bias %.3f\n", right, READINGS, w[0], w[1], w[2], w[3]);
	return spade_close(node) == SPADE_DONE ? 0 : 1;
}
