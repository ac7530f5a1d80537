#pragma once

#include <vector>

#include "src/base/status.h"
#include "src/compiler/plan/group_kernel.h"
#include "src/graph/open/sequence.h"
#include "src/ir/stmt.h"
#include "src/target/target.h"

namespace tilewright {

/// Makes the kernel of a group that joins positions (FindJoins), for any number of them: from
/// programs for a few numbers, whose loops and integers are linear in the number (OpenBlocks). One
/// thread runs it.
///
/// group: no recurrence. inputs: those of its kernel for one position. The result's first parameter
/// is the number of positions, one int64.
/// Errors: kUnsupported, as the end of a sentence about the kernel, if the programs differ in more
/// than that.
Result<Program> OpenJoin(const SequenceNetwork& network, const FusedGroup& group,
                         const std::vector<GroupInput>& inputs, const Target& target);

}  // namespace tilewright
