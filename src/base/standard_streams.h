#pragma once

namespace tilewright {

/// Makes standard input, output and error safe for a program that works for long; to be called
/// first in main():
/// - one that was closed (2>&-) is opened on nothing, so that no file of ours gets its number,
/// - what cannot be written to standard error (closed, full disk, its reader gone) is lost without
///   an error: messages are never worth the work they tell of. Standard output keeps its errors.
void FixupStandardStreams();

}  // namespace tilewright
