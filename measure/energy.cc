// Energy counters: RAPL's as files, NVML's through the driver's library. The joules of a call come
// from the increase of a counter between two of its updates during repeated calls.

#include "measure/energy.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "measure/workers.h"
#include "src/base/files/file.h"
#include "src/base/strings.h"
#include "src/runtime/cuda_api.h"
#include "src/runtime/cuda_driver.h"
#include "src/runtime/nvml.h"
#include "src/target/device.h"

namespace tilewright::measure {
namespace {

constexpr std::string_view kZone = "intel-rapl:";  // of AMD's processors, too
constexpr double kSpanSeconds = 0.1;
constexpr int kMinSteps = 4;
/// Minimum ratio of a span to the error of its ends.
constexpr double kSpanOfEnds = 50;
/// Long calls see few updates.
constexpr double kLongSpanSeconds = 1;
/// A counter that does not advance for this many update periods has stopped.
constexpr double kMaxSteps = 500;

/// Names of the top-level zones, in order.
std::vector<std::string> ZonesIn(const std::string& folder) {
  std::vector<std::string> zones;
  DIR* const entries = ::opendir(folder.c_str());
  if (entries == nullptr) return zones;
  while (const dirent* entry = ::readdir(entries)) {
    const std::string_view name = entry->d_name;
    const bool part = name.find(':', std::min(kZone.size(), name.size())) != name.npos;
    if (name.starts_with(kZone) && !part) zones.emplace_back(name);
  }
  ::closedir(entries);
  std::ranges::sort(zones);
  return zones;
}

/// Attributes are one line; the reported file size is larger.
Result<std::int64_t> ReadNumber(int descriptor, const std::string& path) {
  std::array<char, 32> text{};
  const ssize_t count = ::pread(descriptor, text.data(), text.size(), 0);
  if (count < 0) return Unavailable(path + ": " + ErrnoReason());
  std::string_view line(text.data(), static_cast<std::size_t>(count));
  line = line.substr(0, line.find('\n'));
  const auto number = ParseInt64(line);
  if (!number.ok() || *number < 0) {
    return Unavailable(path + ": '" + std::string(line) + "', expected a number of microjoules");
  }
  return *number;
}

double MaxSecondsOf(const EnergyCounter& counter) {
  return kMaxSteps * counter.update_period_seconds();
}

Status StoodStill(const EnergyCounter& counter) {
  return Unavailable("the counter of energy stood still for " +
                     ShortestDouble(MaxSecondsOf(counter)) + " s");
}

}  // namespace

void PowercapCounter::Close::operator()(const int* descriptor) const {
  ::close(*descriptor);
  delete descriptor;
}

Result<std::int64_t> PowercapCounter::Read(const Package& package) {
  return ReadNumber(*package.descriptor, package.path);
}

Result<PowercapCounter> PowercapCounter::Open(const std::string& folder) {
  PowercapCounter counter;
  for (const std::string& zone : ZonesIn(folder)) {
    const std::string path = folder + "/" + zone;
    const auto name = ReadFile(path + "/name", 4096);
    if (!name.ok() || !name->starts_with("package")) continue;  // the whole board, say
    Package package;
    package.path = path + "/energy_uj";
    const int descriptor = ::open(package.path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
      return Unsupported(package.path + ": " + ErrnoReason() +
                         "; counters of energy are for root alone on most systems: tune as root, "
                         "or let the user read these files (chmod a+r)");
    }
    package.descriptor.reset(new int(descriptor));
    const auto range_text = ReadFile(path + "/max_energy_range_uj", 4096);
    if (!range_text.ok()) return Unsupported(range_text.status().message());
    const auto range = ParseInt64(range_text->substr(0, range_text->find('\n')));
    const auto now = Read(package);
    if (!now.ok()) return Unsupported(now.status().message());
    if (!range.ok() || *range < *now) {
      return Unsupported(path + "/max_energy_range_uj: expected the largest number of energy_uj");
    }
    package.range = *range;
    package.last = *now;
    counter.packages_.push_back(std::move(package));
  }
  if (!counter.packages_.empty()) return counter;
  return Unsupported("no counter of energy: " + folder + " has no " + std::string(kZone) +
                     "N of a processor package; on a machine of its own load the module "
                     "intel_rapl_msr (virtual machines and Arm's processors have none)");
}

Result<double> PowercapCounter::Joules() {
  for (Package& package : packages_) {
    TW_ASSIGN_OR_RETURN(const auto now, Read(package));
    std::int64_t grown = now - package.last;
    if (grown < 0) grown += package.range;
    if (grown < 0) return Unavailable(package.path + ": fell by more than its range");
    package.last = now;
    joules_ += static_cast<double>(grown) * 1e-6;
  }
  return joules_;
}

Status CheckCounterAdvances(EnergyCounter& counter, Clock& clock) {
  TW_ASSIGN_OR_RETURN(const auto first, counter.Joules());
  const double end = clock.MonotonicSeconds() + MaxSecondsOf(counter);
  while (clock.MonotonicSeconds() < end) {
    clock.SleepSeconds(counter.update_period_seconds());
    TW_ASSIGN_OR_RETURN(const auto now, counter.Joules());
    if (now != first) return {};
  }
  return StoodStill(counter);
}

Result<double> JoulesPerCall(Benchmarkable& benchmarkable, EnergyCounter& counter, Clock& clock,
                             double call_seconds) {
  // Batches of short calls, so that reading the counter takes a negligible part of the span.
  const double batch_seconds = counter.update_period_seconds() / 4;
  const double wanted = call_seconds > 0 ? std::ceil(batch_seconds / call_seconds) : 1;
  const auto batch = static_cast<std::int64_t>(std::clamp(wanted, 1.0, 1e6));
  auto last = counter.Joules();
  TW_RETURN_IF_ERROR(last);
  double first_joules = 0, since = clock.MonotonicSeconds(), stepped = since, looked = since;
  double longest = 0;  // of the batches
  std::int64_t calls = 0;
  int steps = -1;  // since the first observed update, where counting begins
  while (true) {
    if (!benchmarkable.Run(batch)) return Unavailable("a call has failed while energy was counted");
    calls += batch;
    TW_ASSIGN_OR_RETURN(const auto now, counter.Joules());
    const double moment = clock.MonotonicSeconds(), span = moment - since;
    longest = std::max(longest, moment - looked);
    looked = moment;
    if (now == *last) {
      if (moment - stepped <= MaxSecondsOf(counter)) continue;
      return StoodStill(counter);
    }
    last = now;
    stepped = moment;
    if (++steps == 0) {
      first_joules = now;
      since = moment;
      calls = 0;
      continue;
    }
    // The loop sees an update up to a batch late; if batches are longer than updates, the count is
    // up to an update old.
    const double ends = std::min(longest, counter.update_period_seconds());
    const double wanted_span = std::max(kSpanSeconds, kSpanOfEnds * ends);
    const bool enough = (span >= wanted_span && steps >= kMinSteps) || span >= kLongSpanSeconds;
    if (enough) return (now - first_joules) / static_cast<double>(calls);
  }
}

namespace {

Status CheckPackages(const RunWorkerSettings& settings) {
  return PowercapCounter::Open(settings.powercap).status();
}

Status CheckGpu(const RunWorkerSettings& settings) {
  const auto unsupported = [](const Status& status) {
    return Unsupported("no counter of the GPU's energy: " + status.message());
  };
  auto api = CudaApi::Open(settings.cuda.library);
  if (!api.ok()) return unsupported(api.status());
  auto device = DescribeCudaDevice(*api, settings.cuda.ordinal);
  if (!device.ok()) return unsupported(device.status());
  auto watch = GpuMonitor::Open(settings.cuda.nvml, device->bus_id);
  if (!watch.ok()) return unsupported(watch.status());
  const auto joules = watch->Joules();
  return joules.ok() ? Status() : unsupported(joules.status());
}

}  // namespace

Status CheckEnergyCounter(const Target& target, const RunWorkerSettings& settings) {
  if (DeviceTraitsOf(target).grids_are_source) {
    return Unsupported("OpenCL has no counter of a device's energy");
  }
  // The driver measures the kernels that it launches.
  return DeviceTraitsOf(target).launches_grids ? CheckGpu(settings) : CheckPackages(settings);
}

}  // namespace tilewright::measure
