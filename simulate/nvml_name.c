/* libnvidia-ml.so.1 by name alone: see nvml.h. */
typedef int device_audit_nothing;
