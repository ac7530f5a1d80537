#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "measure/messages.h"
#include "measure/supervisor/transport.h"
#include "src/base/strings.h"

namespace tilewright::measure {

/// Transport whose worker is the test: it records sent messages and supplies the received ones.
class FakeTransport final : public Transport {
 public:
  Status Connect() override {
    if (connected_) return {};
    TW_RETURN_IF_ERROR(refusal);
    connected_ = true;
    ++connections;
    sent.clear();
    return {};
  }
  bool connected() const override { return connected_; }
  Status Send(std::string_view lines, double) override {
    if (closed) return Unavailable({});
    for (const std::string& line : Split(lines, '\n')) {
      if (line.empty()) continue;
      sent.push_back(*ParseJson(line));
      if (on_line) on_line(sent.back());
    }
    return {};
  }
  Result<bool> Receive() override { return !closed; }
  std::optional<std::string> Next() override {
    if (coming.empty()) return std::nullopt;
    std::string line = std::move(coming.front());
    coming.pop_front();
    return line;
  }
  std::vector<int> descriptors() const override { return {}; }
  std::string End(bool) override {
    if (!connected_) return "not started";
    connected_ = closed = paused = false;
    coming.clear();
    return last_words;
  }
  void RequestShutdown(double) override { (void)End(false); }
  bool Pause(bool pause) override { return paused = connected_ && pause; }
  double ProcessCpuSeconds() const override { return processor_seconds; }
  int pid() const override { return -1; }

  /// Returns the last message of this type on this connection; empty if there is none.
  Json Last(const std::string& type) const {
    for (auto message = sent.rbegin(); message != sent.rend(); ++message) {
      if (MessageType(*message) == type) return *message;
    }
    return {};
  }
  std::size_t Count(const std::string& type) const {
    std::size_t count = 0;
    for (const Json& message : sent) count += MessageType(message) == type ? 1 : 0;
    return count;
  }

  std::function<void(const Json&)> on_line;  ///< called with every message
  std::vector<Json> sent;                    ///< on this connection
  std::deque<std::string> coming;
  Status refusal;       ///< result of connecting
  bool closed = false;  ///< by the other end
  bool paused = false;
  std::string last_words = "exit code 0";
  double processor_seconds = 0;
  int connections = 0;

 private:
  bool connected_ = false;
};

}  // namespace tilewright::measure
