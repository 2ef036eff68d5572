#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "answer.h"
#include "nvml.h"

namespace device_audit::simulate {
namespace {

// A whole number, or -1. Nothing may follow it.
long whole_number(const char* text, const char** end) {
  if (*text < '0' || *text > '9') return -1;
  char* after;
  errno = 0;
  const long value = strtol(text, &after, 10);
  *end = after;
  return errno ? -1 : value;
}

long whole_number(const char* text, long most, long otherwise) {
  const char* end = "";
  const long value = text ? whole_number(text, &end) : -1;
  return value >= 0 && value <= most && !*end ? value : otherwise;
}

size_t size(const char* text, size_t otherwise) {
  struct Unit {
    const char* name;
    int shift;
  };
  static constexpr Unit units[] = {{"", 0}, {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
  const char* end = "";
  const long value = text ? whole_number(text, &end) : -1;
  if (value <= 0) return otherwise;
  while (*end == ' ') ++end;
  for (const Unit& unit : units) {
    if (strcmp(end, unit.name) == 0 && value <= (16L << 40) >> unit.shift) return size_t(value) << unit.shift;
  }
  return otherwise;
}

// CUDA_VISIBLE_DEVICES as CUDA reads it: the list ends at the first entry that names no device, and a device named
// twice leaves none.
int visible(const char* list, int existing, int* physical) {
  if (!list) {
    for (int i = 0; i < existing; ++i) physical[i] = i;
    return existing;
  }
  int count = 0;
  for (const char* end = list; count < kMaximumDevices; list = end + 1) {
    while (*list == ' ') ++list;
    const long device = whole_number(list, &end);
    while (device >= 0 && *end == ' ') ++end;
    if (device < 0 || device >= existing || (*end && *end != ',')) break;
    for (int i = 0; i < count; ++i) {
      if (physical[i] == device) return 0;
    }
    physical[count++] = int(device);
    if (!*end) break;
  }
  return count;
}

Settings read_settings() {
  Settings settings{};
  settings.existing = int(whole_number(getenv("DEVICE_AUDIT_SIMULATE"), kMaximumDevices, 0));
  settings.devices = visible(getenv("CUDA_VISIBLE_DEVICES"), settings.existing, settings.physical);
  settings.memory = size(getenv("DEVICE_AUDIT_SIMULATE_MEMORY"), size_t{80} << 30);
  settings.strict = whole_number(getenv("DEVICE_AUDIT_SIMULATE_STRICT"), 1, 1);
  const char* log = getenv("DEVICE_AUDIT_LOG");
  settings.quiet = log && strcmp(log, "off") == 0;
  const char* file = getenv("DEVICE_AUDIT_LOG_FILE");
  settings.log_file = file && *file && strcmp(file, "none") ? strdup(file) : nullptr;
  return settings;
}

// Every thread that comes first reads them for itself and one of the results stays: no lock that a fork could leave
// taken.
Settings* shared_settings;

// One byte in a page that the kernel clears in every child, even after a raw clone: 1 where the devices were first
// used.
volatile char* started_here;
bool started;
pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;

CUctx_st primary[kMaximumDevices];
bool primary_active[kMaximumDevices];

bool forked() {
  return __atomic_load_n(&started, __ATOMIC_ACQUIRE) && started_here && !*started_here;
}

// Of the processes of one torchrun job the first says it.
bool is_first_rank() {
  const char* rank = getenv("LOCAL_RANK");
  return !rank || strcmp(rank, "0") == 0;
}

void start() {
  if (__atomic_load_n(&started, __ATOMIC_ACQUIRE)) return;
  pthread_mutex_lock(&start_lock);
  if (!started) {
    void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED && madvise(page, 4096, MADV_WIPEONFORK) == 0) {
      started_here = static_cast<volatile char*>(page);
      *started_here = 1;
    }
    offer_nvml();
    if (is_first_rank()) {
      const int devices = settings().devices;
      say("%d simulated GPU%s: devices, shapes and errors are PyTorch's own, values are not computed", devices,
          devices == 1 ? "" : "s");
    }
    __atomic_store_n(&started, true, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&start_lock);
}

}  // namespace

constinit thread_local Thread thread{};

const Settings& settings() {
  if (Settings* ready = __atomic_load_n(&shared_settings, __ATOMIC_ACQUIRE)) return *ready;
  static constexpr Settings none{};
  auto* mine = static_cast<Settings*>(malloc(sizeof(Settings)));
  if (!mine) return none;
  *mine = read_settings();
  Settings* other = nullptr;
  if (__atomic_compare_exchange_n(&shared_settings, &other, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return *mine;
  free(mine);
  return *other;
}

void say(const char* format, ...) {
  if (settings().quiet) return;
  const int saved = errno;
  char line[512] = "device-audit: ";
  const size_t prefix = strlen(line);
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(line + prefix, sizeof line - prefix - 1, format, arguments);
  va_end(arguments);
  size_t left = prefix + (length < 0                                  ? 0
                          : size_t(length) < sizeof line - prefix - 1 ? size_t(length)
                                                                      : sizeof line - prefix - 2);
  line[left++] = '\n';
  const char* file = settings().log_file;
  const int opened = file ? open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
  for (const char* rest = line; left;) {  // write(2): stdio could be in use by what was interrupted (P15)
    const ssize_t written = write(opened < 0 ? STDERR_FILENO : opened, rest, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    rest += written;
    left -= size_t(written);
  }
  if (opened >= 0) close(opened);
  errno = saved;
}

CUctx_st* primary_context(int device) {
  primary[device].device = device;
  __atomic_store_n(&primary_active[device], true, __ATOMIC_RELAXED);
  return &primary[device];
}

bool primary_context_active(int device) {
  return __atomic_load_n(&primary_active[device], __ATOMIC_RELAXED);
}

cudaError_t usable() {
  if (settings().devices == 0) return cudaErrorNoDevice;
  return forked() ? cudaErrorInitializationError : cudaSuccess;
}

cudaError_t enter() {
  if (cudaError_t error = usable(); error != cudaSuccess) return error;
  start();
  if (!thread.context) thread.context = primary_context(thread.device);
  return cudaSuccess;
}

}  // namespace device_audit::simulate

extern "C" int device_audit_simulated_refuse(bool* said, const char* name, const char* status_name, int status) {
  if (!__atomic_exchange_n(said, true, __ATOMIC_RELAXED)) {
    device_audit::simulate::say("simulated GPU: %s is not simulated; it returned %s", name, status_name);
  }
  return status;
}

// Asked for by the core through dlsym: the number of simulated devices that this process sees.
extern "C" int device_audit_simulated_devices(void) {
  return device_audit::simulate::settings().devices;
}
