// Checks of properties that change the time of a kernel on the same processor.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "python_free_cli/doctor/checks.h"
#include "src/base/strings.h"
#include "src/base/text/plural.h"

namespace tilewright::cli {
namespace {

constexpr std::string_view kCpus = "/sys/devices/system/cpu";

/// "cpu0", "cpu1": not "cpufreq".
std::vector<std::string> CpuFolders(const MachineFiles& files) {
  std::vector<std::string> cpus = files.Names(kCpus, "cpu");
  std::erase_if(cpus, [](const std::string& name) {
    return name.size() < 4 || name.find_first_not_of("0123456789", 3) != std::string::npos;
  });
  return cpus;
}

bool IsVirtual(const MachineFiles& files) {
  const auto info = files.Read("/proc/cpuinfo");
  return info && (info->find(" hypervisor") != std::string::npos);
}

void InspectGovernor(const CheckInput& in, Finding& out) {
  std::map<std::string, int> governors;
  for (const std::string& cpu : CpuFolders(in.files)) {
    const auto governor = in.files.Read(fmt::format("{}/{}/cpufreq/scaling_governor", kCpus, cpu));
    if (governor) ++governors[*governor];
  }
  if (governors.empty()) {
    out.verdict = Severity::kNote;
    out.is = IsVirtual(in.files) ? "a virtual machine; its host controls the clock frequency"
                                 : "not reported by the system";
    return;
  }
  std::vector<std::string> words;
  for (const auto& [governor, cpus] : governors) {
    words.push_back(governor + " on " + Counted(static_cast<std::int64_t>(cpus), "CPU"));
  }
  out.is = fmt::format("{}", fmt::join(words, ", "));
  if (governors.size() == 1 && governors.contains("performance")) return;
  out.verdict = Severity::kProblem;
  out.command = fmt::format("echo performance | sudo tee {}/cpu*/cpufreq/scaling_governor", kCpus);
}

void InspectTurbo(const CheckInput& in, Finding& out) {
  const std::string intel = std::string(kCpus) + "/intel_pstate/no_turbo";
  const std::string boost = std::string(kCpus) + "/cpufreq/boost";
  const auto no_turbo = in.files.Read(intel);
  const auto boosted = in.files.Read(boost);
  if (!no_turbo && !boosted) {
    out.verdict = Severity::kNote;
    out.is = "cannot be switched by the system";
    return;
  }
  if (no_turbo ? *no_turbo == "1" : *boosted == "0") {
    out.is = "off";
    return;
  }
  out.verdict = Severity::kAdvice;
  out.is = "on";
  out.command = no_turbo ? "echo 1 | sudo tee " + intel : "echo 0 | sudo tee " + boost;
}

void InspectSiblings(const CheckInput& in, Finding& out) {
  std::set<std::string> shared;
  std::size_t cpus = 0;
  for (const std::string& cpu : CpuFolders(in.files)) {
    const auto list = in.files.Read(fmt::format("{}/{}/topology/thread_siblings_list", kCpus, cpu));
    if (!list) continue;
    ++cpus;
    if (list->find_first_of(",-") != std::string::npos) shared.insert(*list);
  }
  if (cpus == 0) {
    out.verdict = Severity::kNote;
    out.is = "not reported by the system";
    return;
  }
  if (shared.empty()) {
    out.is = fmt::format("{} CPUs, each on its own core", cpus);
    return;
  }
  out.verdict = Severity::kAdvice;
  out.is = fmt::format("{} CPUs share {} cores ({}{})", cpus, shared.size(), *shared.begin(),
                       shared.size() > 1 ? ", ..." : "");
  out.command = fmt::format("echo off | sudo tee {}/smt/control", kCpus);
}

void InspectIsolated(const CheckInput& in, Finding& out) {
  const auto isolated = in.files.Read(std::string(kCpus) + "/isolated");
  if (isolated && !isolated->empty()) {
    out.is = "CPUs " + *isolated + " are reserved (isolcpus)";
    // Processes are not scheduled there automatically.
    out.verdict = Severity::kNote;
    out.command = "taskset -c " + *isolated + " tilewright tune ...";
    return;
  }
  const std::size_t cpus = CpuFolders(in.files).size();
  out.is = "none";
  out.verdict = cpus > 2 ? Severity::kAdvice : Severity::kNote;
  if (cpus > 2) {
    out.command = fmt::format("add isolcpus={0}-{1} nohz_full={0}-{1} to the kernel's command line",
                              cpus / 2, cpus - 1);
  }
}

void InspectQuota(const CheckInput& in, Finding& out) {
  std::string quota, period;
  if (const auto both = in.files.Read("/sys/fs/cgroup/cpu.max")) {
    const std::vector<std::string> words = Split(*both, ' ');
    quota = words.front();
    period = words.size() > 1 ? words[1] : "100000";
  } else if (const auto old = in.files.Read("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")) {
    quota = *old == "-1" ? "max" : *old;
    period = in.files.Read("/sys/fs/cgroup/cpu/cpu.cfs_period_us").value_or("100000");
  }
  const auto quota_us = ParseInt64(quota);
  const auto period_us = ParseInt64(period);
  if (!quota_us.ok() || !period_us.ok() || *period_us <= 0) {
    out.is = "no CPU limit";
    return;
  }
  out.verdict = Severity::kProblem;
  out.is = fmt::format("limited to {:.2f} CPUs; processes are paused beyond that",
                       static_cast<double>(*quota_us) / static_cast<double>(*period_us));
  out.command = "start the container without --cpus (docker update --cpus 0 NAME)";
}

void InspectLoad(const CheckInput& in, Finding& out) {
  const auto text = in.files.Read("/proc/loadavg");
  const auto load = text ? ParseDouble(text->substr(0, text->find(' '))) : ParseDouble("");
  const auto cpus = static_cast<double>(std::max<std::size_t>(CpuFolders(in.files).size(), 1));
  if (!load.ok()) {
    out.verdict = Severity::kNote;
    out.is = "not reported by the system";
    return;
  }
  out.is = fmt::format("{:.2f} processes on {} in the last minute", *load,
                       Counted(static_cast<std::int64_t>(cpus), "CPU"));
  // A quarter of the machine: occasional work of a daemon is less.
  if (*load < 0.25 * cpus) return;
  out.verdict = Severity::kAdvice;
  out.command = "top -b -n 1 | head -n 15    # stop processes that are not needed";
}

void InspectStolen(const CheckInput& in, Finding& out) {
  const auto text = in.files.Read("/proc/stat");
  std::vector<double> ticks;
  if (text && text->starts_with("cpu ")) {
    for (const std::string& word : Split(text->substr(4, text->find('\n') - 4), ' ')) {
      const auto number = ParseDouble(word);
      if (number.ok()) ticks.push_back(*number);
    }
  }
  constexpr std::size_t kSteal = 7;  // user nice system idle iowait irq softirq steal
  double all = 0;
  for (std::size_t i = 0; i < ticks.size() && i <= kSteal; ++i) all += ticks[i];
  if (ticks.size() <= kSteal || all <= 0) {
    out.verdict = Severity::kNote;
    out.is = "not reported by the system";
    return;
  }
  const double share = ticks[kSteal] / all;
  out.is = fmt::format("{:.2f} % since boot", 100 * share);
  if (share < 0.01) return;
  out.verdict = Severity::kAdvice;
  out.command = "use a machine or CPUs that are not shared with other virtual machines";
}

}  // namespace

std::vector<Check> ProcessorChecks() {
  return {
      {"governor", "a clock frequency that follows the load makes the first runs slow",
       &InspectGovernor},
      {"turbo", "the boost frequency depends on temperature and on the other cores", &InspectTurbo},
      {"siblings", "two hardware threads share one core; a busy sibling can halve the speed",
       &InspectSiblings},
      {"isolated cores", "the system can schedule other processes on the measuring core",
       &InspectIsolated},
      {"processor quota", "a process that is paused during a run appears slow", &InspectQuota},
      {"load", "other processes take cache, memory bandwidth and CPU time", &InspectLoad},
      {"stolen time", "the host runs other virtual machines on this CPU", &InspectStolen},
  };
}

}  // namespace tilewright::cli
