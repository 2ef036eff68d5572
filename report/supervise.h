// A child process that behaves as if it had been started without us in between.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace device_audit::report {

// Standard streams that are closed: files that we open would get their numbers. They are kept busy here, and closed
// again for a program that is started.
class StandardStreams {
 public:
  StandardStreams();
  void restore() const;

 private:
  bool opened_[3] = {};
};

struct Ending {
  int error = 0;   // errno where the program could not be started; the others mean nothing then
  int code = 0;    // exit code; that of the shell, 128 + signal, where a signal ended it
  int signal = 0;  // 0: none
};

// Takes over the signals that are meant for the program, for as long as it lives; everything else in the process must
// be single-threaded.
class Supervisor {
 public:
  Supervisor();
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Starts `arguments` with the current environment, found like a shell does, and waits for its end. `started` is given
  // its process id.
  Ending program(const std::vector<std::string>& arguments, const StandardStreams& streams,
                 const std::function<void(int)>& started);

  // Runs `task` in a child, so that nothing it does can end this process, and waits for its end.
  Ending aside(const std::function<int()>& task);

 private:
  struct State;
  State* state_;
};

}  // namespace device_audit::report
