#pragma once

#include <string>
#include <vector>

namespace tilewright {

/// Prints p50, p99 and max of a list of seconds.
void PrintLatencies(const char* what, std::vector<double> seconds);

/// Evicts the file from the page cache, so that the next open reads the disk.
void DropFromCache(const std::string& path);

/// Benchmarks the C interface over a store: many threads on one handle, with and without cache
/// hits, and opening. Returns the exit code of the program.
int BenchHandle(const std::string& path, const std::vector<std::string>& keys);

}  // namespace tilewright
