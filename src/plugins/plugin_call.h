#pragma once

#include <exception>
#include <string>

#include "src/base/printable.h"
#include "src/base/status.h"

namespace tilewright::plugins {

/// Calls a function of a plugin and catches exceptions, which a C++ plugin may throw against the
/// contract.
/// Errors: kInvalidArgument naming the function and the exception's text.
template <typename Call>
Status CallPlugin(const char* key, const char* function, Call call) {
  try {
    call();
    return {};
  } catch (const std::exception& thrown) {
    return InvalidArgument(std::string(key) + ": " + function +
                           " threw: " + Printable(thrown.what()));
  } catch (...) {
    return InvalidArgument(std::string(key) + ": " + function +
                           " threw an exception of unknown type");
  }
}

}  // namespace tilewright::plugins
