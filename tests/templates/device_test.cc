#include "src/templates/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "src/target/device.h"
#include "src/templates/registry.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

constexpr const char* kSimulator = "vta -model=sim_1x16_i8w8a32_15_15_18_17";

TEST(DeviceTablesTest, EveryDeviceHasTemplatesAndEveryTemplateADevice) {
  for (const DeviceTraits& device : AllDevices()) {
    const std::string_view owner = device.templates_of.empty() ? device.name : device.templates_of;
    EXPECT_GT(std::ranges::count(BuiltInTemplates().all(), owner, &TemplateEntry::device), 0)
        << device.name;
  }
  for (const TemplateEntry& entry : BuiltInTemplates().all()) {
    const DeviceTraits& device = FindDeviceTraits(entry.device);
    EXPECT_FALSE(device.name.empty()) << entry.key;
    EXPECT_EQ(device.loops, entry.apply != nullptr) << entry.key;
  }
}

TEST(DeviceTablesTest, MetricsAreSecondsUnlessTheDeviceHasItsOwn) {
  for (const char* text : {"llvm", "cuda -arch=sm_75", "opencl"}) {
    EXPECT_EQ(MetricOf(*Target::Parse(text)), "seconds") << text;
  }
  EXPECT_EQ(MetricOf(*Target::Parse(kSimulator)), "cycles");
  EXPECT_EQ(MetricOf(*Target::Parse(std::string(kSimulator) + " -metric=dram_bytes")),
            "dram_bytes");
}

TEST(DeviceTablesTest, MetricsThatATrialCanSay) {
  const auto metrics = [](const char* text) { return MetricsOf(*Target::Parse(text)); };
  using Names = std::vector<std::string>;
  EXPECT_EQ(metrics("llvm"), (Names{"seconds", "code_bytes", "joules"}));
  EXPECT_EQ(metrics("cuda -arch=sm_75"), (Names{"seconds", "joules"}));
  EXPECT_EQ(metrics("opencl"), (Names{"seconds"}));
  EXPECT_EQ(metrics("rocm -model=gfx906"), (Names{"seconds"}));
  EXPECT_EQ(metrics(kSimulator), (Names{"cycles", "dram_bytes"}));
}

TEST(DeviceTablesTest, TrialsAreMeasuredOnWhatRunsTheCode) {
  const auto kind = [](const char* text) { return DeviceFor(*Target::Parse(text))->kind; };
  EXPECT_EQ(kind("llvm"), "cpu");
  EXPECT_EQ(kind("cuda -arch=sm_75"), "cuda");
  EXPECT_EQ(kind("cuda -model=nobody-knows"), "cuda");
  EXPECT_EQ(kind(kSimulator), "vta");
  EXPECT_EQ(kind("opencl -device=mali"), "opencl");
  EXPECT_EQ(kind("rocm -model=gfx906"), "rocm");
  EXPECT_EQ(kind("rocm -model=nobody-knows"), "rocm");
  EXPECT_EQ(*DeviceFor(*Target::Parse("metal")), ProbeHostCpu());
  EXPECT_TRUE(
      DeviceFor(*Target::Parse(HostArchitecture() == "aarch64" ? "llvm -mtriple=x86_64-linux-gnu"
                                                               : "llvm -mtriple=aarch64-linux-gnu"))
          ->is_generic());
  EXPECT_FALSE(DeviceFor(*Target::Parse("vta -model=none")).ok());
}

}  // namespace
}  // namespace tilewright
