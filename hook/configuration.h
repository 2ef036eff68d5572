// What the environment says, read once when a libtorch is found.
#pragma once

#include <climits>

#include "hook/bridge.h"
#include "hook/text.h"

namespace device_audit::core {

struct Configuration {
  bool enabled;
  device_audit_settings for_parts;
  // Copies: the environment may change later.
  char mode[16];
  char format[64];
  char output[PATH_MAX];
  char allow[PATH_MAX];     // empty: none
  char log_file[PATH_MAX];  // empty: none
  char run[PATH_MAX];       // absolute; empty: none
};

extern Configuration configuration;

void read_configuration();

// One line for each variable with the prefix that is unknown or has a value that is not accepted.
void say_bad_settings();

// The settings that the environment gives, as the members of a JSON object.
void write_given_settings(Text& json);

}  // namespace device_audit::core
