// Target strings, boards and VTA designs as users write them, completed and checked.

#include "src/session/target.h"

#include <fmt/format.h>

#include "src/base/did_you_mean.h"
#include "src/base/files/file.h"
#include "src/base/format_printable.h"
#include "src/base/strings.h"
#include "src/base/text/plural.h"
#include "src/runtime/cpu_limit.h"
#include "src/session/device_support.h"
#include "src/session/user_paths.h"
#include "src/target/device.h"
#include "src/target/known_options.h"
#include "src/target/library.h"
#include "src/target/presets.h"

namespace tilewright::session {
namespace {

/// Errors: kInvalidArgument for an unknown library.
Status CheckLibraries(const Target& target, const NoteSink& note) {
  for (const std::string& name : LibrariesOf(target)) {
    const KernelLibrary* library = FindLibrary(name);
    if (library == nullptr) {
      std::string known;
      for (const KernelLibrary& one : KernelLibraries()) known += " " + std::string(one.name);
      return InvalidArgument("libs: no library '" + name + "', expected some of:" + known);
    }
    if (library->target_kind != target.kind_name()) {
      return InvalidArgument(fmt::format("libs: {} is for targets of kind {}, not {}", name,
                                         library->target_kind, target.kind_name()));
    }
    if (const auto version = LibraryVersion(*library); !version.ok()) {
      note(FormatPrintable("{}; kernels that call it are left out", version.status().message()));
    }
  }
  return {};
}

/// Returns the error for a text that is not a target. The user may have meant a board.
Status UnknownTarget(std::string_view text, const Status& why) {
  const std::string boards = BoardNames();
  if (boards.empty() || Trim(text).find_first_of(" {-=") != std::string_view::npos) return why;
  std::vector<std::string> known = {"native"};
  for (const DeviceTraits& device : AllDevices()) known.emplace_back(device.name);
  for (const std::string& board : Split(boards, ',')) known.emplace_back(Trim(board));
  return InvalidArgument(why.message() + ", or a board: " + boards + DidYouMean(text, known));
}

}  // namespace

Result<vta::Design> ReadDesign(const std::string& vta_config) {
  std::string path = vta_config;
  if (!FileExists(path) && path.find_first_of("/.") == std::string::npos) {
    path = ShippedPath("vta/" + vta_config + ".json");
    if (path.empty()) {
      return NotFound("vta-config: " + vta_config + ": no such file, and no design of this name");
    }
  }
  constexpr std::int64_t kMaxBytes = 1 << 20;  // a design has a few hundred
  auto text = ReadFile(path, kMaxBytes);
  if (!text.ok()) return text.status().WithContext("vta-config");
  auto design = vta::Design::Parse(*text, path);
  if (!design.ok()) return design.status().WithContext("vta-config");
  return design;
}

Result<Target> ParseTarget(std::string_view text, int threads, const std::string& vta_config,
                           const std::string& libraries, const NoteSink& note) {
  auto target = ParseWrittenTarget(text);
  if (!target.ok()) return target.status().WithContext("target");
  TW_RETURN_IF_ERROR(CheckRequestedTarget(*target));
  if (threads < 1) return InvalidArgument(fmt::format("threads: {}, expected 1 or more", threads));
  if (threads > 1 && !DeviceTraitsOf(*target).machine_code) {
    return InvalidArgument(fmt::format("threads: {}, but only kernels for a CPU have any, not {}",
                                       threads, target->kind_name()));
  }
  constexpr int kMaxThreads = 1024;  // of the pool of compiled code
  if (threads > kMaxThreads) {
    return InvalidArgument(fmt::format("threads: {}, expected 1 to {}", threads, kMaxThreads));
  }
  const int cores = TwUsableCpus();
  if (Trim(text).starts_with("native") && threads > cores) {
    note(FormatPrintable("{}, but this process may use {}", Counted(threads, "thread"),
                         Counted(cores, "processor")));
  }
  if (threads > 1) target->SetOption("num-threads", std::to_string(threads));
  if (!libraries.empty()) target->SetOption("libs", libraries);
  TW_RETURN_IF_ERROR(CheckLibraries(*target, note));
  const DeviceSupport* device = DeviceSupportOf(*target);
  if (!vta_config.empty() && (device == nullptr || !device->takes_design)) {
    return InvalidArgument("vta-config: the target is '" + target->kind_name() + "', no VTA");
  }
  if (device == nullptr) {
    std::string known = "native";
    for (const DeviceTraits& one : AllDevices()) known += " " + std::string(one.name);
    return Unsupported("target: no code can be generated for '" + target->kind_name() +
                       "', expected one of: " + known);
  }
  TW_RETURN_IF_ERROR(device->complete(vta_config, *target));
  return target;
}

Result<Target> ParseWrittenTarget(std::string_view text) {
  TW_ASSIGN_OR_RETURN(auto expanded, ExpandTarget(text, ShippedPath("targets")));
  auto target = Target::Parse(expanded);
  if (!target.ok()) return UnknownTarget(text, target.status());
  return target;
}

Status CheckResiduals(const Target& target, bool no_fuse_residuals) {
  if (!no_fuse_residuals || DeviceTraitsOf(target).has_host_fallback) return {};
  return InvalidArgument("no-fuse-residuals: the target is '" + target.kind_name() +
                         "', expected a VTA");
}

}  // namespace tilewright::session
