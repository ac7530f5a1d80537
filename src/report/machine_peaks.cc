#include "src/report/machine_peaks.h"

#include <algorithm>
#include <filesystem>

#include "src/base/files/file.h"
#include "src/base/files/scoped_temp_path.h"
#include "src/base/json.h"
#include "src/report/gather.h"
#include "src/session/device_support.h"
#include "src/session/user_paths.h"
#include "src/target/cpu.h"

namespace tilewright::report {
namespace {

constexpr std::size_t kMaxPeaksBytes = 64 << 10;

/// Reads the peaks by machine, each as JSON text; empty if the file does not exist.
Json ReadKeptPeaks(const std::string& path) {
  const auto text = ReadFile(path, kMaxPeaksBytes);
  if (!text.ok()) return Json::object();
  auto json = ParseJson(*text);
  return json.ok() && json->is_object() ? *std::move(json) : Json::object();
}

void WriteKeptPeaks(const std::string& path, const Json& json) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  ScopedTempPath file = ScopedTempPath::NextTo(path);
  if (WriteFile(file.path(), DumpJson(json) + "\n").ok()) (void)file.MoveTo(path);
}

}  // namespace

MachinePeaks HigherPeaks(const MachinePeaks& a, const MachinePeaks& b) {
  return {std::max(a.float_ops_per_second, b.float_ops_per_second),
          std::max(a.int8_ops_per_second, b.int8_ops_per_second),
          std::max(a.near_bytes_per_second, b.near_bytes_per_second),
          std::max(a.far_bytes_per_second, b.far_bytes_per_second)};
}

MachinePeaks KeepHighestPeaks(const std::string& path, const std::string& machine,
                              const MachinePeaks& measured) {
  Json kept = ReadKeptPeaks(path);
  MachinePeaks peaks = measured;
  if (const auto found = kept.find(machine); found != kept.end() && found->is_string()) {
    const auto before = ParsePeaks(found->get<std::string>());
    if (before.ok()) peaks = HigherPeaks(*before, measured);
  }
  const std::string text = PeaksText(peaks);
  if (kept.value(machine, Json()) != Json(text)) {
    kept[machine] = text;
    if (DumpJson(kept).size() < kMaxPeaksBytes) WriteKeptPeaks(path, kept);
  }
  return peaks;
}

MachinePeaks PeaksHere(const Target& target) {
  const session::DeviceSupport* device = session::DeviceSupportOf(target);
  if (device == nullptr || device->peaks == nullptr) return {};
  const MachinePeaks measured = device->peaks(target);
  const auto paths = session::FindUserPaths();
  const auto features = FeaturesOf(target);
  if (!paths.ok() || !features.ok()) return measured;
  const std::string folder = std::filesystem::path(paths->records).parent_path();
  const std::string width = features->avx512 ? " 512" : " 256";
  return KeepHighestPeaks(folder + "/peaks.json", ProbeHostCpu().ToString() + width, measured);
}

}  // namespace tilewright::report
