#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "measure/fleet/connect.h"
#include "measure/sandbox/sandbox.h"
#include "python_free_cli/doctor/doctor.h"
#include "src/base/files/file.h"
#include "src/base/files/scoped_temp_path.h"
#include "src/base/process/subprocess.h"
#include "src/runtime/cuda_driver.h"
#include "src/runtime/opencl/device.h"
#include "src/session/user_paths.h"
#include "src/target/library.h"

namespace tilewright::cli {
namespace {

std::int64_t FreeBytes(const std::string& folder) {
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) != 0) return -1;
  return static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
}

/// Writes as a store does: a page at a time, each synced.
void TimeSync(DiskProbe& disk) {
  const ScopedTempPath file = ScopedTempPath::NextTo(disk.folder + "/doctor");
  const int descriptor = ::open(file.path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    disk.failed = disk.folder + " cannot be written: " + ErrnoReason();
    return;
  }
  constexpr int kWrites = 5;
  const std::string page(4096, '\0');
  std::vector<double> seconds;
  for (int i = 0; i < kWrites; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (::write(descriptor, page.data(), page.size()) != static_cast<ssize_t>(page.size()) ||
        ::fdatasync(descriptor) != 0) {
      disk.failed = disk.folder + ": " + ErrnoReason();
      break;
    }
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  ::close(descriptor);
  if (seconds.size() < kWrites) return;
  std::ranges::nth_element(seconds, seconds.begin() + kWrites / 2);
  disk.sync_seconds = seconds[kWrites / 2];
}

std::string RefusedOfSandbox() {
  const measure::SandboxGaps missing = measure::TestSandbox();
  std::string text;
  for (const auto& [part, reason] :
       {std::pair{"no system call filter", missing.system_calls},
        std::pair{"no Landlock", missing.files}, std::pair{"no user namespace", missing.user}}) {
    if (!reason.empty()) text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", part, reason);
  }
  return text;
}

/// Returns the folder of the C library that belongs to a program in `bin`: in the prefix of an
/// installation, or in the build tree. Empty if there is none.
std::string CLibraryFolder(const std::string& bin) {
  for (const char* folder : {"/../lib", "/../lib/x86_64-linux-gnu", "/../lib/aarch64-linux-gnu",
                             "/../lib64", "/../src/capi"}) {
    std::error_code failed;
    if (!std::filesystem::exists(bin + folder + "/libtilewright.so", failed)) continue;
    return std::filesystem::path(bin + folder).lexically_normal().string();
  }
  return {};
}

ProgramProbe ProbeProgram() {
  ProgramProbe probe;
  probe.version = TILEWRIGHT_VERSION;
  probe.fleet = measure::fleet::IsNatsBuiltIn();
  for (const char* data : {"targets", "vta", "cost_models"}) {
    if (session::ShippedPath(data).empty()) probe.missing_data.emplace_back(data);
  }
  if (const auto program = ExecutablePath(); program.ok()) {
    probe.c_library = CLibraryFolder(program->substr(0, program->rfind('/')));
  }
  if (const char* path = std::getenv("LD_LIBRARY_PATH")) probe.library_path = path;
  return probe;
}

}  // namespace

MachineProbe ProbeMachine(const std::string& store_folder) {
  MachineProbe probe;
  probe.program = ProbeProgram();
  std::filesystem::path folder = store_folder;
  std::error_code failed;
  while (folder.has_relative_path() && !std::filesystem::is_directory(folder, failed)) {
    folder = folder.parent_path();
  }
  probe.store.folder = folder.string();
  probe.store.free_bytes = FreeBytes(probe.store.folder);
  TimeSync(probe.store);
  probe.shm_free_bytes = FreeBytes("/dev/shm");
  probe.sandbox_refused = RefusedOfSandbox();
  if (const auto gpus = CudaDevices(); gpus.ok() && !gpus->empty()) {
    probe.cuda_works = true;
    for (const CudaDevice& gpu : *gpus) {
      probe.cuda += fmt::format("{}{} (sm_{}, CUDA {})", probe.cuda.empty() ? "" : ", ", gpu.name,
                                gpu.compute_capability, DriverVersionOf(gpu));
    }
  } else {
    probe.cuda = gpus.ok() ? "no device" : gpus.status().message();
  }
  if (const auto gpus = CudaDevices(CudaApi::kHipLibrary); gpus.ok()) {
    probe.rocm_works = true;
    for (const CudaDevice& gpu : *gpus) {
      probe.rocm += fmt::format("{}{} ({}, HIP {})", probe.rocm.empty() ? "" : ", ", gpu.name,
                                gpu.processor, DriverVersionOf(gpu));
    }
  } else {
    probe.rocm = gpus.status().message();
  }
  if (const auto devices = OpenClDevices(); devices.ok()) {
    probe.opencl_works = true;
    for (const OpenClDevice& device : *devices) {
      probe.opencl += fmt::format("{}{}: {} ({}, driver {})", probe.opencl.empty() ? "" : "; ",
                                  device.platform_name, device.name, device.version, device.driver);
    }
  } else {
    probe.opencl = devices.status().message();
  }
  for (const KernelLibrary& library : KernelLibraries()) {
    const auto version = LibraryVersion(library);
    probe.libraries.push_back({std::string(library.name), version.ok() ? *version : std::string(),
                               version.ok() ? std::string() : version.status().message()});
  }
  if (const auto program = ExecutablePath(); program.ok()) {
    const std::filesystem::path beside =
        std::filesystem::path(*program).parent_path() / "../lib/tilewright";
    if (std::filesystem::is_directory(beside, failed)) {
      probe.bundled = beside.lexically_normal().string();
    }
  }
  return probe;
}

}  // namespace tilewright::cli
