#pragma once

#include <cstdint>
#include <string>

#include "include/tilewright/tilewright.h"
#include "src/target/cpu.h"
#include "src/target/target.h"

/// What is asked for. Immutable, so that threads can share it; the texts are made once.
struct tw_target {
  tilewright::Target target;
  tilewright::DeviceFingerprint device;
  std::string text;         ///< target.ToString()
  std::string device_text;  ///< device.ToString()
  std::uint64_t hash[2];    ///< of both texts: stands for them in the keys of the cache
};
