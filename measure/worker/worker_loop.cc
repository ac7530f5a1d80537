#include "measure/worker/worker_loop.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <new>

#include "measure/line_io.h"
#include "measure/messages.h"
#include "src/base/printable.h"

namespace tilewright::measure {
namespace {

/// Lowest number of a protocol descriptor: above those that libraries open by habit.
constexpr int kFirstDescriptor = 10;

int Fail(const Status& status) {
  std::fprintf(stderr, "worker: %s\n", Printable(status.message()).c_str());
  return 1;
}

/// Reports exhausted memory to the supervisor and ends the worker.
Status Handle(const std::function<Status(const Json&)>& handle, const Json& message) {
  try {
    return handle(message);
  } catch (const std::bad_alloc&) {
    return Unavailable("out of memory");
  }
}

}  // namespace

WorkerPipes TakePipes(int in_fd, int out_fd) {
  ::signal(SIGPIPE, SIG_IGN);
  WorkerPipes pipes;
  pipes.in = ::fcntl(in_fd, F_DUPFD_CLOEXEC, kFirstDescriptor);
  pipes.out = ::fcntl(out_fd, F_DUPFD_CLOEXEC, kFirstDescriptor);
  ::close(in_fd);
  ::close(out_fd);
  const int nothing = ::open("/dev/null", O_RDWR);
  if (nothing >= 0) {
    if (nothing != STDIN_FILENO) ::dup2(nothing, STDIN_FILENO);
    if (nothing != STDOUT_FILENO) ::dup2(nothing, STDOUT_FILENO);
    if (nothing > STDERR_FILENO) ::close(nothing);
  }
  return pipes;
}

int ServeMessages(const WorkerPipes& pipes, const std::function<Status(const Json&)>& handle) {
  LineReader reader;
  while (true) {
    while (const auto line = reader.Next()) {
      auto message = ParseJson(*line);
      if (!message.ok()) return Fail(message.status());
      const Status status = Handle(handle, *message);
      if (!status.ok()) return Fail(status);
    }
    auto state = reader.Fill(pipes.in, /*blocking=*/true);
    if (!state.ok()) return Fail(state.status());
    if (*state == LineReader::State::kClosed) return 0;
  }
}

Status SendMessage(const WorkerPipes& pipes, const Json& message) {
  return WriteAll(pipes.out, LineOf(message), 3600);
}

}  // namespace tilewright::measure
