#include "src/target/device.h"

#include <gtest/gtest.h>

#include <string>

namespace tilewright {
namespace {

std::string DeviceOf(const char* target) { return std::string(Target::Parse(target)->device()); }

TEST(DeviceTest, KindsAndKeysSayWhichOneIsMeant) {
  EXPECT_EQ(DeviceOf("llvm -mcpu=core-avx2"), "llvm");
  EXPECT_EQ(DeviceOf("native"), "llvm");
  EXPECT_EQ(DeviceOf("cuda -arch=sm_75"), "cuda");
  EXPECT_EQ(DeviceOf("nvptx -arch=sm_75"), "cuda");
  EXPECT_EQ(DeviceOf("vta -model=sim_1x16_i8w8a32_15_15_18_17"), "vta");
  EXPECT_EQ(DeviceOf("ext_dev -device=vta"), "vta");
  EXPECT_EQ(DeviceOf("ext_dev -keys=cpu"), "");
  EXPECT_EQ(DeviceOf("opencl -device=mali"), "opencl");
  EXPECT_EQ(DeviceOf("rocm -model=gfx906"), "rocm");
  EXPECT_EQ(DeviceOf("metal"), "");
  EXPECT_EQ(DeviceOf("c"), "");
}

TEST(DeviceTest, NamesAreKindsOfTargetsAndLeadToTheTraits) {
  for (const DeviceTraits& device : AllDevices()) {
    SCOPED_TRACE(device.name);
    const auto target = Target::Parse(device.name);
    ASSERT_TRUE(target.ok()) << target.status().message();
    EXPECT_EQ(&DeviceTraitsOf(*target), &device);
    EXPECT_EQ(&FindDeviceTraits(device.name), &device);
  }
}

TEST(DeviceTest, ProgramsOfUsersHaveNoCode) {
  EXPECT_EQ(DeviceOf("program -metrics=seconds,joules"), "program");
  EXPECT_EQ(std::ranges::count(AllDevices(), "program", &DeviceTraits::name), 0);
  EXPECT_FALSE(FindDeviceTraits("program").machine_code);
}

TEST(DeviceTest, CodeHasOneForm) {
  for (const DeviceTraits& device : AllDevices()) {
    SCOPED_TRACE(device.name);
    EXPECT_EQ(device.machine_code + device.launches_grids + !device.loops, 1);
    EXPECT_GE(device.codegen_version, 1);
    EXPECT_TRUE(device.launches_grids || !device.grids_are_source);
    EXPECT_TRUE(device.launches_grids || !device.grids_are_code_objects);
    EXPECT_FALSE(device.grids_are_source && device.grids_are_code_objects);
    // A device without templates of its own is served by those of one that has the same loops.
    if (device.templates_of.empty()) continue;
    const DeviceTraits& owner = FindDeviceTraits(device.templates_of);
    EXPECT_EQ(owner.launches_grids, device.launches_grids);
    // Records are current by template and version.
    constexpr int kFirstOfShared = 1000;
    EXPECT_LT(owner.codegen_version, kFirstOfShared);
    EXPECT_GT(device.codegen_version, kFirstOfShared);
  }
}

TEST(DeviceTest, OfOtherTargetsNothingIsSaid) {
  const DeviceTraits& none = DeviceTraitsOf(*Target::Parse("metal"));
  EXPECT_EQ(none.name, "");
  EXPECT_EQ(none.autotvm_family, "");
  EXPECT_FALSE(none.machine_code || none.launches_grids || none.has_host_fallback);
  EXPECT_EQ(&FindDeviceTraits(""), &none);
  EXPECT_EQ(&FindDeviceTraits("metal"), &none);
}

TEST(DeviceTest, PartsAreFoundByTheTargetsDevice) {
  static constexpr DeviceTableRow<int> kTable[] = {{"cuda", 1}, {"vta", 2}};
  EXPECT_EQ(FindDeviceRow(kTable, *Target::Parse("nvptx")), &kTable[0].part);
  EXPECT_EQ(FindDeviceRow(kTable, *Target::Parse("llvm")), nullptr);
  EXPECT_EQ(FindDeviceRow(kTable, *Target::Parse("opencl")), nullptr);
}

}  // namespace
}  // namespace tilewright
