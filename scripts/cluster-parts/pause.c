// The first process of every pod: holds its namespaces and reaps orphans of the other containers.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void stop(int number) { _exit(number == SIGTERM ? 0 : 1); }

static void reap(int number) {
  (void)number;
  while (waitpid(-1, NULL, WNOHANG) > 0) {
  }
}

int main(void) {
  struct sigaction stopping = {.sa_handler = stop};
  struct sigaction reaping = {.sa_handler = reap, .sa_flags = SA_NOCLDSTOP};
  sigaction(SIGTERM, &stopping, NULL);
  sigaction(SIGINT, &stopping, NULL);
  sigaction(SIGCHLD, &reaping, NULL);
  while (1) pause();
}
