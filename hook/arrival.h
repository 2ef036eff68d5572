// The moment at which a libtorch is first seen in this process. Until then the core does nothing at all.
#pragma once

namespace device_audit::core {

// From now on a libtorch may be looked for: the constructors of everything that was loaded at the start have run.
void allow_arrival();

// Starts the audit if a libtorch is mapped and ready for it, which happens once. Cheap where nothing was loaded since
// the last time.
void look_for_torch();

}  // namespace device_audit::core
