#pragma once

#include <string>
#include <utility>

#include "tests/support/cross/emulator.h"

namespace tilewright::cross {

/// An emulated machine of another architecture.
struct Machine {
  std::string command;  ///< command prefix that runs a program for it
  std::string dump;     ///< dump_main.c compiled for it
  std::string missing;  ///< not empty: why it is unavailable
};

/// name: aarch64 or armv7.
inline Machine FindMachine(const std::string& name) {
  Emulator emulator = FindEmulator(name);
  Machine machine{std::move(emulator.command),
                  name == "aarch64" ? CROSS_DUMP_AARCH64 : CROSS_DUMP_ARMV7,
                  std::move(emulator.missing)};
  if (machine.dump.empty()) machine.missing = "needs a C compiler for " + name;
  return machine;
}

}  // namespace tilewright::cross
