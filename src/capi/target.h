#pragma once

#include <cstdint>
#include <string>

#include "include/tilewright/tilewright.h"
#include "src/target/cpu.h"
#include "src/target/target.h"

/// Target of queries. Immutable, so that threads can share it; the texts are created once.
struct tw_target {
  tilewright::Target target;
  tilewright::DeviceFingerprint device;
  std::string text;         ///< target.ToString()
  std::string device_text;  ///< device.ToString()
  std::uint64_t hash[2];    ///< of both texts: represents them in the keys of the cache
};

namespace tilewright::capi {

/// Returns the target with its texts.
tw_target TargetOf(Target target, DeviceFingerprint device);

}  // namespace tilewright::capi
