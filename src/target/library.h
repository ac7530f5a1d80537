#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/target/cpu.h"
#include "src/target/target.h"

namespace tilewright {

/// Library whose functions can replace kernels: `-libs=dnnl` of a target, `--libs` of the program.
/// Templates that call it are named after it: "conv2d.dnnl".
struct KernelLibrary {
  std::string_view name;         ///< "dnnl"
  std::string_view product;      ///< "oneDNN"
  std::string_view file;         ///< file name for loading
  int major = 0;                 ///< supported major version
  std::string_view target_kind;  ///< "llvm": targets whose code can call it
  std::string_view later_file;   ///< of a later version that is supported too; or empty
  int later_major = 0;
};
/// Returns all known libraries, by name.
std::span<const KernelLibrary> KernelLibraries();
/// Returns the library of that name; null if there is none.
const KernelLibrary* FindLibrary(std::string_view name);
/// Returns the file that generated code loads: that of the version that LibraryVersion finds on
/// this machine, else `file`.
std::string_view FileOf(const KernelLibrary& library);
/// Returns the library with a file of this name among those that code of this target kind may call.
/// Null for any other text, so nothing else can be loaded in place of a kernel.
const KernelLibrary* LibraryOfFile(std::string_view file, std::string_view target_kind);
/// Returns the library that a template calls; null for templates that generate code.
const KernelLibrary* LibraryOfTemplate(std::string_view template_key);

/// Returns the comma-separated names in -libs.
std::vector<std::string> LibrariesOf(const Target& target);
bool UsesLibrary(const Target& target, std::string_view name);
/// Returns the target without -libs: the target of code generation and of records.
Target WithoutLibraries(const Target& target);

/// Returns the reason why code for the target cannot call the library on this machine; empty if it
/// can.
std::string UnusableLibraryReason(const KernelLibrary& library, const Target& target);
/// Adds the version of the library, if present, to the device fingerprint.
DeviceFingerprint WithLibrary(DeviceFingerprint device, const KernelLibrary& library);

/// Returns "oneDNN 2.6.3", as reported by the library on this machine, which stays loaded. Of
/// several versions, the first supported one.
/// Errors: kNotFound with the loader's message; kUnsupported for an unsupported version.
Result<std::string> LibraryVersion(const KernelLibrary& library);

}  // namespace tilewright
