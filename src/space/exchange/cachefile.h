#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/space/exchange/t4.h"

namespace tilewright {

/// Kernel Tuner's cachefile: the parameters of a space and the results of its configs. All members
/// are kept; what is not named here is kept as JSON text.
struct CacheFile {
  struct Entry {
    std::string key;  ///< values of the config, joined by commas
    std::vector<std::pair<std::string, ParameterValue>> configuration;
    std::string others;  ///< results: a JSON object with "time", "times", "compile_time", …
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::string header;  ///< members other than those below, a JSON object; empty without
  std::vector<std::pair<std::string, std::vector<ParameterValue>>> parameters;
  std::vector<Entry> entries;

  /// Parses a file. The end may be missing, as while Kernel Tuner runs. Errors: kInvalidArgument
  /// with the position of a JSON error, or the key of the entry.
  static Result<CacheFile> Parse(std::string_view json);
  std::string ToString() const;
  friend bool operator==(const CacheFile&, const CacheFile&) = default;
};

/// Converts the results to T4, durations in milliseconds. Members without a place in T4 become
/// further members of the results and of the file. Errors: kInvalidArgument with the entry's key.
Result<T4File> ToT4(const CacheFile& cache);
/// Converts T4 results to a cachefile. The parameters get the values that occur. If the T4 file was
/// made by ToT4, the result equals the first cachefile, except for the order of entries' members.
/// Errors: kInvalidArgument for results with different parameters.
Result<CacheFile> ToCacheFile(const T4File& t4);

/// Parses a T4 file, or a cachefile, which ToT4 converts. Errors: those of the one that it is.
Result<T4File> ParseT4OrCache(std::string_view json);
/// Loads such a file, which may be compressed by gzip. Errors: those of reading and ParseT4OrCache,
/// with the path.
Result<T4File> LoadT4OrCache(const std::string& path);
/// Returns the device that a cachefile states, after ToT4; empty for other files.
std::string DeviceOfCache(const T4File& t4);

}  // namespace tilewright
