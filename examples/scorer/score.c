//go:build ignore

/* The loss of a logistic model on the rows of a CSV file, for SPADE-Edge. The C library and nothing else. (The line above is for the
   go tool, which would take this for a part of a Go package.)

     cc -std=c99 -O2 -o score score.c -lm

     score cbor DATA   messages are CBOR behind their length

   The last column of DATA is the class, 0 or 1. With p the probability that the model gives to it, the loss is (1 - p)^2. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *rows; /* samples rows of dim numbers and the class */
static size_t samples, dim;

static void fail(const char *what) {
	fprintf(stderr, "score: %s\n", what);
	exit(1);
}

static void load(const char *path) {
	static char line[1 << 16];
	size_t room = 0;
	FILE *file = fopen(path, "r");
	if (!file || !fgets(line, sizeof line, file)) fail("cannot read the data");
	for (char *c = line; *c; c++) dim += *c == ',';
	while (fgets(line, sizeof line, file)) {
		char *at = line;
		if (samples == room) {
			room = 2 * room + 64;
			rows = realloc(rows, room * (dim + 1) * sizeof *rows);
			if (!rows) fail("no memory");
		}
		for (size_t k = 0; k <= dim; k++) {
			rows[samples * (dim + 1) + k] = strtod(at, &at);
			if (*at == ',') at++;
		}
		samples++;
	}
	fclose(file);
}

/* number reads size bytes, the first of which counts most. */
static uint64_t number(const unsigned char *b, int size) {
	uint64_t n = 0;
	for (int k = 0; k < size; k++) n = n << 8 | b[k];
	return n;
}

/* loss takes the parameters as they come: float32, the lowest byte first. */
static double loss(size_t sample, const unsigned char *params) {
	const double *row = rows + sample * (dim + 1);
	double z = 0, wrong;
	for (size_t k = 0; k < dim; k++, params += 4) {
		uint32_t bits = params[0] | (uint32_t)params[1] << 8 | (uint32_t)params[2] << 16 | (uint32_t)params[3] << 24;
		float x;
		memcpy(&x, &bits, 4);
		z += (double)x * row[k];
	}
	if (row[dim] == 1) z = -z;
	/* The probability of the other class, 1/(1 + exp(-z)); exp never sees a number above 0. */
	wrong = z >= 0 ? 1 / (1 + exp(-z)) : exp(z) / (1 + exp(z));
	return wrong * wrong;
}

static void send(const unsigned char *message, uint32_t size) {
	for (int k = 0; k < 4; k++) putchar(size >> 8 * k & 255);
	fwrite(message, 1, size, stdout);
	fflush(stdout);
}

static void serve(void) {
	/* {1: version, 2: dim, 3: samples}, dim and samples in four bytes, the first of which counts most */
	unsigned char hello[] = {0xa3, 1, 1, 2, 0x1a, 0, 0, 0, 0, 3, 0x1a, 0, 0, 0, 0};
	unsigned char answer[21] = {0xa2}, head[4];
	size_t size = 29 + 4 * dim; /* of every query */
	unsigned char *query = malloc(size);
	if (!query) fail("no memory");
	for (int k = 0; k < 4; k++) {
		hello[5 + k] = dim >> 8 * (3 - k) & 255;
		hello[11 + k] = samples >> 8 * (3 - k) & 255;
	}
	send(hello, sizeof hello);
	while (fread(head, 1, 4, stdin) == 4 && fread(query, 1, size, stdin) == size) {
		uint64_t sample = number(query + 13, 8), bits;
		double value;
		if (sample >= samples) fail("no such sample");
		value = loss(sample, query + 29);
		memcpy(&bits, &value, 8);
		/* {1: id, 2: loss}: key and id are copied from the query */
		memcpy(answer + 1, query + 1, 10);
		answer[11] = 2;
		answer[12] = 0xfb;
		for (int k = 0; k < 8; k++) answer[13 + k] = bits >> 8 * (7 - k) & 255;
		send(answer, sizeof answer);
	}
}

int main(int argc, char **argv) {
	if (argc != 3 || strcmp(argv[1], "cbor")) fail("usage: score cbor DATA");
	load(argv[2]);
	serve();
	return 0;
}
