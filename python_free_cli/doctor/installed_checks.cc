// Checks of the disk of the records, and of installed drivers, libraries and programs.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <sstream>

#include "python_free_cli/doctor/checks.h"
#include "src/base/strings.h"

namespace tilewright::cli {
namespace {

struct Mount {
  std::string folder, type, options;
};

/// Returns the mount of a path: the longest mount point that is a prefix of it.
Mount MountOf(const MachineFiles& files, const std::string& path) {
  Mount best;
  std::istringstream lines(files.Read("/proc/self/mounts").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> words = Split(line, ' ');
    if (words.size() < 4) continue;
    const std::string& folder = words[1];
    const bool above = folder == "/" || path == folder || path.starts_with(folder + "/");
    if (above && folder.size() >= best.folder.size()) best = {folder, words[2], words[3]};
  }
  return best;
}

bool IsOf(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

void InspectSpace(const CheckInput& in, Finding& out) {
  const DiskProbe& disk = in.probe.store;
  if (disk.free_bytes < 0) {
    out.verdict = Severity::kNote;
    out.is = disk.failed.empty() ? "not reported by the system" : disk.failed;
    return;
  }
  out.is = fmt::format("{} MiB free in {}", disk.free_bytes >> 20, disk.folder);
  constexpr std::int64_t kWanted = std::int64_t{1} << 30;  // 100,000 trials and their logs
  if (disk.free_bytes >= kWanted) return;
  out.verdict = Severity::kProblem;
  out.command =
      "tilewright records prune STORE --best 8, or keep the store on another disk (--records)";
}

void InspectSync(const CheckInput& in, Finding& out) {
  const DiskProbe& disk = in.probe.store;
  const Mount mount = MountOf(in.files, disk.folder);
  constexpr std::array<std::string_view, 6> kRemote = {"nfs",  "nfs4", "cifs",
                                                       "smb3", "9p",   "fuse.sshfs"};
  constexpr std::array<std::string_view, 2> kMemory = {"tmpfs", "ramfs"};
  constexpr std::array<std::string_view, 3> kUnsafe = {"nobarrier", "barrier=0", "data=writeback"};
  const std::vector<std::string> options = Split(mount.options, ',');
  const auto unsafe =
      std::ranges::find_if(options, [&](const std::string& word) { return IsOf(word, kUnsafe); });
  out.is = mount.type.empty() ? "unknown file system" : mount.type;
  if (disk.sync_seconds >= 0) {
    out.is += fmt::format(", {:.1f} ms per synced write", 1e3 * disk.sync_seconds);
  } else if (!disk.failed.empty()) {
    out.is += "; " + disk.failed;
  }
  if (IsOf(mount.type, kRemote)) {
    out.verdict = Severity::kProblem;
    out.is += ": file locks and shared memory do not work across machines";
    out.command = "keep the store on a local disk (--records FILE)";
  } else if (IsOf(mount.type, kMemory)) {
    out.verdict = Severity::kProblem;
    out.is += ": contents are lost at shutdown";
    out.command = "keep the store on a disk (--records FILE)";
  } else if (unsafe != options.end()) {
    out.verdict = Severity::kProblem;
    out.is += ", mounted with " + *unsafe + ": written data can be lost on power failure";
    out.command = "sudo mount -o remount,barrier=1 " + mount.folder;
  } else if (disk.sync_seconds < 0) {
    out.verdict = Severity::kProblem;
    out.command =
        "ls -ld " + disk.folder + "    # it must be writable for you; or use --records FILE";
  } else if (disk.sync_seconds > 0.1) {
    out.verdict = Severity::kAdvice;
    out.command = "keep the store on a faster disk (--records FILE)";
  }
}

void InspectDriver(const CheckInput& in, Finding& out) {
  const auto version = in.files.Read("/sys/module/nvidia/version");
  if (!version) {
    out.verdict = Severity::kNote;
    out.is = in.probe.cuda_works ? in.probe.cuda : "no NVIDIA driver";
    return;
  }
  out.is = "NVIDIA " + *version + "; " + in.probe.cuda;
  if (in.probe.cuda_works) return;
  out.verdict = Severity::kProblem;
  out.command = "nvidia-smi    # shows the problem; `tilewright targets` shows the loaded driver";
}

void InspectRocm(const CheckInput& in, Finding& out) {
  out.is = in.probe.rocm;
  if (!in.probe.rocm_works) out.verdict = Severity::kNote;
}

void InspectOpenCl(const CheckInput& in, Finding& out) {
  out.is = in.probe.opencl;
  if (in.probe.opencl_works) return;
  out.verdict = Severity::kNote;
  out.command = "sudo apt-get install ocl-icd-libopencl1 pocl-opencl-icd    # or your GPU's driver";
}

void InspectLibraries(const CheckInput& in, Finding& out) {
  std::vector<std::string> words;
  bool none = true;
  for (const MachineProbe::Library& library : in.probe.libraries) {
    none = none && library.version.empty();
    words.push_back(library.name + ": " +
                    (library.version.empty() ? library.missing : library.version));
  }
  out.is = fmt::format("{}", fmt::join(words, "; "));
  if (!none) return;
  out.verdict = Severity::kNote;
  out.command =
      "sudo apt-get install libdnnl2    # Debian 13: libdnnl3.6; then tilewright tune ... --libs "
      "dnnl";
}

void InspectNats(const CheckInput& in, Finding& out) {
  constexpr std::array<std::string_view, 4> kFolders = {"/usr/sbin", "/usr/bin", "/usr/local/bin",
                                                        "/usr/local/sbin"};
  const bool server = std::ranges::any_of(kFolders, [&](std::string_view folder) {
    return in.files.Has(std::string(folder) + "/nats-server");
  });
  bool library = !in.files.Names("/usr/lib", "libnats.so").empty();
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                             "/usr/lib/arm-linux-gnueabihf"}) {
    library = library || !in.files.Names(folder, "libnats.so").empty();
  }
  // The portable archive contains it under another name.
  library = library || (!in.probe.bundled.empty() &&
                        !in.files.Names(in.probe.bundled, "libtw-nats.so").empty());
  out.is = fmt::format("nats-server {}, client library {}", server ? "installed" : "not installed",
                       library ? "installed" : "not installed");
  if (server && library) return;
  out.verdict = Severity::kNote;
  out.command = fmt::format("sudo apt-get install{}{}", server ? "" : " nats-server",
                            library ? "" : " libnats3.4");
}

}  // namespace

std::vector<Check> InstalledChecks() {
  return {
      {"disk space", "a job stops when its store cannot grow", &InspectSpace},
      {"disk sync", "trials are stored durably, also on power failure", &InspectSync},
      {"driver", "required to measure GPU kernels", &InspectDriver},
      {"ROCm", "required to measure kernels of AMD GPUs", &InspectRocm},
      {"OpenCL", "required to measure kernels of OpenCL targets", &InspectOpenCl},
      {"libraries", "with --libs their functions compete with generated kernels",
       &InspectLibraries},
      {"NATS", "required for fleets (--fleet, worker, fleet)", &InspectNats},
  };
}

}  // namespace tilewright::cli
