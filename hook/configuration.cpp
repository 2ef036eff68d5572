#include "hook/configuration.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "audit/settings.h"
#include "hook/say.h"

namespace device_audit::core {

constinit Configuration configuration = {};

namespace {

constexpr std::size_t longest_value_kept = 1024;

std::string_view value_of(SettingId id) {
  return effective(setting(id), std::getenv(setting(id).variable.data()));
}

bool is_on(SettingId id) {
  return value_of(id) == "1";
}

template <std::size_t Size>
void copy(char (&target)[Size], std::string_view value) {
  Text(target, Size) << value;
}

template <std::size_t Size>
void copy_path(char (&target)[Size], SettingId id) {
  const std::string_view value = value_of(id);
  if (value != "none") copy(target, value);
}

int log_level(std::string_view name) {
  constexpr struct {
    std::string_view name;
    int level;
  } levels[] = {{"off", -1},
                {"warn", DEVICE_AUDIT_WARN},
                {"info", DEVICE_AUDIT_INFO},
                {"debug", DEVICE_AUDIT_DEBUG},
                {"trace", DEVICE_AUDIT_TRACE}};
  for (const auto& each : levels) {
    if (each.name == name) return each.level;
  }
  return DEVICE_AUDIT_WARN;
}

// How many GPUs the simulated runtime has, if it is preloaded: it says so itself.
int simulated_devices() {
  auto* count = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "device_audit_simulated_devices"));
  if (!count) dlerror();  // drops the text, which the program is not to find
  return count ? count() : 0;
}

// Calls `visit(variable, value, entry)` for each variable of the environment that begins with the prefix.
template <typename Visit>
void for_each_given(Visit visit) {
  for (char** entry = environ; entry && *entry; ++entry) {
    const char* equals = std::strchr(*entry, '=');
    if (!equals) continue;
    const std::string_view variable(*entry, static_cast<std::size_t>(equals - *entry));
    if (variable == settings_prefix ||
        (variable.starts_with(settings_prefix) && variable.data()[settings_prefix.size()] == '_')) {
      visit(variable, equals + 1);
    }
  }
}

void say_known_variables(Text& line) {
  for (const Setting& each : settings) line << (&each == settings ? "" : ", ") << each.variable;
}

}  // namespace

void read_configuration() {
  configuration.enabled = is_on(SettingId::enabled);
  device_audit_settings& parts = configuration.for_parts;
  const std::string_view mode = value_of(SettingId::mode);
  parts.mode_full = mode == "full";
  parts.mode_adaptive = mode == "adaptive";
  parts.mode_errors = mode == "errors";
  const std::string_view stacks = value_of(SettingId::stacks);
  parts.stacks_python = has_item(stacks, "python");
  parts.stacks_native = has_item(stacks, "native");
  parts.origins = is_on(SettingId::origins);
  parts.allocations = is_on(SettingId::allocations);
  parts.cupti = is_on(SettingId::cupti);
  const std::string_view modules = value_of(SettingId::modules);
  parts.modules_mismatch = has_item(modules, "mismatch");
  parts.modules_first_forward = has_item(modules, "first-forward");
  parts.modules_exit = has_item(modules, "exit");
  parts.signal = signal_number(value_of(SettingId::signal));
  parts.simulated = simulated_devices();
  parts.log_level = log_level(value_of(SettingId::log));
  copy(configuration.mode, mode);
  copy(configuration.format, value_of(SettingId::format));
  copy(configuration.output, value_of(SettingId::output));
  copy_path(configuration.allow, SettingId::allow);
  copy_path(configuration.log_file, SettingId::log_file);
  if (const std::string_view run = value_of(SettingId::run); run.starts_with('/')) copy(configuration.run, run);
  parts.allow = configuration.allow[0] ? configuration.allow : nullptr;
}

void say_bad_settings() {
  for_each_given([](std::string_view variable, const char* value) {
    FixedText<1024> line;
    const std::string_view shown(value, strnlen(value, 100));
    const Setting* known = find_setting(variable);
    if (!known) {
      line << "device-audit: " << variable << '=' << shown << " is ignored: no such setting. Known: ";
      say_known_variables(line);
    } else if (known->id == SettingId::run ? *value != '/' && *value != '\0' : !accepts(*known, value)) {
      line << "device-audit: " << variable << '=' << shown << " is ignored: accepted is " << known->accepted
           << ". Used: " << (known->standard.empty() ? "none" : known->standard);
    } else {
      return;
    }
    say_line(DEVICE_AUDIT_WARN, line.view());
  });
}

void write_given_settings(Text& json) {
  bool first = true;
  for_each_given([&](std::string_view variable, const char* value) {
    if (!find_setting(variable)) return;
    json << (first ? "" : ",");
    json.quoted(variable) << ':';
    json.quoted(std::string_view(value, strnlen(value, longest_value_kept)));
    first = false;
  });
}

}  // namespace device_audit::core
