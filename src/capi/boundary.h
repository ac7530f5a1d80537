#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>

#include "include/tilewright/tilewright.h"
#include "src/base/status.h"

namespace tilewright::capi {

/// Converts a status code to the public number. The two lists are equal up to TW_INTERNAL.
tw_code CodeOf(StatusCode code);

/// Fills the caller's error up to the size of its struct, and returns the code. Lines of the
/// message are joined.
tw_code Report(tw_error* error, tw_code code, std::string_view message) noexcept;

/// Writes a text into the caller's buffer; see tw_answer_json for the contract.
tw_code WriteText(std::string_view text, char* buffer, std::size_t capacity, std::size_t* needed,
                  tw_error* error) noexcept;

/// Runs the body of a C function: `body` returns a Status, which becomes code and text. Catches all
/// exceptions: TW_NO_MEMORY for std::bad_alloc, TW_INTERNAL for others.
template <typename Body>
tw_code Guarded(tw_error* error, Body body) noexcept {
  try {
    const Status status = body();
    return Report(error, CodeOf(status.code()), status.message());
  } catch (const std::bad_alloc&) {
    return Report(error, TW_NO_MEMORY, "no memory");
  } catch (...) {
    return Report(error, TW_INTERNAL, "an unexpected exception was caught");
  }
}

/// Copies `value` into a struct of the caller and keeps the caller's struct_size.
/// Errors: kInvalidArgument for null, or if struct_size is smaller than the struct, which has the
/// same members in all versions.
template <typename Struct>
Status Fill(Struct* out, Struct value) {
  if (out == nullptr) return InvalidArgument("the output struct is null");
  const std::uint32_t size = out->struct_size;
  if (size < sizeof(Struct)) {
    return InvalidArgument("struct_size " + std::to_string(size) + ", expected at least " +
                           std::to_string(sizeof(Struct)) + " (use the TW_..._INIT macro)");
  }
  value.struct_size = size;
  std::memcpy(out, &value, sizeof(Struct));
  return {};
}

}  // namespace tilewright::capi
