#pragma once

#include <cstdint>
#include <string>

namespace tilewright {

/// Structure-aware mutation: returns the input with one to four changes, which depend only on the
/// seed. Input without that structure is returned unchanged.
std::string MutateStructure(const std::string& bytes, std::uint64_t seed);

}  // namespace tilewright
