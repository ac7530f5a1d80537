#pragma once

#include <nlohmann/json_fwd.hpp>

#include "src/ir/stmt.h"

namespace tilewright {

/// Converts a loop nest to JSON for other compilers. docs/c-abi.md describes the format.
///
/// {"name", "inputs": [buffer, …], "outputs": [buffer, …],
///  "buffers": {buffer: {"dtype", "shape", "elements", "scope"}, …}, "body": [statement, …]}
///
/// Names of buffers and loop variables are identifiers of C that are unique in the program. An
/// index constant (int64) is a number and a loop variable is a string; every other expression is an
/// object. Infinities and NaN, which JSON lacks, are the strings "inf", "-inf" and "nan".
nlohmann::ordered_json ProgramJson(const Program& program);

/// Returns the word for a kind of loops: "serial", "parallel", "vectorized", "block.x", ….
std::string_view LoopKindName(LoopKind kind);

}  // namespace tilewright
