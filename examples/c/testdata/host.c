// host runs nodes for tests: host MODE NODE_FILE OUT NUMBER. OUT gets the model, and what is printed says the rest. The
// losses are sums and products alone, so that every processor and language has the same.
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "spade_edge.h"

#define SAMPLES 8
#define MOST 4096

static const char *mode;
static int number, asked, nested;
static volatile sig_atomic_t signals;
static int32_t node;

static int is(const char *name) { return strcmp(mode, name) == 0; }

static void say_error(const char *what, int64_t code) {
	char text[4096];
	spade_error(text, sizeof text);
	printf("%s: %lld: %s\n", what, (long long)code, text);
}

static void count(int sig) {
	(void)sig;
	signals++;
}

static void sleep_ms(long ms) {
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};
	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

// taken says which signals that programs wait for the library has taken, and what else of the process. nohup and shells
// start programs with some signals ignored.
static void taken(void) {
	for (int sig = 1; sig < 32; sig++) {
		struct sigaction now;
		if (sig != SIGUSR1 && sig != SIGSEGV && sig != SIGBUS && sig != SIGFPE && sig != SIGPIPE && sig != SIGURG &&
		    sigaction(sig, NULL, &now) == 0 && now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN)
			printf("signal %d is taken\n", sig);
	}
	if (getenv("NOTIFY_SOCKET") == NULL)
		printf("NOTIFY_SOCKET is taken\n");
}

static double loss(const float *x, size_t d, size_t sample, void *user) {
	if (*(int *)user != number || sample >= SAMPLES)
		abort();
	if (asked++ == 0 && (is("run") || is("text") || is("nest")))
		taken();
	if (is("nan") && sample == 3)
		return NAN;
	if (is("infinite") && sample == 3)
		return -INFINITY;
	if (is("nest") && asked % 10 == 0) { // calls from within a callback
		char text[65536];
		float *now = malloc(d * sizeof *now);
		if (spade_status(node, text, sizeof text) > 0 && spade_model(node, now, d) == (int64_t)d &&
		    spade_run(node, 0) == SPADE_USAGE)
			nested++;
		free(now);
	}
	if (is("stop") && asked == 20)
		spade_stop(node);
	if (is("sleep"))
		sleep_ms(200);
	if (is("slow"))
		sleep_ms(20);
	if (is("overrun"))
		return ((const volatile float *)x)[d]; // a fault of the host's, for a checker to find
	if (is("signal")) {
		sigset_t set;
		pthread_kill(pthread_self(), SIGUSR1);
		sigemptyset(&set);
		sigaddset(&set, SIGUSR2); // one that is blocked and stays so
		pthread_sigmask(SIG_BLOCK, &set, NULL);
	}
	double sum = 0;
	for (size_t j = 0; j < d; j++) {
		double target = ((int)((sample * 7 + j * 3 + (size_t)number * 5) % 11) - 5) / 4.0;
		double off = (double)x[j] - target;
		double square = off * off;
		sum = sum + square;
	}
	return sum;
}

static void line(const char *text, void *user) {
	(void)user;
	fprintf(stderr, "%s\n", text);
}

static char *read_all(const char *path, size_t *length) {
	FILE *f = fopen(path, "rb");
	if (f == NULL)
		exit(90);
	char *text = malloc(1 << 20);
	*length = fread(text, 1, 1 << 20, f);
	fclose(f);
	return text;
}

static int32_t open_node(const char *path) {
	if (!is("text"))
		return spade_open(path, SAMPLES, loss, &number);
	char folder[4096], fleet_file[4200];
	snprintf(folder, sizeof folder, "%s", path);
	*strrchr(folder, '/') = 0;
	snprintf(fleet_file, sizeof fleet_file, "%s/fleet.json", folder);
	size_t length, fleet_length;
	char *text = read_all(path, &length), *fleet = read_all(fleet_file, &fleet_length);
	int32_t n = spade_open_text(text, length, fleet, fleet_length, folder, SAMPLES, loss, &number);
	memset(text, 'x', length); // the library has kept nothing of it
	memset(fleet, 'x', fleet_length);
	free(text);
	free(fleet);
	return n;
}

static void *later(void *arg) {
	(void)arg;
	sleep_ms(300);
	printf("stop %d\n", spade_stop(node));
	return NULL;
}

// crowd asks and asks while the node runs.
static volatile int over;
static void *crowd(void *arg) {
	(void)arg;
	char text[65536];
	float x[MOST];
	long good = 0;
	while (!over) {
		if (spade_status(node, text, sizeof text) > 0)
			good++;
		spade_model(node, x, MOST); // an error before the first release
		spade_stop(node + 1000);    // an error in this thread
		if (spade_error(text, sizeof text) == 0)
			abort();
	}
	return (void *)good;
}

static long figure(const char *name) {
	char row[256];
	long value = -1;
	FILE *f = fopen("/proc/self/status", "r");
	while (f != NULL && fgets(row, sizeof row, f) != NULL)
		if (strncmp(row, name, strlen(name)) == 0)
			value = strtol(row + strlen(name), NULL, 10);
	if (f != NULL)
		fclose(f);
	return value;
}

static long descriptors(void) {
	long n = 0;
	DIR *d = opendir("/proc/self/fd");
	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		closedir(d);
	return n;
}

