#pragma once

namespace tilewright {

/// Makes standard input, output and error safe for a long-running program; call it first in main():
/// - a closed stream (2>&-) is opened on /dev/null, so that no other file gets its number;
/// - text that cannot be written to standard error (closed, full disk, closed pipe) is dropped
///   without an error, because a lost message must not end the work. Standard output keeps its
///   errors.
void FixupStandardStreams();

}  // namespace tilewright
