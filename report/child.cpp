#include "report/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "audit/settings.h"

namespace device_audit::report {
namespace {

// Of the variables of Python, those that decide what it can import.
constexpr std::array<std::string_view, 4> kPythonKept = {"PYTHONPATH", "PYTHONHOME", "PYTHONNOUSERSITE",
                                                         "PYTHONUSERBASE"};

bool is_kept(std::string_view variable) {
  if (variable == "LD_PRELOAD" || variable.starts_with(settings_prefix)) return false;
  return !variable.starts_with("PYTHON") ||
         std::find(kPythonKept.begin(), kPythonKept.end(), variable) != kPythonKept.end();
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& each : texts) all.push_back(const_cast<char*>(each.c_str()));
  all.push_back(nullptr);
  return all;
}

bool has_ended(pid_t child, Answer& answer, int options) {
  int status = 0;
  pid_t waited;
  while ((waited = waitpid(child, &status, options)) < 0 && errno == EINTR) {
  }
  if (waited == 0) return false;
  if (waited > 0) answer.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return true;
}

// `limit` zero: none.
Answer run(const std::vector<std::string>& arguments, const std::vector<std::string>& environment, int output,
           int errors, std::chrono::seconds limit) {
  Answer answer;
  posix_spawn_file_actions_t streams;
  posix_spawn_file_actions_init(&streams);
  posix_spawn_file_actions_addopen(&streams, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&streams, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&streams, errors, STDERR_FILENO);
  pid_t child = 0;
  answer.error = posix_spawnp(&child, arguments.front().c_str(), &streams, nullptr, pointers(arguments).data(),
                              pointers(environment).data());
  posix_spawn_file_actions_destroy(&streams);
  if (answer.error) return answer;
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!has_ended(child, answer, limit.count() ? WNOHANG : 0)) {
    if (std::chrono::steady_clock::now() > end) {
      answer.late = true;
      kill(child, SIGKILL);
      has_ended(child, answer, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return answer;
}

std::string content_of(int file) {
  std::string content(static_cast<std::size_t>(std::max<off_t>(lseek(file, 0, SEEK_END), 0)), '\0');
  const ssize_t got = pread(file, content.data(), content.size(), 0);
  content.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return content;
}

}  // namespace

std::vector<std::string> clean_environment() {
  std::vector<std::string> kept;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    if (is_kept(text.substr(0, text.find('=')))) kept.emplace_back(text);
  }
  return kept;
}

Answer ask(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
           std::chrono::seconds limit) {
  // Files in memory, so that nobody has to read while the program writes.
  const int output = memfd_create("output", MFD_CLOEXEC);
  const int errors = memfd_create("errors", MFD_CLOEXEC);
  Answer answer;
  if (output < 0 || errors < 0) {
    answer.error = errno;
  } else {
    answer = run(arguments, environment, output, errors, limit);
    answer.output = content_of(output);
    answer.errors = content_of(errors);
  }
  if (output >= 0) close(output);
  if (errors >= 0) close(errors);
  return answer;
}

Answer run_into(const std::string& log, const std::vector<std::string>& arguments,
                const std::vector<std::string>& environment) {
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  Answer answer;
  if (file < 0) {
    answer.error = errno;
    return answer;
  }
  answer = run(arguments, environment, file, file, std::chrono::seconds(0));
  close(file);
  return answer;
}

std::string find_program(const std::string& name) {
  const auto is_program = [](const std::string& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return is_program(name) ? name : "";
  const char* given = std::getenv("PATH");
  std::string_view rest = given ? given : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const std::string folder(rest.substr(0, rest.find(':')));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    std::string path = (folder.empty() ? "." : folder) + "/" + name;
    if (is_program(path)) return path;
  }
  return "";
}

}  // namespace device_audit::report
