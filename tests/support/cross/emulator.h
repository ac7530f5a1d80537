#pragma once

#include <filesystem>
#include <string>

namespace tilewright::cross {

/// Emulator of programs for another architecture.
struct Emulator {
  std::string command;  ///< command prefix that runs a program
  std::string missing;  ///< not empty: why it is unavailable
};

/// name: aarch64 or armv7.
inline Emulator FindEmulator(const std::string& name) {
  const bool wide = name == "aarch64";
  const std::string root = wide ? "/usr/aarch64-linux-gnu" : "/usr/arm-linux-gnueabihf";
  const std::string emulator = wide ? "/usr/bin/qemu-aarch64" : "/usr/bin/qemu-arm";
  Emulator found{emulator + " -L " + root, ""};
  if (!std::filesystem::exists(emulator)) found.missing = "needs qemu-user for " + name;
  if (!std::filesystem::exists(root + "/lib/libc.so.6")) found.missing = "needs " + root;
  return found;
}

}  // namespace tilewright::cross
