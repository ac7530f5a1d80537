#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "measure/worker/channel.h"
#include "measure/worker/child.h"
#include "src/base/clock.h"

namespace tilewright::measure {

/// The process of one candidate (RunChild), seen from the runner that forks it. The destructor ends
/// it and its descendants.
class CandidateProcess {
 public:
  /// item: outlives the process. limit_seconds: one call of the kernel may take so long.
  CandidateProcess(const RunOrder::Item& item, double limit_seconds)
      : item_(item), limit_seconds_(limit_seconds) {}
  CandidateProcess(const CandidateProcess&) = delete;
  CandidateProcess& operator=(const CandidateProcess&) = delete;
  ~CandidateProcess();

  /// Forks. `work` lacks item, report, descriptors and process ids, which are set here. commanded:
  /// it takes a slice of samples when told to (Command), instead of all of them at once.
  /// Errors: kUnavailable if the system has no memory, pipes or processes left.
  Status Start(ChildWork work, bool commanded);
  /// Waits for the next line. nullopt: it ended, hung or talked nonsense; failed_reply() says what.
  std::optional<std::string> NextLine();
  void Command(char command);
  /// The reply in `line`, or why it is none.
  RunReply ReplyFrom(const std::string& line);
  /// Waits for its reply.
  RunReply Reply();
  const RunReply& failed_reply() const { return failed_; }

 private:
  void Fail(Outcome outcome, std::string reason);
  /// Whether it has run one call, or done nothing else, for too long.
  bool IsHanging();
  /// Ends it and its descendants. by_itself: first lets it end alone for a moment, for how it does.
  ExitStatus Reap(bool by_itself);

  const RunOrder::Item& item_;
  double limit_seconds_;
  double last_progress_ = 0;
  pid_t pid_ = -1;
  int result_fd_ = -1, command_fd_ = -1;
  ChildReport* report_ = nullptr;  // in memory shared with the child
  LineReader reader_;
  RunReply failed_;
  SystemClock clock_;
};

}  // namespace tilewright::measure
