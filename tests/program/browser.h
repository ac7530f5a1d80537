#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "src/base/files/file.h"
#include "src/base/process/subprocess.h"

namespace tilewright {

/// A headless Chromium controlled through the pipe of its DevTools, for tests of pages. It has its
/// own profile, and no network except for the requests of a page.
class Browser {
 public:
  /// Returns whether Chromium is installed.
  static bool IsThere();
  /// Starts the browser. Errors: kUnavailable if it does not start or answer.
  static Result<Browser> Start();

  /// Opens an address and waits until `ready`, an expression, is true. Errors: kUnavailable after
  /// `seconds`, with the page's messages up to then.
  Status Open(const std::string& address, const std::string& ready, double seconds = 120);
  /// Waits until an expression is true.
  Status WaitFor(const std::string& expression, double seconds = 120);
  /// Returns the value of an expression in the page. Errors: kInternal with the exception.
  Result<nlohmann::json> Evaluate(const std::string& expression);
  /// Sets width and height in CSS pixels, and the preferred color scheme.
  Status Resize(int width, int height, bool dark);

  /// Errors on the page's console, exceptions, and violations of its policy.
  const std::vector<std::string>& complaints() const { return complaints_; }
  /// Addresses that the page requested, including its own.
  const std::vector<std::string>& requests() const { return requests_; }

 private:
  Browser(ScopedTempDir folder, Subprocess process)
      : folder_(std::move(folder)), process_(std::move(process)) {}
  Result<nlohmann::json> Call(const std::string& method, nlohmann::json parameters,
                              double seconds = 60);
  /// Returns the next message, or nothing by the deadline.
  Result<std::optional<nlohmann::json>> Read(double seconds);
  void Note(const nlohmann::json& message);

  ScopedTempDir folder_;
  Subprocess process_;
  std::string session_, buffer_;
  int last_id_ = 0;
  std::vector<std::string> complaints_, requests_;
};

}  // namespace tilewright
