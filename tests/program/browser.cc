#include "tests/program/browser.h"

#include <poll.h>
#include <unistd.h>

#include "src/base/clock.h"

namespace tilewright {
namespace {

constexpr const char* kChromium = "/usr/bin/chromium";

}  // namespace

bool Browser::IsThere() { return ::access(kChromium, X_OK) == 0; }

Result<Browser> Browser::Start() {
  auto folder = ScopedTempDir::Create("tilewright-browser");
  TW_RETURN_IF_ERROR(folder);
  SubprocessOptions options;
  // The pipe uses descriptors 3 and 4; its ends in this process are 0 and 1.
  options.command = {
      "/bin/sh", "-c",
      std::string("exec ") + kChromium +
          " --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run"
          " --disable-extensions --disable-background-networking --disable-component-update"
          " --disable-sync --mute-audio --remote-debugging-pipe --user-data-dir='" +
          folder->path() + "/profile' about:blank 3<&0 4>&1 1>/dev/null 2>/dev/null"};
  options.environment = {"HOME=" + folder->path(), "PATH=/usr/bin:/bin", "LANG=C.UTF-8"};
  auto process = Subprocess::Start(options);
  TW_RETURN_IF_ERROR(process);
  Browser browser(*std::move(folder), *std::move(process));
  auto targets = browser.Call("Target.getTargets", nlohmann::json::object());
  TW_RETURN_IF_ERROR(targets);
  std::string page;
  for (const auto& target : (*targets)["targetInfos"]) {
    if (target["type"] == "page") page = target["targetId"].get<std::string>();
  }
  auto attached = browser.Call("Target.attachToTarget", {{"targetId", page}, {"flatten", true}});
  TW_RETURN_IF_ERROR(attached);
  browser.session_ = (*attached)["sessionId"].get<std::string>();
  for (const char* domain : {"Page.enable", "Runtime.enable", "Log.enable", "Network.enable"}) {
    TW_RETURN_IF_ERROR(browser.Call(domain, nlohmann::json::object()));
  }
  return browser;
}

Result<std::optional<nlohmann::json>> Browser::Read(double seconds) {
  SystemClock clock;
  const double deadline = clock.MonotonicSeconds() + seconds;
  while (true) {
    const std::size_t end = buffer_.find('\0');
    if (end != std::string::npos) {
      auto message = nlohmann::json::parse(buffer_.substr(0, end), nullptr, false);
      buffer_.erase(0, end + 1);
      if (message.is_discarded()) return Internal("the browser sent what is not JSON");
      Note(message);
      return std::optional(std::move(message));
    }
    const double left = deadline - clock.MonotonicSeconds();
    if (left <= 0) return std::optional<nlohmann::json>();
    pollfd wait{process_.output(), POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(left * 1000) + 1) <= 0) continue;
    char bytes[65536];
    const ssize_t got = ::read(process_.output(), bytes, sizeof bytes);
    if (got == 0) return Unavailable("the browser has ended");
    if (got > 0) buffer_.append(bytes, static_cast<std::size_t>(got));
  }
}

void Browser::Note(const nlohmann::json& message) {
  const std::string method = message.value("method", "");
  if (method == "Runtime.exceptionThrown") {
    complaints_.push_back("exception: " + message["params"]["exceptionDetails"].dump());
  } else if (method == "Runtime.consoleAPICalled") {
    const std::string type = message["params"].value("type", "");
    if (type == "error" || type == "warning") {
      complaints_.push_back(type + ": " + message["params"]["args"].dump());
    }
  } else if (method == "Log.entryAdded") {
    complaints_.push_back("log: " + message["params"]["entry"].dump());
  } else if (method == "Network.requestWillBeSent") {
    requests_.push_back(message["params"]["request"].value("url", ""));
  }
}

Result<nlohmann::json> Browser::Call(const std::string& method, nlohmann::json parameters,
                                     double seconds) {
  const int id = ++last_id_;
  nlohmann::json message = {{"id", id}, {"method", method}, {"params", std::move(parameters)}};
  if (!session_.empty()) message["sessionId"] = session_;
  const std::string text = message.dump() + '\0';
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t put = ::write(process_.input(), text.data() + sent, text.size() - sent);
    if (put <= 0) return Unavailable("the browser does not listen");
    sent += static_cast<std::size_t>(put);
  }
  while (true) {
    auto answer = Read(seconds);
    TW_RETURN_IF_ERROR(answer);
    if (!answer->has_value()) return Unavailable("the browser does not answer " + method);
    if ((*answer)->value("id", 0) != id) continue;
    if ((*answer)->contains("error")) return Internal(method + ": " + (**answer)["error"].dump());
    return (**answer)["result"];
  }
}

Result<nlohmann::json> Browser::Evaluate(const std::string& expression) {
  auto result = Call("Runtime.evaluate",
                     {{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}});
  TW_RETURN_IF_ERROR(result);
  if (result->contains("exceptionDetails")) {
    return Internal(expression + ": " + (*result)["exceptionDetails"].dump());
  }
  return (*result)["result"].value("value", nlohmann::json());
}

Status Browser::WaitFor(const std::string& expression, double seconds) {
  SystemClock clock;
  const double deadline = clock.MonotonicSeconds() + seconds;
  while (true) {
    auto value = Evaluate(expression);
    if (value.ok() && value->is_boolean() && value->get<bool>()) return {};
    if (clock.MonotonicSeconds() > deadline) {
      std::string said;
      for (const std::string& line : complaints_) said += "\n" + line;
      return Unavailable("the page never came to " + expression + said);
    }
    TW_RETURN_IF_ERROR(Read(0.05));
  }
}

Status Browser::Open(const std::string& address, const std::string& ready, double seconds) {
  complaints_.clear();
  requests_.clear();
  TW_RETURN_IF_ERROR(Call("Page.navigate", {{"url", address}}));
  return WaitFor(ready, seconds);
}

Status Browser::Resize(int width, int height, bool dark) {
  TW_RETURN_IF_ERROR(
      Call("Emulation.setDeviceMetricsOverride",
           {{"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", false}}));
  return ToStatus(Call(
      "Emulation.setEmulatedMedia",
      {{"features", {{{"name", "prefers-color-scheme"}, {"value", dark ? "dark" : "light"}}}}}));
}

}  // namespace tilewright
