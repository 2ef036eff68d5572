// The settings of audit/settings.def as a table, and what a value of each means. Pure and without a symbol of the C++
// runtime, so that the preloaded core, the simulated runtime and the command all read a value in the same way.
#pragma once

#include <signal.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace device_audit {

enum class SettingKind { flag, choice, list, count, size, text };

enum class SettingId {
#define SETTING(NAME, field, kind, standard, accepted, purpose) field,
#include "audit/settings.def"
#undef SETTING
};

struct Setting {
  SettingId id;
  std::string_view name;      // `MODE`
  std::string_view variable;  // `DEVICE_AUDIT_MODE`
  SettingKind kind;
  std::string_view standard;  // the default
  std::string_view accepted;  // as shown to the user; for a choice and a list it is what decides
  std::string_view purpose;
};

inline constexpr std::string_view settings_prefix = "DEVICE_AUDIT";

inline constexpr Setting settings[] = {
#define SETTING(NAME, field, kind, standard, accepted, purpose)                                        \
  {SettingId::field,                                                                                   \
   #NAME,                                                                                              \
   SettingId::field == SettingId::enabled ? settings_prefix : std::string_view("DEVICE_AUDIT_" #NAME), \
   SettingKind::kind,                                                                                  \
   standard,                                                                                           \
   accepted,                                                                                           \
   purpose},
#include "audit/settings.def"
#undef SETTING
};

constexpr const Setting& setting(SettingId id) {
  return settings[static_cast<int>(id)];
}

// The setting that the environment variable `variable` is of, or null.
constexpr const Setting* find_setting(std::string_view variable) {
  for (const Setting& each : settings) {
    if (each.variable == variable) return &each;
  }
  return nullptr;
}

// Calls `visit` with each item of a comma list, without the blanks around it, until one call returns false; an empty
// list has no item. True if no call did.
template <typename Visit>
constexpr bool every_item(std::string_view list, Visit visit) {
  while (!list.empty()) {
    std::size_t end = 0;
    while (end < list.size() && list[end] != ',') ++end;
    std::string_view item(list.data(), end);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    if (!visit(item)) return false;
    if (end == list.size()) break;
    list.remove_prefix(end + 1);
  }
  return true;
}

constexpr bool has_item(std::string_view list, std::string_view wanted) {
  return !every_item(list, [wanted](std::string_view item) { return item != wanted; });
}

// A whole number in decimal digits; nothing if `text` is something else or does not fit.
constexpr std::optional<std::uint64_t> parse_count(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (char digit : text) {
    if (digit < '0' || digit > '9') return std::nullopt;
    if (__builtin_mul_overflow(value, 10u, &value)) return std::nullopt;
    if (__builtin_add_overflow(value, static_cast<unsigned>(digit - '0'), &value)) return std::nullopt;
  }
  return value;
}

// Bytes: a whole number, alone or with KiB, MiB, GiB or TiB behind it; nothing if `text` is something else, zero or too
// large.
constexpr std::optional<std::uint64_t> parse_size(std::string_view text) {
  constexpr struct {
    std::string_view suffix;
    unsigned shift;
  } units[] = {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
  unsigned shift = 0;
  for (const auto& unit : units) {
    if (text.ends_with(unit.suffix)) {
      shift = unit.shift;
      text.remove_suffix(unit.suffix.size());
      break;
    }
  }
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  const auto value = parse_count(text);
  if (!value || *value == 0 || *value > (UINT64_MAX >> shift)) return std::nullopt;
  return *value << shift;
}

// The number of a signal that the setting SIGNAL accepts by name; 0 for `none`.
constexpr int signal_number(std::string_view name) {
  constexpr struct {
    std::string_view name;
    int number;
  } signals[] = {{"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2}, {"SIGHUP", SIGHUP},
                 {"SIGQUIT", SIGQUIT}, {"SIGURG", SIGURG},   {"SIGWINCH", SIGWINCH}};
  for (const auto& each : signals) {
    if (each.name == name) return each.number;
  }
  return 0;
}

// The largest number that a setting of kind count accepts: the last word of `accepted`.
constexpr std::uint64_t largest_count(const Setting& setting) {
  std::size_t start = setting.accepted.size();
  while (start > 0 && setting.accepted[start - 1] != ' ') --start;
  return parse_count(std::string_view(setting.accepted.data() + start, setting.accepted.size() - start)).value_or(0);
}

// Whether `value` is one that the setting accepts.
constexpr bool accepts(const Setting& setting, std::string_view value) {
  switch (setting.kind) {
    case SettingKind::flag:
      return value == "0" || value == "1";
    case SettingKind::choice:
      return has_item(setting.accepted, value);
    case SettingKind::list:
      return every_item(value, [&setting](std::string_view item) { return has_item(setting.accepted, item); });
    case SettingKind::count: {
      const auto count = parse_count(value);
      return count && *count <= largest_count(setting);
    }
    case SettingKind::size:
      return parse_size(value).has_value();
    case SettingKind::text:
      return !value.empty();
  }
  return false;
}

// What holds for `given`, the value in the environment: itself, or the default where it is not accepted. A null
// pointer: not given.
constexpr std::string_view effective(const Setting& setting, const char* given) {
  return given && accepts(setting, given) ? std::string_view(given) : setting.standard;
}

namespace settings_are_sound {
constexpr bool every_default_is_accepted() {
  for (const Setting& each : settings) {
    if (each.id != SettingId::run && !accepts(each, each.standard)) return false;
  }
  return true;
}
static_assert(every_default_is_accepted(), "a default in audit/settings.def that its own row does not accept");
static_assert(every_item(setting(SettingId::signal).accepted,
                         [](std::string_view name) { return name == "none" || signal_number(name) != 0; }));
static_assert(largest_count(setting(SettingId::simulate)) == 64);
}  // namespace settings_are_sound

}  // namespace device_audit
