#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/target/cpu.h"
#include "src/target/target.h"

namespace tilewright {

/// A library whose functions can take the place of kernels: `-libs=dnnl` of a target, `--libs` of
/// the program. Templates that call it are named after it: "conv2d.dnnl".
struct KernelLibrary {
  std::string_view name;         ///< "dnnl"
  std::string_view product;      ///< "oneDNN"
  std::string_view file;         ///< what is loaded
  int major = 0;                 ///< the version whose interface is spoken
  std::string_view target_kind;  ///< "llvm": what code may call it
  std::string_view later_file;   ///< of a later version whose interface is spoken, too; or empty
  int later_major = 0;
};
/// All that are known, by name.
std::span<const KernelLibrary> KernelLibraries();
/// Null if there is none of that name.
const KernelLibrary* FindLibrary(std::string_view name);
/// The file that generated code loads: of the version that LibraryVersion finds on this machine;
/// without one, `file`.
std::string_view FileOf(const KernelLibrary& library);
/// The library with a file of this name, of those that code of this kind of target may call. Null
/// for any other text: nothing else is loaded in the place of a kernel, whoever names it.
const KernelLibrary* LibraryOfFile(std::string_view file, std::string_view target_kind);
/// The library that a template calls; null for templates that generate code.
const KernelLibrary* LibraryOfTemplate(std::string_view template_key);

/// Names in -libs, separated by commas.
std::vector<std::string> LibrariesOf(const Target& target);
bool UsesLibrary(const Target& target, std::string_view name);
/// The target without -libs: what code is generated for, and what records say.
Target WithoutLibraries(const Target& target);

/// Empty if code for the target may call the library here, else why not.
std::string UnusableLibraryReason(const KernelLibrary& library, const Target& target);
/// The device with the version of the library, if it is here, as part of what is measured on.
DeviceFingerprint WithLibrary(DeviceFingerprint device, const KernelLibrary& library);

/// "oneDNN 2.6.3", as the library on this machine says; it stays loaded.
/// Of several versions the first that is spoken.
/// Errors: kNotFound with the loader's words; kUnsupported for a version that is not spoken.
Result<std::string> LibraryVersion(const KernelLibrary& library);

}  // namespace tilewright
