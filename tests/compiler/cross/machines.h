#pragma once

#include <filesystem>
#include <string>

namespace tilewright::cross {

/// An emulated machine of another architecture.
struct Machine {
  std::string command;  ///< command prefix that runs a program for it
  std::string dump;     ///< dump_main.c compiled for it
  std::string missing;  ///< not empty: why it is unavailable
};

/// name: aarch64 or armv7.
inline Machine FindMachine(const std::string& name) {
  const bool wide = name == "aarch64";
  const std::string root = wide ? "/usr/aarch64-linux-gnu" : "/usr/arm-linux-gnueabihf";
  const std::string emulator = wide ? "/usr/bin/qemu-aarch64" : "/usr/bin/qemu-arm";
  Machine machine;
  machine.command = emulator + " -L " + root;
  machine.dump = wide ? CROSS_DUMP_AARCH64 : CROSS_DUMP_ARMV7;
  if (machine.dump.empty()) machine.missing = "needs a C compiler for " + name;
  if (!std::filesystem::exists(emulator)) machine.missing = "needs qemu-user for " + name;
  if (!std::filesystem::exists(root + "/lib/libc.so.6")) machine.missing = "needs " + root;
  return machine;
}

}  // namespace tilewright::cross
