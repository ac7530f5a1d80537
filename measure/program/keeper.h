#pragma once

#include <sched.h>

#include <cstdint>

// Process between the measurer and a command. Included by .cc files of measure/program only.

namespace tilewright::measure {

/// Report of a keeper about the end of its command.
struct KeeperReport {
  int exec_error = 0;            ///< errno if the program could not be executed
  int status = 0;                ///< as of waitpid
  std::int64_t wall_ns = 0;      ///< from exec to the end
  std::int64_t cpu_us = 0;       ///< of the command and of its children that it waited for
  std::int64_t preemptions = 0;  ///< involuntary context switches of those
  int leftovers = 0;             ///< processes that the command left running; they were ended
};

/// Data of the keeper, complete before it is forked.
struct KeeperPlan {
  char* const* arguments = nullptr;  ///< arguments[0]: path of the program
  char* const* environment = nullptr;
  const char* folder = nullptr;  ///< working directory; null: inherited
  std::int64_t file_bytes = 0;   ///< RLIMIT_FSIZE; 0: inherited
  int priority = 0;
  bool has_cores = false;
  cpu_set_t cores{};
  int input = -1, output = -1, error = -1;  ///< ends of the command
  int report = -1;                          ///< receives a KeeperReport
  int leash = -1;                           ///< the keeper ends everything when it is closed
};

/// Runs the command as the child of this process, a new one, and exits. All descendants of the
/// command become children of the keeper when their parents end. The keeper ends them when the
/// command ends or the leash is closed (by the measurer, or by its death). Makes only
/// async-signal-safe calls: the keeper is forked from a program with threads.
[[noreturn]] void RunKeeper(const KeeperPlan& plan);

}  // namespace tilewright::measure
