#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright {

/// Limit of uncompressed contents. Their JSON takes about ten times as much memory.
inline constexpr std::int64_t kMaxGunzipBytes = std::int64_t{1} << 28;

/// Whether the text begins as gzip files do.
bool IsGzip(std::string_view bytes);
/// Returns the uncompressed contents of a gzip file of one or several members.
/// Errors: kCorrupt if it is damaged or truncated; kInvalidArgument beyond max_bytes.
Result<std::string> Gunzip(std::string_view bytes, std::int64_t max_bytes = kMaxGunzipBytes);
/// Returns a gzip file without name and time, so that equal texts give equal files.
std::string Gzip(std::string_view text);

/// Reads a file, uncompressed if it is a gzip file. Errors: those of ReadFile and Gunzip, with the
/// path.
Result<std::string> ReadMaybeGzip(const std::string& path);
/// Writes a file, compressed if the path ends with ".gz". Errors: those of WriteFile.
Status WriteMaybeGzip(const std::string& path, std::string_view text);

}  // namespace tilewright
