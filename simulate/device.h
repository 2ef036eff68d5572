// What a simulated device says about itself.
#pragma once

#include <driver_types.h>

namespace device_audit::simulate {

inline bool is_device(int device);

// 0 for an attribute that no device has.
int device_attribute(int attribute, int device);

void device_name(int device, char* name, int length);

// By the number among those that exist.
CUuuid_st uuid_of_existing(int number);
int bus_of_existing(int number);
void bus_id_of_existing(int number, char* text, int length);

}  // namespace device_audit::simulate

#include "process.h"

inline bool device_audit::simulate::is_device(int device) {
  return device >= 0 && device < settings().devices;
}
