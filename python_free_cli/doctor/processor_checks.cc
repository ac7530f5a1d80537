// Checks of properties that change the time of a kernel on the same processor.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "python_free_cli/doctor/checks.h"
#include "src/base/strings.h"

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
    out.is = IsVirtual(in.files) ? "a virtual machine, whose host decides over the clock"
                                 : "the system does not say who decides over the clock";
    return;
  }
  std::vector<std::string> words;
  for (const auto& [governor, cpus] : governors) {
    words.push_back(fmt::format("{} on {} CPU{}", governor, cpus, cpus == 1 ? "" : "s"));
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
    out.is = "the system has no switch for it";
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
    out.is = "the system does not say which CPUs share a core";
    return;
  }
  if (shared.empty()) {
    out.is = fmt::format("{} CPUs, each a core of its own", cpus);
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
    out.is = "CPUs " + *isolated + " are kept free of other processes";
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
    out.is = "no limit on the time of the processor";
    return;
  }
  out.verdict = Severity::kProblem;
  out.is = fmt::format("this group of processes gets {:.2f} CPUs, and is stopped beyond that",
                       static_cast<double>(*quota_us) / static_cast<double>(*period_us));
  out.command = "start the container without --cpus (docker update --cpus 0 NAME)";
}

void InspectLoad(const CheckInput& in, Finding& out) {
  const auto text = in.files.Read("/proc/loadavg");
  const auto load = text ? ParseDouble(text->substr(0, text->find(' '))) : ParseDouble("");
  const auto cpus = static_cast<double>(std::max<std::size_t>(CpuFolders(in.files).size(), 1));
  if (!load.ok()) {
    out.verdict = Severity::kNote;
    out.is = "the system does not say how busy it is";
    return;
  }
  out.is = fmt::format("{:.2f} processes on {:.0f} CPU{} in the last minute", *load, cpus,
                       cpus == 1 ? "" : "s");
  // A quarter of the machine: occasional work of a daemon is less.
  if (*load < 0.25 * cpus) return;
  out.verdict = Severity::kAdvice;
  out.command = "top -b -n 1 | head -n 15    # and stop what is not needed";
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
    out.is = "the system does not say";
    return;
  }
  const double share = ticks[kSteal] / all;
  out.is = fmt::format("{:.2f} % since it was started", 100 * share);
  if (share < 0.01) return;
  out.verdict = Severity::kAdvice;
  out.command = "use a machine, or CPUs, that no other guest of the host shares";
}

}  // namespace

std::vector<Check> ProcessorChecks() {
  return {
      {"governor", "a clock that goes up and down with the load makes the first runs the slow ones",
       &InspectGovernor},
      {"turbo", "how far the clock goes up depends on heat and on what other cores do",
       &InspectTurbo},
      {"siblings", "two threads of one core share its units: a busy neighbour takes up to half",
       &InspectSiblings},
      {"isolated cores", "the system may put another process on the core that measures",
       &InspectIsolated},
      {"processor quota", "a process that is stopped in the middle of a run seems slow",
       &InspectQuota},
      {"load", "other processes take caches, memory and time from what is measured", &InspectLoad},
      {"stolen time", "a host that gives the processor to other guests disturbs runs",
       &InspectStolen},
  };
}

}  // namespace tilewright::cli
