#include "tests/templates/device_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "src/base/math.h"
#include "src/codegen/codegen.h"
#include "src/runtime/opencl/session.h"
#include "src/schedule/launch.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {
namespace {

constexpr std::int64_t kGuardBytes = 512;  // also the alignment of arguments on every device
constexpr std::byte kGuard{0xB7};

std::vector<GridLaunch> LaunchesOf(const LaunchPlan& plan) {
  std::vector<GridLaunch> launches;
  for (const Launch& launch : plan.launches) {
    launches.push_back({launch.name, launch.grid, launch.block, launch.dynamic_shared_bytes(), {}});
  }
  return launches;
}

/// Consecutive tensors with guard bytes before, between and after them.
struct Image {
  std::vector<std::byte> bytes = std::vector<std::byte>(kGuardBytes, kGuard);
  std::vector<std::int64_t> offsets;

  void Add(const void* from, std::int64_t size) {
    offsets.push_back(static_cast<std::int64_t>(bytes.size()));
    bytes.resize(bytes.size() + static_cast<std::size_t>(RoundUp(size, kGuardBytes) + kGuardBytes),
                 kGuard);
    if (from != nullptr)
      std::memcpy(&bytes[static_cast<std::size_t>(offsets.back())], from,
                  static_cast<std::size_t>(size));
  }
};

}  // namespace

Result<std::unique_ptr<DeviceKernelRunner>> DeviceKernelRunner::Open(int ordinal,
                                                                     const std::string& library) {
  auto session = CudaSession::Open(library, ordinal);
  TW_RETURN_IF_ERROR(session);
  return std::unique_ptr<DeviceKernelRunner>(new DeviceKernelRunner(*std::move(session), false));
}

Result<std::unique_ptr<DeviceKernelRunner>> DeviceKernelRunner::OpenOpenCl(int ordinal) {
  auto session = OpenClSession::Open(OpenClApi::kLibrary, ordinal);
  TW_RETURN_IF_ERROR(session);
  return std::unique_ptr<DeviceKernelRunner>(new DeviceKernelRunner(*std::move(session), true));
}

Result<GridProgram> DeviceKernelRunner::Load(const Program& program, const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto code, Generate({program}, target, Emit::kObject));
  auto loaded = session_->Load(code, LaunchesOf(PlanLaunches(program)));
  if (!loaded.ok()) return Internal("device: " + loaded.status().message());
  return loaded;
}

Status DeviceKernelRunner::Compile(const Program& program, const Target& target) {
  return Load(program, target).status();
}

Status DeviceKernelRunner::Run(const Program& program, const Target& target,
                               std::vector<Tensor>& arguments) {
  auto loaded = Load(program, target);
  TW_RETURN_IF_ERROR(loaded);
  const LaunchPlan plan = PlanLaunches(program);
  const auto failed = [](const Status& status) { return Internal("device: " + status.message()); };
  Image image;
  for (const Tensor& argument : arguments) image.Add(argument.data(), argument.bytes());
  for (const Buffer& buffer : plan.workspace) image.Add(nullptr, buffer->bytes());
  auto memory = session_->Allocate(static_cast<std::int64_t>(image.bytes.size()));
  if (!memory.ok()) return failed(memory.status());
  std::vector<std::uint64_t> addresses;
  for (const std::int64_t offset : image.offsets)
    addresses.push_back(memory->address() + static_cast<std::uint64_t>(offset));
  loaded->SetArguments(addresses);
  std::vector<std::byte> after(image.bytes.size());
  Status status = session_->Write(memory->address(), image.bytes);
  if (status.ok()) status = session_->Time(*loaded, 1, limit_seconds_).status();
  if (status.ok()) status = session_->Read(memory->address(), after);
  last_seconds_ = 0;
  if (status.ok() && times_) {
    const Result<double> seconds = Time(*loaded);
    status = seconds.status();
    if (status.ok()) last_seconds_ = *seconds;
  }
  if (!status.ok()) {
    if (broken())
      (void)new GridProgram(*std::move(loaded));  // the memory cannot be freed any longer
    return failed(status);
  }
  // The kernel may write only its result and its workspaces.
  const auto result = static_cast<std::size_t>(image.offsets[arguments.size() - 1]);
  Tensor& output = arguments.back();
  std::memcpy(output.data(), &after[result], static_cast<std::size_t>(output.bytes()));
  const auto restore = [&](std::int64_t offset, std::int64_t bytes) {
    std::copy_n(image.bytes.begin() + offset, bytes, after.begin() + offset);
  };
  restore(image.offsets[arguments.size() - 1], output.bytes());
  for (std::size_t i = 0; i < plan.workspace.size(); ++i)
    restore(image.offsets[arguments.size() + i], plan.workspace[i]->bytes());
  const auto differs = std::ranges::mismatch(after, image.bytes);
  if (differs.in1 == after.end()) return {};
  return Internal("device: the kernel wrote byte " +
                  std::to_string(differs.in1 - after.begin() - image.offsets.back()) +
                  ", counted from its last buffer, which is not its own");
}

Result<double> DeviceKernelRunner::Time(GridProgram& program) {
  constexpr double kBatchSeconds = 500e-6;
  constexpr int kBatches = 11;
  constexpr double kMaxCalls = 1000;
  const Result<double> once = session_->Time(program, 2, kLimitSeconds);
  TW_RETURN_IF_ERROR(once);
  const double calls = std::clamp(2 * kBatchSeconds / std::max(*once, 1e-9), 1.0, kMaxCalls);
  std::vector<double> times;
  for (int i = 0; i < kBatches; ++i) {
    const Result<double> seconds =
        session_->Time(program, static_cast<std::int64_t>(calls), kLimitSeconds);
    TW_RETURN_IF_ERROR(seconds);
    times.push_back(*seconds / std::floor(calls));
  }
  std::ranges::nth_element(times, times.begin() + kBatches / 2);
  return times[kBatches / 2];
}

void DeviceKernelRunner::ExecuteAll() {
  ExecuteGpuKernelsBy(
      [this](const Program& program, const Target& target, std::vector<Tensor>& arguments) {
        return Run(program, target, arguments);
      });
}

void DeviceKernelRunner::EndIfBroken() const {
  if (!broken()) return;
  std::printf("the device's context is broken: the rest was not run\n");
  std::fflush(stdout);
  std::_Exit(1);
}

std::unique_ptr<DeviceKernelRunner> OpenDeviceForAll(const std::string& ordinal) {
  constexpr std::string_view kOpenCl = "opencl:";
  auto device = ordinal.starts_with(kOpenCl)
                    ? DeviceKernelRunner::OpenOpenCl(std::atoi(ordinal.c_str() + kOpenCl.size()))
                    : DeviceKernelRunner::Open(std::atoi(ordinal.c_str()));
  if (!device.ok()) {
    std::fprintf(stderr, "%s\n", device.status().message().c_str());
    return nullptr;
  }
  (*device)->ExecuteAll();
  return *std::move(device);
}

}  // namespace tilewright
