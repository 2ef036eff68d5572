// Ends in the way that the first argument names, with exit code 7. What is printed to stdout is flushed first.
#define _GNU_SOURCE
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static void at_exit(void) {
  (void)!write(1, "at exit\n", 8);
}
static void at_quick(void) {
  (void)!write(1, "at quick exit\n", 14);
}

static int code_of(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void on_signal(int number) {
  _exit(number == SIGUSR1 ? 7 : 1);
}

int main(int count, char** arguments) {
  const char* way = arguments[1];
  atexit(at_exit);
  at_quick_exit(at_quick);
  setvbuf(stdout, NULL, _IONBF, 0);
  if (!strcmp(way, "return")) return 7;
  if (!strcmp(way, "exit")) exit(7);
  if (!strcmp(way, "_exit")) _exit(7);
  if (!strcmp(way, "_Exit")) _Exit(7);
  if (!strcmp(way, "quick_exit")) quick_exit(7);
  if (!strcmp(way, "abort")) abort();
  if (!strcmp(way, "kill")) raise(SIGKILL);
  if (!strcmp(way, "signal")) {
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
  }
  if (!strcmp(way, "vfork-exit")) {
    pid_t child = vfork();
    if (child == 0) _exit(3);
    printf("child %d\n", code_of(child));
    return 7;
  }
  if (!strcmp(way, "vfork-exec")) {
    pid_t child = vfork();
    if (child == 0) {
      execv(arguments[2], arguments + 2);
      _exit(99);
    }
    printf("child %d\n", code_of(child));
    return 7;
  }
  if (!strcmp(way, "fork-exit")) {
    pid_t child = fork();
    if (child == 0) exit(3);
    printf("child %d\n", code_of(child));
    return 7;
  }
  if (!strcmp(way, "spawn")) {
    pid_t child;
    if (posix_spawn(&child, arguments[2], NULL, NULL, arguments + 2, environ) == 0)
      printf("child %d\n", code_of(child));
    return 7;
  }
  if (!strcmp(way, "exec")) execv(arguments[2], arguments + 2);
  if (!strcmp(way, "system")) {
    printf("shell %d\n", WEXITSTATUS(system(arguments[2])));
    return 7;
  }
  return count;
}
