#pragma once

#include <cstdint>
#include <string>

namespace tilewright {

/// A target that knows the structure of what it reads: the same input with one to four changes,
/// which follow from the seed. Input without that structure is given back as it is.
std::string MutateStructure(const std::string& bytes, std::uint64_t seed);

}  // namespace tilewright
