// NVML, the management of GPUs. A library has one name only, and ours has the driver's; so an empty library beside it,
// libdevice_audit_simulate_nvml.so, carries the name libnvidia-ml.so.1 and needs ours, where dlsym then finds the
// functions.
#pragma once

namespace device_audit::simulate {

// Loads that library, once, so that dlopen("libnvidia-ml.so.1") finds it.
void offer_nvml();

}  // namespace device_audit::simulate