// cycles opens and closes nodes; every tenth one is run as well, which is over at once after the first time.
static int cycles(const char *path, int times) {
	for (int i = 0; i < times; i++) {
		int32_t n = spade_open(path, SAMPLES, loss, &number);
		if (n <= 0) {
			say_error("open", n);
			return 1;
		}
		int32_t code = i % 10 == 0 ? spade_run(n, SPADE_ANYWAY) : 0;
		if (code != 0) {
			say_error("run", code);
			return 1;
		}
		if (spade_close(n) != 0 || spade_close(n) != SPADE_USAGE)
			return 1;
		if (i == times / 5 || i == times - 1)
			printf("%d %ld %ld %ld\n", i, figure("VmRSS:"), descriptors(), figure("Threads:"));
	}
	return 0;
}

// errors does everything that is wrong.
static int errors(const char *path) {
	char text[64], tiny[4] = "???";
	float x[1], model[MOST];
	printf("empty %lld\n", (long long)spade_error(text, sizeof text));
	say_error("null", spade_open(NULL, 1, loss, NULL));
	say_error("no file", spade_open("/nonexistent/node.json", 1, loss, NULL));
	say_error("no samples", spade_open(path, 0, loss, NULL));
	say_error("no loss", spade_open(path, 5, NULL, NULL));
	say_error("too many", spade_open(path, (size_t)-1, loss, NULL));
	say_error("garbage", spade_open_text("\xff{", 2, NULL, 0, "/", 1, loss, NULL));
	say_error("nothing", spade_open_text("", 0, "", 0, NULL, 1, loss, NULL));
	int32_t handles[] = {0, -1, 1, 2147483647, -2147483647 - 1};
	for (size_t i = 0; i < sizeof handles / sizeof *handles; i++) {
		int32_t h = handles[i];
		if (spade_run(h, 0) != SPADE_USAGE || spade_stop(h) != SPADE_USAGE || spade_dim(h) != SPADE_USAGE || spade_close(h) != SPADE_USAGE ||
		    spade_status(h, NULL, 0) != SPADE_USAGE || spade_model(h, x, 1) != SPADE_USAGE ||
		    spade_certificate(h, text, sizeof text) != SPADE_USAGE || spade_lines(h, line, NULL) != SPADE_USAGE)
			abort();
	}
	say_error("handle", spade_run(77, 0));
	printf("cut %lld", (long long)spade_error(tiny, 4));
	printf(" %s\n", tiny);
	printf("unread %lld\n", (long long)spade_error(NULL, 0));
	number = 1;
	int32_t n = spade_open(path, SAMPLES, loss, (void *)1); // a number in the place of a pointer
	printf("open %d\n", n > 0);
	if (n <= 0)
		return 1;
	say_error("short", spade_model(n, x, 1));
	say_error("nowhere", spade_model(n, NULL, 99));
	say_error("model", spade_model(n, model, sizeof model / sizeof *model));
	say_error("certificate", spade_certificate(n, text, sizeof text));
	say_error("flags", spade_run(n, 64));
	int64_t length = spade_status(n, NULL, 0);
	char *whole = malloc((size_t)length + 1);
	printf("status %d\n", spade_status(n, whole, (size_t)length + 1) == length && strlen(whole) == (size_t)length);
	free(whole);
	printf("stop %d\n", spade_stop(n));
	say_error("run", spade_run(n, 0));
	say_error("again", spade_run(n, 0));
	say_error("lines", spade_lines(n, line, NULL));
	printf("close %d\n", spade_close(n));
	say_error("closed", spade_close(n));
	return 0;
}

int main(int argc, char **argv) {
	static float x[MOST];
	static char text[1 << 20];
	pthread_t thread;
	struct sigaction usr1 = {.sa_handler = count, .sa_flags = SA_ONSTACK | SA_RESTART};
	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc != 5 || spade_abi() != SPADE_ABI)
		return 91;
	mode = argv[1];
	number = atoi(argv[4]);
	if (is("errors"))
		return errors(argv[2]);
	if (is("cycles"))
		return cycles(argv[2], atoi(argv[3]));
	sigaction(SIGUSR1, &usr1, NULL);
	for (int again = 0;; again++) {
		node = open_node(argv[2]);
		if (node <= 0) {
			say_error("open", node);
			return 92;
		}
		spade_lines(node, line, NULL);
		if (is("sleep"))
			pthread_create(&thread, NULL, later, NULL);
		if (is("crowd"))
			pthread_create(&thread, NULL, crowd, NULL);
		int32_t code = spade_run(node, SPADE_ANYWAY);
		over = 1;
		void *good = NULL;
		if (is("sleep") || is("crowd"))
			pthread_join(thread, &good);
		if (is("crowd"))
			printf("crowd %d\n", (long)good > 0);
		if (code != SPADE_DONE)
			say_error("run", code);
		if (code == SPADE_STOPPED && again == 0) {
			spade_close(node);
			mode = "run"; // go on
			continue;
		}
		int64_t d = spade_model(node, x, MOST);
		if (is("nan") || is("infinite"))
			printf("model %lld\n", (long long)d);
		if (code != SPADE_DONE || d <= 0 || spade_dim(node) != d ||
		    spade_model(node, x, (size_t)d - 1) != SPADE_USAGE)
			return 93;
		taken();
		printf("done nested %d signals %d asked %d\n", nested, signals == asked && asked > 0, asked > 0);
		int64_t n = spade_certificate(node, text, sizeof text);
		if (n > 0)
			printf("certificate %s\n", text);
		n = spade_status(node, text, sizeof text);
		printf("status %s\n", n > 0 ? text : "?");
		FILE *out = fopen(argv[3], "wb");
		if (out == NULL || fwrite(x, sizeof *x, (size_t)d, out) != (size_t)d || fclose(out) != 0)
			return 94;
		return spade_close(node);
	}
}
