#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/session/notes.h"
#include "src/target/target.h"
#include "src/vta/design.h"

namespace tilewright::session {

/// Reads a VTA design: a file, or the name of a shipped design ("sim":
/// configs/vta/sim.json).
/// Errors: those of ReadFile and Design::Parse, with "vta-config" as context.
Result<vta::Design> ReadDesign(const std::string& vta_config);

/// Parses a target text or the name of a board, and leaves it as it is written.
/// Errors: kInvalidArgument.
Result<Target> ParseWrittenTarget(std::string_view text);

/// Parses a target text and completes it for a number of threads. Errors begin with the setting's
/// name (setting_names.h). vta_config: see ReadDesign, for a VTA target without -model; may be
/// empty. libraries: names for -libs, separated by commas; for a library that this machine lacks,
/// `note` receives a note. Errors: kInvalidArgument, and kUnsupported for targets without code
/// generation.
Result<Target> ParseTarget(std::string_view text, int threads, const std::string& vta_config = {},
                           const std::string& libraries = {}, const NoteSink& note = IgnoreNote);

/// Checks --no-fuse-residuals. Errors: kInvalidArgument for a target that is not a VTA.
Status CheckResiduals(const Target& target, bool no_fuse_residuals);

}  // namespace tilewright::session
