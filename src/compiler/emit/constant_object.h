#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "src/base/status.h"
#include "src/runtime/model.h"
#include "src/target/target.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Symbol of the first byte of the constants.
inline constexpr const char* kConstantsSymbol = "tw_constants";

/// Writes an ELF object with one read-only section that holds the tensors one after the other, each
/// at the next multiple of kTensorAlignment (src/compiler/plan/plan.h), and a hidden symbol at its
/// start. Constants go straight to the file, because they can be too large for a compiler.
/// total_bytes: size of the section, at least that of the tensors. Errors: kUnavailable with the
/// system's reason; kUnsupported for an unknown architecture, or for more bytes than it can
/// address.
Status WriteConstantObject(std::span<const Tensor* const> constants, std::int64_t total_bytes,
                           const Target& target, const std::string& path);

/// Writes the same tensors as the parameter file of a bundle (src/runtime/model.h).
/// Errors: kUnavailable with the system's reason.
Status WriteParameterFile(std::span<const Tensor* const> constants, const TwParameterHeader& header,
                          const std::string& path);

}  // namespace tilewright
