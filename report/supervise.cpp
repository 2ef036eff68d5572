#include "report/supervise.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace device_audit::report {
namespace {

constexpr std::array kForwarded = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kForwarded) sigaddset(&set, signal);
  sigaddset(&set, SIGCHLD);
  return set;
}

bool has_ended(pid_t child, Ending& ending) {
  int status = 0;
  const pid_t waited = waitpid(child, &status, WNOHANG);
  if (waited == 0 || (waited < 0 && errno == EINTR)) return false;
  if (waited > 0 && WIFSIGNALED(status)) {
    ending.signal = WTERMSIG(status);
    ending.code = 128 + ending.signal;
  } else if (waited > 0) {
    ending.code = WEXITSTATUS(status);
  }
  return true;
}

Ending wait_for(pid_t child) {
  const sigset_t set = watched();
  Ending ending;
  while (!has_ended(child, ending)) {
    siginfo_t signal{};
    const int number = sigwaitinfo(&set, &signal);
    // What the terminal sends has reached the whole group, and so the program as well.
    if (number > 0 && number != SIGCHLD && signal.si_code != SI_KERNEL) kill(child, number);
  }
  return ending;
}

}  // namespace

StandardStreams::StandardStreams() {
  for (int stream = 0; stream < 3; ++stream) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is taken, and those below are in use.
    opened_[stream] = open("/dev/null", O_RDWR) == stream;
  }
}

void StandardStreams::restore() const {
  for (int stream = 0; stream < 3; ++stream) {
    if (opened_[stream]) close(stream);
  }
}

struct Supervisor::State {
  sigset_t mask;
  struct sigaction child, pipe;

  void restore() const {
    sigaction(SIGCHLD, &child, nullptr);
    sigaction(SIGPIPE, &pipe, nullptr);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
  }
};

Supervisor::Supervisor() : state_(new State) {
  const sigset_t set = watched();
  sigprocmask(SIG_BLOCK, &set, &state_->mask);
  // Ignored SIGCHLD would take the program's exit code from us; SIGPIPE would end us before the program.
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &standard, &state_->child);
  standard.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &standard, &state_->pipe);
}

Supervisor::~Supervisor() {
  delete state_;  // the signals stay blocked: only the exit code is still to come
}

Ending Supervisor::program(const std::vector<std::string>& arguments, const StandardStreams& streams,
                           const std::function<void(int)>& started) {
  std::vector<char*> values;
  values.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) values.push_back(const_cast<char*>(argument.c_str()));
  values.push_back(nullptr);
  int failure[2];  // carries the errno of a failed exec; an exec that succeeds closes it
  if (pipe2(failure, O_CLOEXEC) != 0) return {errno, 0, 0};
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return {errno, 0, 0};
  if (child == 0) {
    streams.restore();
    state_->restore();
    // Who kills us, with a signal that cannot be passed on, means the program.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    execvp(values[0], values.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(failure[1], &error, sizeof error);
    _exit(127);
  }
  close(failure[1]);
  started(child);
  int error = 0;
  ssize_t got;
  while ((got = read(failure[0], &error, sizeof error)) < 0 && errno == EINTR) {
  }
  close(failure[0]);
  Ending ending = wait_for(child);
  ending.error = got == sizeof error ? error : 0;
  return ending;
}

Ending Supervisor::aside(const std::function<int()>& task) {
  const pid_t child = fork();
  if (child < 0) return {errno, 0, 0};
  if (child == 0) {
    state_->restore();
    _exit(task());
  }
  return wait_for(child);
}

}  // namespace device_audit::report
