// Findings of `tilewright doctor`: each case is a good machine, made of files in a folder and of
// fake system probes, with one deviation.

#include "python_free_cli/doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "src/base/files/file.h"

namespace tilewright::cli {
namespace {

using testing::HasSubstr;

using FakeFiles = std::map<std::string, std::string>;
constexpr const char* kCpuFolder = "/sys/devices/system/cpu";

/// Files of a machine without findings: two physical cores.
FakeFiles GoodFiles() {
  const std::string cpu = kCpuFolder;
  const std::string clock = "/sys/devices/system/clocksource/clocksource0/";
  return {
      {cpu + "/cpu0/cpufreq/scaling_governor", "performance\n"},
      {cpu + "/cpu1/cpufreq/scaling_governor", "performance\n"},
      {cpu + "/cpu0/topology/thread_siblings_list", "0\n"},
      {cpu + "/cpu1/topology/thread_siblings_list", "1\n"},
      {cpu + "/cpufreq/boost", "0\n"},
      {cpu + "/isolated", "\n"},
      {"/sys/fs/cgroup/cpu.max", "max 100000\n"},
      {"/proc/loadavg", "0.05 0.10 0.08 1/200 4711\n"},
      {"/proc/stat", "cpu  100 0 50 10000 10 0 0 0 0 0\ncpu0 1 2 3\n"},
      {"/proc/cpuinfo", "flags : fpu vme\n"},
      {"/proc/meminfo", "MemTotal:  24000000 kB\nMemAvailable:  8000000 kB\n"},
      {"/proc/self/mounts",
       "/dev/sda / ext4 rw,relatime 0 0\ntmpfs /dev/shm tmpfs rw,nosuid 0 0\n"},
      {"/proc/self/limits",
       "Limit                     Soft Limit           Hard Limit           Units\n"
       "Max file size             unlimited            unlimited            bytes\n"
       "Max processes             63000                63000                processes\n"
       "Max open files            1024                 524288               files\n"},
      {clock + "current_clocksource", "tsc\n"},
      {clock + "available_clocksource", "tsc hpet acpi_pm \n"},
      {"/sys/module/nvidia/version", "535.86\n"},
      {"/usr/sbin/nats-server", ""},
      {"/usr/lib/x86_64-linux-gnu/libnats.so.3.4", ""},
  };
}

MachineProbe GoodProbe() {
  MachineProbe probe;
  probe.store = {"/home/user", std::int64_t{50} << 30, 0.001, ""};
  probe.shm_free_bytes = std::int64_t{2} << 30;
  probe.program = {"1.2.3", true, {}, "/usr/lib/x86_64-linux-gnu", ""};
  probe.cuda = "a GPU";
  probe.cuda_works = true;
  probe.rocm = "an AMD GPU";
  probe.rocm_works = true;
  probe.opencl = "PoCL: a CPU (OpenCL 3.0, driver 3.1)";
  probe.opencl_works = true;
  probe.libraries = {{"dnnl", "oneDNN 2.6.3", ""}};
  return probe;
}

std::vector<Finding> ExamineFake(const FakeFiles& files, const MachineProbe& probe) {
  auto root = ScopedTempDir::Create("doctor_test");
  EXPECT_TRUE(root.ok());
  for (const auto& [path, text] : files) {
    std::filesystem::create_directories(std::filesystem::path(root->path() + path).parent_path());
    EXPECT_TRUE(WriteFile(root->path() + path, text).ok());
  }
  return RunChecks(root->path(), probe);
}

struct DoctorCase {
  const char* name;
  const char* finding;
  const char* path;      // the deviating file; empty: the probe deviates
  const char* contents;  // null: the file is missing
  Severity verdict;
  const char* is;       // part of the finding
  const char* command;  // part of the advice
  void (*change)(MachineProbe& probe) = nullptr;
};

const DoctorCase kDoctorCases[] = {
    {"NoFleet", "program", "", nullptr, Severity::kNote, "without fleet support",
     "setup.sh --with-fleet", [](MachineProbe& probe) { probe.program.fleet = false; }},
    {"MissingData", "program", "", nullptr, Severity::kProblem, "missing data files: targets",
     "install it again", [](MachineProbe& probe) { probe.program.missing_data = {"targets"}; }},
    {"NoCLibrary", "C library", "", nullptr, Severity::kNote, "not installed", "libtilewright-dev",
     [](MachineProbe& probe) { probe.program.c_library.clear(); }},
    {"CLibraryElsewhere", "C library", "", nullptr, Severity::kNote, "/opt/lib/libtilewright.so",
     "-Wl,-rpath,/opt/lib, or export LD_LIBRARY_PATH=/opt/lib",
     [](MachineProbe& probe) { probe.program.c_library = "/opt/lib"; }},
    {"CLibraryOfTheEnvironment", "C library", "", nullptr, Severity::kGood, "/opt/lib", "",
     [](MachineProbe& probe) {
       probe.program.c_library = "/opt/lib";
       probe.program.library_path = "/home:/opt/lib";
     }},
    {"Governor", "governor", "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n",
     Severity::kProblem, "powersave on 1 CPU", "echo performance | sudo tee"},
    {"Turbo", "turbo", "/sys/devices/system/cpu/cpufreq/boost", "1\n", Severity::kAdvice, "on",
     "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"},
    {"TurboOfIntel", "turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n",
     Severity::kAdvice, "on", "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"},
    {"NoSwitchForTurbo", "turbo", "/sys/devices/system/cpu/cpufreq/boost", nullptr, Severity::kNote,
     "cannot be switched", ""},
    {"Siblings", "siblings", "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1\n",
     Severity::kAdvice, "share 1 cores (0-1)", "smt/control"},
    {"Isolated", "isolated cores", "/sys/devices/system/cpu/isolated", "2-3\n", Severity::kNote,
     "CPUs 2-3", "taskset -c 2-3"},
    {"Quota", "processor quota", "/sys/fs/cgroup/cpu.max", "150000 100000\n", Severity::kProblem,
     "1.50 CPUs", "--cpus"},
    {"NoQuotaFile", "processor quota", "/sys/fs/cgroup/cpu.max", nullptr, Severity::kGood,
     "no CPU limit", ""},
    {"Load", "load", "/proc/loadavg", "1.50 1.0 1.0 2/200 1\n", Severity::kAdvice, "1.50 processes",
     "top"},
    {"LoadIsNoNumber", "load", "/proc/loadavg", "\x1b[2J\n", Severity::kNote, "not reported", ""},
    {"Steal", "stolen time", "/proc/stat", "cpu  100 0 0 800 0 0 0 100 0 0\n", Severity::kAdvice,
     "10.00 %", "not shared"},
    {"ShortStat", "stolen time", "/proc/stat", "cpu  100 0\n", Severity::kNote, "not reported", ""},
    {"Clock", "clock source", "/sys/devices/system/clocksource/clocksource0/current_clocksource",
     "hpet\n", Severity::kProblem, "hpet", "echo tsc | sudo tee"},
    {"ShmNoexec", "/dev/shm", "/proc/self/mounts", "tmpfs /dev/shm tmpfs rw,noexec 0 0\n",
     Severity::kAdvice, "noexec", "remount,exec"},
    {"ShmSmall", "/dev/shm", "", nullptr, Severity::kProblem, "64 MiB", "--shm-size",
     [](MachineProbe& probe) { probe.shm_free_bytes = 64 << 20; }},
    {"NoShm", "/dev/shm", "", nullptr, Severity::kAdvice, "does not exist", "mount -t tmpfs",
     [](MachineProbe& probe) { probe.shm_free_bytes = -1; }},
    {"Files", "limits", "/proc/self/limits", "Max open files            256    4096    files\n",
     Severity::kProblem, "open files 256, expected 1024", "ulimit -n 1024"},
    {"AddressSpace", "limits", "/proc/self/limits",
     "Max address space         1000000              unlimited            bytes\n",
     Severity::kProblem, "address space 1000000", "ulimit -v 16777216"},
    {"Memory", "memory", "/proc/meminfo", "MemAvailable: 500000 kB\n", Severity::kAdvice, "488 MiB",
     "rss"},
    {"Space", "disk space", "", nullptr, Severity::kProblem, "100 MiB free in /home/user", "prune",
     [](MachineProbe& probe) { probe.store.free_bytes = 100 << 20; }},
    {"Remote", "disk sync", "/proc/self/mounts", "server:/ / nfs4 rw 0 0\n", Severity::kProblem,
     "nfs4", "local disk"},
    {"Barrier", "disk sync", "/proc/self/mounts",
     "/dev/sda / ext4 rw 0 0\n/dev/sdb /home ext4 rw,nobarrier 0 0\n", Severity::kProblem,
     "nobarrier", "remount,barrier=1 /home"},
    {"SlowSync", "disk sync", "", nullptr, Severity::kAdvice, "250.0 ms", "faster disk",
     [](MachineProbe& probe) { probe.store.sync_seconds = 0.25; }},
    {"Unwritable", "disk sync", "", nullptr, Severity::kProblem, "Permission denied",
     "must be writable",
     [](MachineProbe& probe) {
       probe.store.sync_seconds = -1;
       probe.store.failed = "/home/user cannot be written to: Permission denied";
     }},
    {"NoDriver", "driver", "/sys/module/nvidia/version", nullptr, Severity::kNote,
     "no NVIDIA driver", "", [](MachineProbe& probe) { probe.cuda_works = false; }},
    {"BrokenDriver", "driver", "/sys/module/nvidia/version", "470.1", Severity::kProblem,
     "470.1; lost", "nvidia-smi",
     [](MachineProbe& probe) {
       probe.cuda_works = false;
       probe.cuda = "lost";
     }},
    {"NoRocm", "ROCm", "", nullptr, Severity::kNote, "no AMD driver", "",
     [](MachineProbe& probe) {
       probe.rocm = "no AMD driver: libamdhip64.so cannot be loaded";
       probe.rocm_works = false;
     }},
    {"NoOpenCl", "OpenCL", "", nullptr, Severity::kNote, "cannot be loaded", "pocl-opencl-icd",
     [](MachineProbe& probe) {
       probe.opencl = "no OpenCL: libOpenCL.so.1 cannot be loaded";
       probe.opencl_works = false;
     }},
    {"NoLibrary", "libraries", "", nullptr, Severity::kNote, "dnnl: no such file", "libdnnl2",
     [](MachineProbe& probe) {
       probe.libraries = {{"dnnl", "", "no such file"}};
     }},
    {"NoServer", "NATS", "/usr/sbin/nats-server", nullptr, Severity::kNote,
     "nats-server not installed", "apt-get install nats-server"},
    {"NoNatsLibrary", "NATS", "/usr/lib/x86_64-linux-gnu/libnats.so.3.4", nullptr, Severity::kNote,
     "client library not installed", "libnats"},
    {"Sandbox", "sandbox", "", nullptr, Severity::kNote, "no Landlock: old kernel", "",
     [](MachineProbe& probe) { probe.sandbox_refused = "no Landlock: old kernel"; }},
};

class DoctorTest : public testing::TestWithParam<DoctorCase> {};

TEST_P(DoctorTest, FindsWhatIsWrong) {
  const DoctorCase& c = GetParam();
  FakeFiles files = GoodFiles();
  if (*c.path != '\0' && c.contents == nullptr) files.erase(c.path);
  if (*c.path != '\0' && c.contents != nullptr) files[c.path] = c.contents;
  MachineProbe probe = GoodProbe();
  if (c.change != nullptr) c.change(probe);
  const std::vector<Finding> findings = ExamineFake(files, probe);
  const auto found = std::ranges::find(findings, c.finding, &Finding::name);
  ASSERT_NE(found, findings.end());
  EXPECT_EQ(SeverityName(found->verdict), SeverityName(c.verdict)) << found->is;
  EXPECT_THAT(found->is, HasSubstr(c.is));
  EXPECT_THAT(found->command, HasSubstr(c.command));
  EXPECT_NE(found->why, "");
}

INSTANTIATE_TEST_SUITE_P(Machines, DoctorTest, testing::ValuesIn(kDoctorCases),
                         [](const auto& tested) { return tested.param.name; });

TEST(DoctorOfTest, AGoodMachineHasNoProblemAndNothingToDo) {
  const std::vector<Finding> findings = ExamineFake(GoodFiles(), GoodProbe());
  EXPECT_GE(findings.size(), 15u);
  for (const Finding& finding : findings) {
    if (finding.name == "isolated cores") continue;  // of two cores none can be isolated
    EXPECT_EQ(SeverityName(finding.verdict), "good") << finding.name << ": " << finding.is;
    EXPECT_EQ(finding.command, "") << finding.name;
  }
}

TEST(DoctorOfTest, TheLibraryOfNatsMayComeWithTheProgram) {
  FakeFiles files = GoodFiles();
  files.erase("/usr/lib/x86_64-linux-gnu/libnats.so.3.4");
  files["/opt/tilewright/lib/tilewright/libtw-nats.so.3.4"] = "";
  MachineProbe probe = GoodProbe();
  for (const bool bundled : {false, true}) {
    probe.bundled = bundled ? "/opt/tilewright/lib/tilewright" : "";
    const std::vector<Finding> findings = ExamineFake(files, probe);
    const auto found = std::ranges::find(findings, "NATS", &Finding::name);
    ASSERT_NE(found, findings.end());
    EXPECT_EQ(SeverityName(found->verdict), bundled ? "good" : "note") << found->is;
    EXPECT_EQ(found->command.empty(), bundled) << found->command;
  }
}

TEST(DoctorOfTest, AMachineWithoutFilesIsNoProblem) {
  for (const Finding& finding : ExamineFake({}, GoodProbe())) {
    EXPECT_NE(SeverityName(finding.verdict), "problem") << finding.name << ": " << finding.is;
    EXPECT_NE(finding.is, "") << finding.name;
  }
}

TEST(DoctorOfTest, LooksAtTheNearestFolderThereIs) {
  auto folder = ScopedTempDir::Create("doctor_test");
  ASSERT_TRUE(folder.ok());
  const MachineProbe probe = ProbeMachine(folder->path() + "/not/there/yet");
  EXPECT_EQ(probe.store.folder, folder->path());
  EXPECT_GT(probe.store.free_bytes, 0);
  EXPECT_GE(probe.store.sync_seconds, 0) << probe.store.failed;
  EXPECT_TRUE(std::filesystem::is_empty(folder->path())) << "what was written is gone again";
}

}  // namespace
}  // namespace tilewright::cli
