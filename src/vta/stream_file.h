#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/vta/design.h"
#include "src/vta/stream_builder.h"

namespace tilewright::vta {

/// Stream with the design that it was built for: contents of a VTA artifact.
struct StreamFile {
  Design design;
  Stream stream;
};

/// Writes one line that names the format, one line of JSON (the design, the buffers, counts, a
/// checksum), then encoded instructions, the buffer of each, encoded micro-ops, little endian, and
/// constants.
/// Errors: as for Encoding::EncodeStream.
Result<std::string> WriteStreamFile(const StreamFile& file);

/// Reads a stream file. Errors: kCorrupt if the text is truncated, longer than stated, or changed;
/// kInvalidArgument if it is not a stream file, or if its instructions and buffers do not match.
Result<StreamFile> ReadStreamFile(std::string_view bytes);

}  // namespace tilewright::vta
