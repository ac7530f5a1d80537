#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/vta/design.h"
#include "src/vta/stream_builder.h"

namespace tilewright::vta {

/// A stream with the design it was made for: what a VTA artifact holds.
struct StreamFile {
  Design design;
  Stream stream;
};

/// One line that names the format, one of JSON (the design, the buffers, counts, a checksum), then
/// encoded instructions, the buffer of each, encoded micro-ops, little endian, and constants.
/// Errors: as for Encoding::EncodeStream.
Result<std::string> WriteStreamFile(const StreamFile& file);

/// Errors: kCorrupt if the text is cut off, longer than it says, or changed; kInvalidArgument if it
///         is no stream file, or its instructions and buffers do not belong together.
Result<StreamFile> ReadStreamFile(std::string_view bytes);

}  // namespace tilewright::vta
