// loader loads the library that its argument names into a program with handlers of its own.
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void count(int sig) { (void)sig; }

static void segv(int sig) {
	printf("forwarded %d\n", sig);
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv) {
	int ends[2];
	struct sigaction now, own = {.sa_handler = count}, fault = {.sa_handler = segv};
	sigaction(SIGUSR1, &own, NULL);
	sigaction(SIGSEGV, &fault, NULL);
	signal(SIGPIPE, SIG_IGN);
	void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int32_t (*abi)(void) = library == NULL ? NULL : (int32_t (*)(void))dlsym(library, "spade_abi");
	if (abi == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	printf("abi %d\n", abi());
	sigaction(SIGUSR1, NULL, &now);
	printf("onstack %d\n", now.sa_handler == count && (now.sa_flags & SA_ONSTACK) != 0);
	if (pipe(ends) == 0 && close(ends[0]) == 0)
		printf("ignored %d\n", write(ends[1], "x", 1) < 0 && errno == EPIPE);
	fflush(stdout);
	*(volatile int *)0 = 1; // a fault of the host's goes to the host's handler
	return 1;
}
