#pragma once

namespace tilewright {

/// Runs the `main` of a program on a stack that suffices for its work, whatever the limit it was
/// started under (`ulimit -s 64`). Later threads get such stacks, too.
int RunWithLargeStack(int (*main)(int, char**), int argc, char** argv);

}  // namespace tilewright
