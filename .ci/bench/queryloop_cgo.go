//go:build cgo

package main

/*
#cgo CFLAGS: -O3 -std=c11
#cgo amd64 CFLAGS: -mavx2
#cgo LDFLAGS: -lm
#define _POSIX_C_SOURCE 199309L
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct { uint32_t k0, k1; } key;

static inline void philox(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, key k, uint32_t w[4]) {
	for (int r = 0; r < 10; r++) {
		uint64_t p = (uint64_t)0xD2511F53 * c0, q = (uint64_t)0xCD9E8D57 * c2;
		c0 = (uint32_t)(q >> 32) ^ c1 ^ k.k0;
		c2 = (uint32_t)(p >> 32) ^ c3 ^ k.k1;
		c1 = (uint32_t)q;
		c3 = (uint32_t)p;
		k.k0 += 0x9E3779B9;
		k.k1 += 0xBB67AE85;
	}
	w[0] = c0, w[1] = c1, w[2] = c2, w[3] = c3;
}

static key family(uint64_t seed, uint32_t purpose) {
	uint32_t w[4];
	philox(purpose, 0, 0x53504144, 0, (key){(uint32_t)seed, (uint32_t)(seed >> 32)}, w);
	return (key){w[0], w[1]};
}

static inline float flip(float a, uint32_t word, int bit) {
	uint32_t u;
	memcpy(&u, &a, 4);
	u ^= (word >> bit & 1) << 31;
	memcpy(&a, &u, 4);
	return a;
}

static inline void signs(uint32_t *restrict u, long d, uint32_t step, uint32_t component, key k) {
	for (long i = 0; 128 * i < d; i++)
		philox(i, component, step, 0, k, u + 4 * i);
}

// perturb returns the loss at y = x + mu*u, which queryLoss computes in Go.
static inline float perturb(float *restrict y, const float *restrict x, float mu, const uint32_t *restrict u, long d) {
	long i = 0;
	for (; i + 32 <= d; i += 32)
		for (int j = 0; j < 32; j++)
			y[i + j] = x[i + j] + flip(mu, u[i / 32], j);
	for (int j = 0; i + j < d; j++)
		y[i + j] = x[i + j] + flip(mu, u[i / 32], j);
	return (float)((double)y[0] + 1);
}

static inline void replace(float *restrict a, float *restrict v, float *restrict abar, float c,
		const uint32_t *restrict u, long d, float byB, float byM) {
	long i = 0;
	for (; i + 32 <= d; i += 32)
		for (int j = 0; j < 32; j++) {
			float q = flip(c, u[i / 32], j), diff = q - a[i + j];
			v[i + j] += diff * byB;
			abar[i + j] += diff * byM;
			a[i + j] = q;
		}
	for (int j = 0; i + j < d; j++) {
		float q = flip(c, u[i / 32], j), diff = q - a[i + j];
		v[i + j] += diff * byB;
		abar[i + j] += diff * byM;
		a[i + j] = q;
	}
}

static void mean(float *restrict abar, const float *restrict table, long d, long m) {
	memset(abar, 0, 4 * d);
	for (long h = 0; h < m; h++)
		for (long i = 0; i < d; i++)
			abar[i] += table[h * d + i];
	for (long i = 0; i < d; i++)
		abar[i] *= 1.0f / (float)m;
}

// queries returns the nanoseconds of all local steps.
static double queries(long d, long m, long b, long steps, uint64_t seed, float eta, float mu, float *model) {
	float *table = calloc(m * d, 4), *abar = calloc(d, 4), *v = calloc(d, 4), *phi = calloc(d, 4), *y = calloc(d, 4);
	uint32_t *u = calloc((d + 127) / 128, 16), words[4];
	long *items = calloc(m, sizeof *items), *reach = calloc(b, sizeof *reach), stale = 0;
	long renew = 8 * m > 1 << 14 ? 8 * m : 1 << 14;
	key fill = family(seed, 1), step = family(seed, 2), batch = family(seed, 3);
	float byB = 1.0f / (float)b, byM = 1.0f / (float)m;
	memset(model, 0, 4 * d);
	for (long h = 0; h < m; h++) {
		items[h] = h;
		signs(u, d, 0, h, fill);
		float c = perturb(y, phi, mu, u, d);
		for (long i = 0; i < d; i++)
			table[h * d + i] = flip(c, u[i / 32], i % 32);
	}
	mean(abar, table, d, m);
	struct timespec start, end;
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (uint32_t t = 0; t < steps; t++) {
		if (b < m) {
			for (long i = b - 1; i >= 0; i--) {
				long j = i + reach[i], h = items[i];
				items[i] = items[j], items[j] = h;
			}
			uint32_t block = 0, left = 0;
			for (long i = 0; i < b; i++) {
				uint32_t n = m - i;
				uint64_t p;
				do {
					if (!left)
						philox(block++, 0, t, 0, batch, words), left = 4;
					p = (uint64_t)words[4 - left--] * n;
				} while ((uint32_t)p < n && (uint32_t)p < -n % n);
				reach[i] = p >> 32;
				long j = i + reach[i], h = items[i];
				items[i] = items[j], items[j] = h;
			}
		}
		if (stale >= renew)
			mean(abar, table, d, m), stale = 0;
		memcpy(v, abar, 4 * d);
		for (long i = 0; i < b; i++) {
			signs(u, d, t, items[i], step);
			float c = perturb(y, phi, mu, u, d);
			replace(table + items[i] * d, v, abar, c, u, d, byB, byM);
		}
		stale += b;
		for (long i = 0; i < d; i++) {
			phi[i] -= eta * v[i];
			model[i] += v[i];
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	for (long i = 0; i < d; i++)
		model[i] *= -eta;
	free(table), free(abar), free(v), free(phi), free(y), free(u), free(items), free(reach);
	return 1e9 * (end.tv_sec - start.tv_sec) + (end.tv_nsec - start.tv_nsec);
}

// hazards computes the losses of n queries to a survival task; query i is for row i. Each loss takes one logarithm, of a
// product over the intervals.
static void hazards(long n, long columns, long intervals, const float *points, const float *rows, const int32_t *survived,
		const int32_t *events, double *losses) {
	for (long i = 0; i < n; i++) {
		const float *x = points + i * (columns + intervals), *a = rows + i * columns, *b = x + columns;
		float lanes[16] = {0};
		long j = 0;
		for (; j + 16 <= columns; j += 16)
			for (int l = 0; l < 16; l++)
				lanes[l] += x[j + l] * a[j + l];
		double z = 0, product = 1;
		for (int l = 0; l < 16; l++)
			z += lanes[l];
		for (; j < columns; j++)
			z += (double)(x[j] * a[j]);
		for (int k = 0; k < survived[i]; k++)
			product *= 1 + exp(z + b[k]);
		if (events[i])
			product *= 1 + exp(-(z + b[survived[i]]));
		losses[i] = log(product) / 4;
	}
}
*/
import "C"
import "unsafe"

// loopQueries performs the computation of machineQueries in a minimal C loop, with the same random draws and
// arithmetic.
func loopQueries(d, m, b, steps int) (model []float32, ns float64) {
	model = make([]float32, d)
	ns = float64(C.queries(C.long(d), C.long(m), C.long(b), C.long(steps), querySeed, queryEta, queryMu,
		(*C.float)(unsafe.SliceData(model))))
	return model, ns / float64(b*steps)
}

// inC computes the same losses by a loop in C, and returns true, because this build has a C compiler.
func (h *hazardLosses) inC(times int) bool {
	for range times {
		C.hazards(C.long(len(h.plain)), C.long(h.columns), C.long(h.intervals), (*C.float)(unsafe.SliceData(h.points)),
			(*C.float)(unsafe.SliceData(h.rows)), (*C.int32_t)(unsafe.SliceData(h.survived)), (*C.int32_t)(unsafe.SliceData(h.events)),
			(*C.double)(unsafe.SliceData(h.plain)))
	}
	return true
}
