#pragma once

#include "measure/line_io.h"
#include "measure/supervisor/transport.h"
#include "src/base/process/subprocess.h"

namespace tilewright::measure {

/// Transport to a subprocess over pipes: a worker of this machine, or a command that connects to
/// one. The caller must block or ignore SIGPIPE. Included by .cc files of measure/ only.
class PipeTransport final : public Transport {
 public:
  explicit PipeTransport(SubprocessOptions options) : options_(std::move(options)) {}

  Status Connect() override;
  bool connected() const override { return process_.has_value(); }
  Status Send(std::string_view lines, double seconds) override;
  Result<bool> Receive() override;
  std::optional<std::string> Next() override { return reader_.Next(); }
  std::vector<int> descriptors() const override;
  std::string End(bool at_once) override;
  void RequestShutdown(double seconds) override;
  bool Pause(bool pause) override;
  double ProcessCpuSeconds() const override;
  int pid() const override { return process_ ? process_->pid() : -1; }

 private:
  SubprocessOptions options_;
  std::optional<Subprocess> process_;
  LineReader reader_;
  TailReader tail_;
};

}  // namespace tilewright::measure
