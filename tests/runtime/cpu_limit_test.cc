#include "src/runtime/cpu_limit.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "src/base/files/locked_temp_dir.h"
#include "src/base/process/subprocess.h"

namespace tilewright {
namespace {

/// Returns the quota that a system with these files has.
int QuotaWith(const std::map<std::string, std::string>& files) {
  const auto folder = LockedTempDir::Create("tilewright-test");
  EXPECT_TRUE(folder.ok());
  for (const auto& [name, text] : files) {
    const std::filesystem::path path = folder->path() + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  return TwCpuQuota(folder->path().c_str());
}

TEST(CpuLimitTest, QuotaOfVersion2) {
  const std::string cgroup = "proc/self/cgroup", group = "sys/fs/cgroup/";
  EXPECT_EQ(QuotaWith({{cgroup, "0::/\n"}, {group + "cpu.max", "200000 100000\n"}}), 2);
  EXPECT_EQ(QuotaWith({{cgroup, "0::/\n"}, {group + "cpu.max", "150000 100000\n"}}), 2);
  EXPECT_EQ(QuotaWith({{cgroup, "0::/\n"}, {group + "cpu.max", "1000 100000\n"}}), 1);
  EXPECT_EQ(QuotaWith({{cgroup, "0::/\n"}, {group + "cpu.max", "max 100000\n"}}), 0);
  EXPECT_EQ(QuotaWith({{cgroup, "0::/\n"}}), 0);
  EXPECT_EQ(QuotaWith({}), 0);
}

TEST(CpuLimitTest, TheLeastQuotaOfAllParentsCounts) {
  EXPECT_EQ(QuotaWith({{"proc/self/cgroup", "0::/a/b/c\n"},
                       {"sys/fs/cgroup/cpu.max", "900000 100000\n"},
                       {"sys/fs/cgroup/a/cpu.max", "300000 100000\n"},
                       {"sys/fs/cgroup/a/b/cpu.max", "max 100000\n"},
                       {"sys/fs/cgroup/a/b/c/cpu.max", "500000 100000\n"},
                       {"sys/fs/cgroup/other/cpu.max", "100000 100000\n"}}),
            3);
}

TEST(CpuLimitTest, QuotaOfVersion1) {
  const std::string lines = "11:memory:/docker/1\n4:cpu,cpuacct:/docker/1\n3:cpuset:/\n0::/\n";
  const std::string group = "sys/fs/cgroup/cpu/docker/1/";
  EXPECT_EQ(QuotaWith({{"proc/self/cgroup", lines},
                       {group + "cpu.cfs_quota_us", "350000\n"},
                       {group + "cpu.cfs_period_us", "100000\n"}}),
            4);
  EXPECT_EQ(QuotaWith({{"proc/self/cgroup", lines},
                       {group + "cpu.cfs_quota_us", "-1\n"},
                       {group + "cpu.cfs_period_us", "100000\n"}}),
            0);
  // Inside of a container the path is the host's, and the container's group is mounted as the root.
  const std::string mounted = "sys/fs/cgroup/cpu,cpuacct/";
  EXPECT_EQ(QuotaWith({{"proc/self/cgroup", lines},
                       {mounted + "cpu.cfs_quota_us", "200000\n"},
                       {mounted + "cpu.cfs_period_us", "100000\n"}}),
            2);
  EXPECT_EQ(QuotaWith({{"proc/self/cgroup", "4:cpuset,cpuacct:/\n"},
                       {mounted + "cpu.cfs_quota_us", "200000\n"},
                       {mounted + "cpu.cfs_period_us", "100000\n"}}),
            0)
      << "of another controller";
}

TEST(CpuLimitTest, MalformedFilesAreIgnored) {
  for (const char* text : {"", "x", "-5 100000", "5", "5 0", "99999999999999999999999999 100000"}) {
    EXPECT_EQ(QuotaWith({{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", text}}), 0)
        << text;
  }
  for (const std::string& lines : {std::string("0:/\n"), std::string("::\n:\n\n0"),
                                   "0::/" + std::string(9000, 'a'), std::string("0::/../..\n")}) {
    const int quota = QuotaWith({{"proc/self/cgroup", lines}, {"cpu.max", "100000 100000"}});
    EXPECT_EQ(quota, 0) << lines;
  }
}

TEST(CpuLimitTest, TheAffinityLimitsToo) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_GE(TwUsableCpus(), 1);
  EXPECT_LE(TwUsableCpus(), CPU_COUNT(&before));
  ASSERT_TRUE(SetCpuAffinity({AllowedCores().front()}).ok());
  EXPECT_EQ(TwUsableCpus(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace tilewright
