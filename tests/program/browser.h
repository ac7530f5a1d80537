#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "src/base/files/file.h"
#include "src/base/subprocess.h"

namespace tilewright {

/// A Chromium without a window, led through the pipe of its DevTools: what tests of pages need.
/// It is given a profile of its own and no network but what a page asks for.
class Browser {
 public:
  /// Whether there is a Chromium here.
  static bool IsThere();
  /// Errors: kUnavailable if it does not start or answer.
  static Result<Browser> Start();

  /// Opens an address and waits until `ready`, an expression, is true.
  /// Errors: kUnavailable after `seconds`, with what the page has said until then.
  Status Open(const std::string& address, const std::string& ready, double seconds = 120);
  /// Waits until an expression is true.
  Status WaitFor(const std::string& expression, double seconds = 120);
  /// The value of an expression in the page. Errors: kInternal with the exception.
  Result<nlohmann::json> Evaluate(const std::string& expression);
  /// Width and height in CSS pixels, and the scheme that pages are asked to have.
  Status Resize(int width, int height, bool dark);

  /// Errors that the page's console was told of, exceptions, and what its policy forbade.
  const std::vector<std::string>& complaints() const { return complaints_; }
  /// Addresses that the page asked for, its own among them.
  const std::vector<std::string>& requests() const { return requests_; }

 private:
  Browser(ScopedTempDir folder, Subprocess process)
      : folder_(std::move(folder)), process_(std::move(process)) {}
  Result<nlohmann::json> Call(const std::string& method, nlohmann::json parameters,
                              double seconds = 60);
  /// The next message, or nothing by the deadline.
  Result<std::optional<nlohmann::json>> Read(double seconds);
  void Note(const nlohmann::json& message);

  ScopedTempDir folder_;
  Subprocess process_;
  std::string session_, buffer_;
  int last_id_ = 0;
  std::vector<std::string> complaints_, requests_;
};

}  // namespace tilewright
