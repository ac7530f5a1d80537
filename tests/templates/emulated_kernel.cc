#include "tests/templates/emulated_kernel.h"

#include <cstdlib>
#include <cstring>

#include "src/base/files/file.h"
#include "src/codegen/codegen.h"
#include "src/codegen/runtime_archive.h"
#include "src/target/cpu.h"
#include "tests/support/cross/emulator.h"

namespace tilewright {
namespace {

/// Emulator, and kernel_main.c compiled for it.
struct KernelMachine {
  cross::Emulator emulator;
  std::string program;
};

KernelMachine MachineOf(const Target& target) {
  const bool wide = ArchitectureOf(target) == "aarch64";
  KernelMachine machine{cross::FindEmulator(wide ? "aarch64" : "armv7"),
                        wide ? CROSS_KERNEL_AARCH64 : CROSS_KERNEL_ARMV7};
  if (machine.program.empty()) machine.emulator.missing = "needs a C compiler for Arm";
  return machine;
}

}  // namespace

std::string EmulatorMissingFor(const Target& target) { return MachineOf(target).emulator.missing; }

Status RunEmulatedKernel(const Program& program, const Target& target,
                         std::vector<Tensor>& arguments) {
  const KernelMachine machine = MachineOf(target);
  if (!machine.emulator.missing.empty()) return Unsupported(machine.emulator.missing);
  TW_ASSIGN_OR_RETURN(const auto object, Generate({program}, target, Emit::kObject));
  TW_ASSIGN_OR_RETURN(const auto folder, ScopedTempDir::Create("tilewright-emulated"));
  const std::string library = folder.path() + "/kernel.so", log = folder.path() + "/log";
  TW_RETURN_IF_ERROR(LinkKernel(program, object, target, library));
  std::string command =
      machine.emulator.command + " " + machine.program + " " + library + " " + program.name;
  std::string last;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    last = folder.path() + "/argument" + std::to_string(i);
    TW_RETURN_IF_ERROR(WriteFile(last, {reinterpret_cast<const char*>(arguments[i].data()),
                                        static_cast<std::size_t>(arguments[i].bytes())}));
    command += " " + last;
  }
  if (std::system((command + " 2> " + log).c_str()) != 0) {
    const auto text = ReadFile(log);
    return Internal("under the emulator: " + (text.ok() ? *text : std::string()));
  }
  TW_ASSIGN_OR_RETURN(const auto result, ReadFile(last));
  if (result.size() != static_cast<std::size_t>(arguments.back().bytes())) {
    return Internal("the emulated kernel wrote another number of bytes");
  }
  std::memcpy(arguments.back().data(), result.data(), result.size());
  return {};
}

}  // namespace tilewright
