#pragma once

#include <string>
#include <vector>

namespace tilewright {

/// Prints p50, p99 and max of a list of seconds.
void PrintLatencies(const char* what, std::vector<double> seconds);

/// Puts the file's pages out of the page cache, so that the next open reads the disk.
void DropFromCache(const std::string& path);

/// The C interface over a store: many threads on one handle, from its cache and past it; opening.
/// returns the exit code of the program.
int BenchHandle(const std::string& path, const std::vector<std::string>& keys);

}  // namespace tilewright
